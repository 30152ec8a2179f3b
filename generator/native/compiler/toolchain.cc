#include "generator/native/compiler/toolchain.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "generator/data/sha256.h"
#include "generator/native/compiler/process.h"
#include "generator/system/descriptor.h"
#include "generator/system/environment.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

/// Headers and library of the runtime.
struct Runtime {
  fs::path include;
  fs::path library;

  bool exists() const {
    std::error_code ignored;
    return fs::exists(include / "kiln/kiln.h", ignored) && fs::exists(library, ignored);
  }
};

Runtime InPrefix(const fs::path& prefix) {
  return {prefix / "include", prefix / KILN_LIBDIR / "libkiln_runtime.a"};
}

std::optional<Runtime> FindRuntime(std::string* why) {
  if (const std::string home = FromEnvironment(EnvVariable::kPrefix); !home.empty()) {
    const Runtime runtime = InPrefix(home);
    if (runtime.exists()) return runtime;
    *why = "KILN_HOME is `" + home + "`, and there is no " + runtime.library.string() +
           " with its headers";
    return std::nullopt;
  }
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const Runtime installed = InPrefix(program.parent_path().parent_path());
  if (!program.empty() && installed.exists()) return installed;
  const Runtime built{KILN_BUILD_INCLUDE, KILN_BUILD_LIBRARY};
  if (built.exists()) return built;
  *why = "Kiln's runtime is neither at " + installed.library.string() + " nor at " +
         built.library.string() + "; set KILN_HOME to the prefix it is installed in";
  return std::nullopt;
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// What -march=native looks at, so that a home on many machines can hold one cache.
std::string Processor() {
  utsname machine{};
  uname(&machine);
  std::string text = machine.machine;
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line) && !line.empty();) {
    for (const char* key : {"model", "flags", "Features", "CPU part"}) {
      if (line.rfind(key, 0) == 0) text += line + "\n";
    }
  }
  return text;
}

#if defined(__x86_64__) && !defined(KILN_ONE_TARGET)
/// Whether the CPU has AMX's tiles of bf16 and bytes, which the runtime prefers to AVX3.
bool HasAmx() {
  constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24, kBytes = 1u << 25;
  constexpr unsigned kAll = kBf16 | kTiles | kBytes;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAll) == kAll;
}
#endif

/// Highway asks for AVX-VNNI before it calls a target AVX3_DL without dispatch, which Zen 4 lacks.
/// The runtime's code for that target takes dots of bf16 for granted, which Ice Lake lacks.
/// What is the fastest for bf16 is for runtime/kiln/core/targets.h to know.
std::vector<std::string> TargetFlags() {
#if defined(__x86_64__) && !defined(KILN_ONE_TARGET)
  const bool has_dots =
      __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni") &&
      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bitalg") &&
      __builtin_cpu_supports("vpclmulqdq");
  if (!has_dots) return {"-DKILN_DISABLED_TARGETS=HWY_AVX3_DL"};
  std::vector<std::string> flags{"-DHWY_BASELINE_TARGETS=HWY_AVX3_DL"};
  if (__builtin_cpu_is("intel") && !HasAmx()) flags.push_back("-DKILN_PREFERS_F32");
  return flags;
#else
  return {};
#endif
}

/// What it may take to print its version: a wrapper on a slow network disk, but none that hangs.
constexpr double kVersionSeconds = 60;

/// "g++ (Debian 12.2.0-14) 12.2.0 …"; nullopt if there is no such program, or it says nothing.
std::optional<std::string> Version(const std::vector<std::string>& compiler) {
  const Descriptor output(memfd_create("version", MFD_CLOEXEC));
  Process process;
  process.command = compiler;
  process.command.push_back("--version");
  process.output = output.number();
  process.limit = kVersionSeconds;
  if (!output || RunProcess(process) != 0) return std::nullopt;
  char text[4096];
  const ssize_t size = pread(output.number(), text, sizeof text, 0);
  return std::string(text, static_cast<size_t>(std::max<ssize_t>(size, 0)));
}

/// Path, size and time of a file: what distinguishes one version of it from another.
std::string Identity(const fs::path& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return path.string();
  return path.string() + " " + std::to_string(info.st_size) + " " +
         std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
}

/// The program that a shell would run.
fs::path FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string& folder : Split(FromEnvironment(EnvVariable::kPath), ':')) {
    const fs::path program = fs::path(folder) / name;
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  return name;
}

/// What compilers read besides their command line.
void AddEnvironment(Sha256& hash) {
  for (const EnvVariable variable :
       {EnvVariable::kIncludePath, EnvVariable::kCxxIncludePath, EnvVariable::kLibraryPath,
        EnvVariable::kCompilerPath, EnvVariable::kGccPrefix, EnvVariable::kRunPath})
    hash.AddField(FromEnvironment(variable));
}

/// The headers of a folder and those in it, by name and text.
void AddHeaders(const fs::path& folder, Sha256& hash) {
  std::vector<fs::path> headers;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".h") headers.push_back(entry.path());
  }
  std::sort(headers.begin(), headers.end());
  for (const fs::path& header : headers) {
    hash.AddField(header.lexically_relative(folder).string()).AddField(ReadText(header));
  }
}

}  // namespace

std::optional<Toolchain> FindToolchain(std::string* why) {
  const auto runtime = FindRuntime(why);
  if (!runtime) return std::nullopt;

  const std::string chosen = FromEnvironment(EnvVariable::kCompiler);
  Toolchain tools;
  tools.compile = Split(chosen.empty() ? "c++" : chosen, ' ');
  const auto version = Version(tools.compile);
  // Its own options come after those below, of which they may be others: -O0 -g.
  const auto options = std::find_if(tools.compile.begin(), tools.compile.end(),
                                    [](const std::string& word) { return word[0] == '-'; });
  const std::vector<std::string> last(options, tools.compile.end());
  if (!version) {
    *why = "cannot run the compiler `" + tools.compile[0] + "`; set CXX to a C++20 compiler";
    return std::nullopt;
  }

  tools.compile.erase(options, tools.compile.end());

  // Arithmetic is what the text says, so nothing is contracted, and integers wrap.
  for (const char* flag : {"-std=c++20", "-ffp-contract=off", "-fwrapv", "-fPIC", "-pthread"})
    tools.compile.push_back(flag);
  tools.compile.push_back("-I" + runtime->include.string());
  for (const std::string& flag : Split(KILN_COMPILE_FLAGS, '|')) tools.compile.push_back(flag);
  tools.compile.insert(tools.compile.end(), last.begin(), last.end());
  tools.object = tools.compile;
  tools.object.push_back("-c");
  tools.compile.push_back("-shared");
  for (const std::string& flag : Split(KILN_TARGET_FLAGS, '|')) tools.compile.push_back(flag);
  for (const std::string& flag : TargetFlags()) tools.compile.push_back(flag);
  // Each kernel has a copy of the whole runtime, and keeps to it however many are loaded.
  tools.link = {"-Wl,-Bsymbolic", "-Wl,--whole-archive", runtime->library.string(),
                "-Wl,--no-whole-archive"};
  // An installation may bring its own Highway: a Python package does.
  const fs::path folder = runtime->library.parent_path();
  if (std::error_code ignored; fs::exists(folder / "libhwy.so", ignored)) {
    tools.link.push_back("-L" + folder.string());
    tools.link.push_back("-Wl,-rpath," + folder.string());
  }
  for (const std::string& flag : Split(KILN_LINK_FLAGS, '|')) tools.link.push_back(flag);

  tools.version = version->substr(0, version->find('\n'));
  tools.runtime = runtime->library.string();
  Sha256 hash;
  hash.AddField(*version).AddField(Identity(FindProgram(tools.compile[0])));
  hash.AddField(Processor()).AddField(ReadText(runtime->library));
  AddHeaders(runtime->include / "kiln", hash);
  hash.AddField(Identity(KILN_HIGHWAY_HEADER));
  AddEnvironment(hash);
  for (const auto* words : {&tools.compile, &tools.link}) {
    for (const std::string& word : *words) hash.AddField(word);
  }
  tools.fingerprint = hash.Hex();
  return tools;
}

}  // namespace kiln
