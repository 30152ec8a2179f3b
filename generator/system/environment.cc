#include "generator/system/environment.h"

#include <cstdlib>

namespace kiln {
namespace {

const VariableRow& RowOf(EnvVariable variable) {
  return EnvironmentVariables()[static_cast<size_t>(variable)];
}

constexpr const char* kOfCompilers =
    "Read by the compiler, and so part of the name under which a kernel is kept.";

}  // namespace

const std::vector<VariableRow>& EnvironmentVariables() {
  static const std::vector<VariableRow> rows = {
      {EnvVariable::kCacheHome, "XDG_CACHE_HOME", "`$HOME/.cache`",
       "Compiled kernels, and what was measured, are kept in its folder `kiln`."},
      {EnvVariable::kHome, "HOME", "no cache, with a warning",
       "Where `.cache/kiln` is, if XDG_CACHE_HOME is not set."},
      {EnvVariable::kTemporary, "TMPDIR", "`/tmp`",
       "Where kernels are compiled if there is no cache that can be written and trusted."},
      {EnvVariable::kCacheLimit, "KILN_CACHE_LIMIT", "`2G`",
       "How many bytes of compiled kernels are kept: `500M`, `2G`. The oldest go first."},
      {EnvVariable::kCompileLimit, "KILN_COMPILE_LIMIT", "`3600`",
       "After how many seconds a compiler that does not end is ended."},
      {EnvVariable::kVerbose, "KILN_VERBOSE", "`0`",
       "With `1` every call of a compiled kernel, from whatever language, writes a line to "
       "standard "
       "error: kernel, arguments, mode, instruction set, cores, time, and a command that repeats "
       "it."},
      {EnvVariable::kCompiler, "CXX", "`c++`",
       "The C++20 compiler for kernels, with options if need be, which come last: "
       "`CXX=\"clang++ -O0 -g\"`."},
      {EnvVariable::kPrefix, "KILN_HOME", "where the program is, else where it was built",
       "The prefix that the runtime, its headers and the machine files are installed in."},
      {EnvVariable::kPath, "PATH", "no program is found", "Where the compiler is looked for."},
      {EnvVariable::kTool, "KILN_TOOL", "the package's own, else `kiln` in PATH",
       "The program that the Python package calls."},
      {EnvVariable::kIncludePath, "CPATH", "", kOfCompilers},
      {EnvVariable::kCxxIncludePath, "CPLUS_INCLUDE_PATH", "", kOfCompilers},
      {EnvVariable::kLibraryPath, "LIBRARY_PATH", "", kOfCompilers},
      {EnvVariable::kCompilerPath, "COMPILER_PATH", "", kOfCompilers},
      {EnvVariable::kGccPrefix, "GCC_EXEC_PREFIX", "", kOfCompilers},
      {EnvVariable::kRunPath, "LD_RUN_PATH", "", kOfCompilers},
  };
  return rows;
}

std::string FromEnvironment(EnvVariable variable) {
  const char* const value = std::getenv(RowOf(variable).name);
  return value ? value : "";
}

}  // namespace kiln
