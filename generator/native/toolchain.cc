#include "generator/native/toolchain.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "generator/data/sha256.h"
#include "generator/native/process.h"

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
  if (const char* home = std::getenv("KILN_HOME"); home && *home) {
    const Runtime runtime = InPrefix(home);
    if (runtime.exists()) return runtime;
    *why = "KILN_HOME is `" + std::string(home) + "`, and there is no " + runtime.library.string() +
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

/// Highway asks for AVX-VNNI before it calls a target AVX3_DL without dispatch, which Zen 4 lacks.
/// The runtime's code for that target takes dots of bf16 for granted, which Ice Lake lacks.
/// What is the fastest for bf16 is for runtime/kiln/targets.h to know.
std::vector<std::string> TargetFlags() {
#if defined(__x86_64__)
  const bool has_dots =
      __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni") &&
      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bitalg") &&
      __builtin_cpu_supports("vpclmulqdq");
  if (!has_dots) return {"-DHWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL)"};
  std::vector<std::string> flags{"-DHWY_BASELINE_TARGETS=HWY_AVX3_DL"};
  if (__builtin_cpu_is("intel")) flags.push_back("-DKILN_PREFERS_F32");
  return flags;
#else
  return {};
#endif
}

/// "g++ (Debian 12.2.0-14) 12.2.0 …"; nullopt if there is no such program.
std::optional<std::string> Version(const std::vector<std::string>& compiler) {
  std::string log = (fs::temp_directory_path() / "kiln-version-XXXXXX").string();
  const int file = mkstemp(log.data());
  if (file < 0) return std::nullopt;
  close(file);
  std::vector<std::string> command = compiler;
  command.push_back("--version");
  const int status = RunProcess(command, log);
  const std::string text = ReadText(log);
  unlink(log.c_str());
  if (status != 0) return std::nullopt;
  return text;
}

/// The headers by name and text.
void AddHeaders(const fs::path& folder, Sha256& hash) {
  std::vector<fs::path> headers;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".h") headers.push_back(entry.path());
  }
  std::sort(headers.begin(), headers.end());
  for (const fs::path& header : headers) {
    hash.AddField(header.filename().string()).AddField(ReadText(header));
  }
}

}  // namespace

std::optional<Toolchain> FindToolchain(std::string* why) {
  const auto runtime = FindRuntime(why);
  if (!runtime) return std::nullopt;

  const char* chosen = std::getenv("CXX");
  Toolchain tools;
  tools.compile = Split(chosen && *chosen ? chosen : "c++", ' ');
  const auto version = Version(tools.compile);
  if (!version) {
    *why = "cannot run the compiler `" + tools.compile[0] + "`; set CXX to a C++20 compiler";
    return std::nullopt;
  }

  // The kernel runs here and now: one target, no dispatch. Arithmetic is what the text says, so
  // nothing is contracted, and integers wrap.
  for (const char* flag : {"-std=c++20", "-march=native", "-ffp-contract=off", "-fwrapv", "-fPIC",
                           "-shared", "-pthread", "-DHWY_COMPILE_ONLY_STATIC"}) {
    tools.compile.push_back(flag);
  }
  for (const std::string& flag : TargetFlags()) tools.compile.push_back(flag);
  tools.compile.push_back("-I" + runtime->include.string());
  for (const std::string& flag : Split(KILN_COMPILE_FLAGS, '|')) tools.compile.push_back(flag);
  // Each kernel has a copy of the whole runtime, and keeps to it however many are loaded.
  tools.link = {"-Wl,-Bsymbolic", "-Wl,--whole-archive", runtime->library.string(),
                "-Wl,--no-whole-archive"};
  for (const std::string& flag : Split(KILN_LINK_FLAGS, '|')) tools.link.push_back(flag);

  Sha256 hash;
  hash.AddField(*version).AddField(Processor()).AddField(ReadText(runtime->library));
  AddHeaders(runtime->include / "kiln", hash);
  for (const auto* words : {&tools.compile, &tools.link}) {
    for (const std::string& word : *words) hash.AddField(word);
  }
  tools.fingerprint = hash.Hex();
  return tools;
}

}  // namespace kiln
