#pragma once

#include <string>
#include <vector>

namespace kiln {

/// Every environment variable that Kiln reads; `kiln help environment` prints the table.
enum class EnvVariable {
  kCacheHome,
  kHome,
  kTemporary,
  kCacheLimit,
  kCompileLimit,
  kVerbose,
  kCompiler,
  kPrefix,
  kPath,
  kTool,
  // What compilers read besides their command line.
  kIncludePath,
  kCxxIncludePath,
  kLibraryPath,
  kCompilerPath,
  kGccPrefix,
  kRunPath,
};

struct VariableRow {
  EnvVariable variable;
  const char* name;
  const char* unset;  // what holds then
  const char* does;
};

/// In the order of the enumeration.
const std::vector<VariableRow>& EnvironmentVariables();

/// Its value; empty: it is not set, or empty, which is the same everywhere.
std::string FromEnvironment(EnvVariable variable);

}  // namespace kiln
