#include "tests/random/batch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "generator/native/compiler/process.h"

namespace kiln::soak {
namespace {

namespace fs = std::filesystem;

/// Host code of the user's own: `Maker::AddOwnTable` calls it, and the inputs know what it makes.
constexpr const char* kOwnMultiples = R"(#pragma once
#include "kiln/host/prepare.h"
inline kiln::Status own_multiples(int64_t size, int64_t factor, kiln::HostArray<int32_t>* to) {
  to->shape[0] = size;
  for (int64_t i = 0; i < size; ++i) to->values.push_back(static_cast<int32_t>(i * factor));
  return {};
}
)";

void WriteText(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  if (!(out << text << std::flush)) throw std::runtime_error("cannot write " + path.string());
}

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> Command(const Toolchain& tools, const Flavour& flavour) {
  std::vector<std::string> command = tools.compile;
  command.insert(command.end(), flavour.flags.begin(), flavour.flags.end());
  command.push_back("-w");
  return command;
}

/// Where the headers of a flavour are compiled, beside the folders of the batches.
fs::path HeaderOf(const fs::path& folder, const Flavour& flavour) {
  std::string name = "headers " + flavour.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return folder.parent_path() / name / "kernels.h";
}

/// The exit status; what the program prints goes to the file.
int RunLogged(const std::vector<std::string>& command, const std::string& log) {
  constexpr double kHangs = 900;
  Process process;
  process.command = command;
  process.limit = kHangs;
  process.output = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int status = process.output < 0 ? kNotStarted : RunProcess(process);
  if (process.output >= 0) close(process.output);
  return status;
}

}  // namespace

std::vector<Flavour> Flavours() {
  std::vector<Flavour> flavours = {{"native -O0", {"-O0"}}, {"native -O1", {"-O1"}}};
#if defined(__x86_64__)
  const std::vector<std::string> avx2 = {"-O0",
                                         "-march=haswell",
                                         "-maes",
                                         "-UHWY_BASELINE_TARGETS",
                                         "-UKILN_DISABLED_TARGETS",
                                         "-UKILN_PREFERS_F32"};
  if (__builtin_cpu_supports("avx2")) flavours.push_back({"AVX2 -O0", avx2});
  if (__builtin_cpu_supports("avx512vl")) {
    std::vector<std::string> avx3 = avx2;
    avx3[1] = "-march=skylake-avx512";
    flavours.push_back({"AVX3 -O0", avx3});
  }
#endif
  return flavours;
}

void Precompile(const std::string& folder, const Toolchain& tools, const Flavour& flavour) {
  const fs::path header = HeaderOf(fs::path(folder) / "any", flavour);
  fs::create_directories(header.parent_path());
  WriteText(header,
            "#include \"kiln/core/targets.h\"\n"
            "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"kernels.h\"\n"
            "#include \"hwy/foreach_target.h\"\n#include \"hwy/targets.h\"\n"
            "#include \"kiln/c.h\"\n#include \"kiln/kiln-inl.h\"\n"
            "#include \"kiln/dot/all-inl.h\"\n");
  std::vector<std::string> command = Command(tools, flavour);
  command.erase(std::remove(command.begin(), command.end(), "-shared"), command.end());
  for (const char* word : {"-x", "c++-header"}) command.push_back(word);
  command.push_back(header.string());
  command.push_back("-o");
  command.push_back(header.string() + ".gch");
  const std::string log = header.string() + ".log";
  if (RunLogged(command, log) != 0)
    throw std::runtime_error("the headers do not compile: " + ReadText(log));
}

Batch::Batch(std::string folder, const Toolchain& tools, Flavour flavour)
    : folder_(std::move(folder)), tools_(tools), flavour_(std::move(flavour)) {
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  WriteText(folder_ + "/own_multiples.h", kOwnMultiples);
}

Batch::~Batch() {
  if (library_) dlclose(library_);
}

void Batch::WriteKernel(const std::string& folder, const Kernel& kernel, const Generated& text) {
  const std::string base = folder + "/" + GeneratedName(kernel);
  WriteText(base + ".h", text.header);
  WriteText(base + ".cc", text.source);
  WriteText(base + "_call.cc", CallText(kernel));
}

bool Batch::CompileOnce(const std::vector<std::string>& names, std::string* log) {
  const std::string base = folder_ + "/batch_" + std::to_string(attempts_++);
  std::string text;
  for (const std::string& name : names) text += "#include \"" + name + "_call.cc\"\n";
  WriteText(base + ".cc", text);
  std::vector<std::string> command = Command(tools_, flavour_);
  command.push_back("-include");
  command.push_back(HeaderOf(folder_, flavour_).string());
  command.push_back("-I" + folder_);
  command.push_back(base + ".cc");
  command.push_back("-o");
  command.push_back(base + ".so");
  command.insert(command.end(), tools_.link.begin(), tools_.link.end());
  int status = RunLogged(command, base + ".log");
  *log = ReadText(base + ".log");
  // GCC 12 crashes on vectors of SVE out of a precompiled header.
  const std::string precompiled = HeaderOf(folder_, flavour_).string() + ".gch";
  if (status != 0 && log->find("internal compiler error") != std::string::npos &&
      fs::remove(precompiled)) {
    status = RunLogged(command, base + ".log");
    *log = ReadText(base + ".log");
  }
  if (status != 0) return false;
  library_ = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) *log = dlerror();
  return library_ != nullptr;
}

void Batch::Compile(std::vector<std::string> names, std::map<std::string, std::string>* refused) {
  std::string log;
  while (!names.empty() && !CompileOnce(names, &log)) {
    // The first error names the file it is in; if it names none, it is any of them.
    const size_t at = std::min(log.find("error:"), log.size());
    auto guilty = names.begin();
    size_t nearest = std::string::npos;
    for (auto name = names.begin(); name != names.end(); ++name) {
      const size_t found = log.rfind(*name + ".cc", at);
      if (found == std::string::npos || (nearest != std::string::npos && found < nearest)) continue;
      nearest = found;
      guilty = name;
    }
    (*refused)[*guilty] = log.substr(std::min(log.find("error:"), log.size()), 1500);
    names.erase(guilty);
  }
}

KernelInterface Batch::Find(const std::string& name) const {
  KernelInterface found{};
  if (!library_) return found;
  const auto find = [&](const std::string& function, auto*& to) {
    to = reinterpret_cast<std::decay_t<decltype(to)>>(dlsym(library_, function.c_str()));
  };
  find("kiln_packed_" + name, found.call);
  find("kiln_options_init", found.options_init);
  find("kiln_context_new", found.context_new);
  find("kiln_context_free", found.context_free);
  find("kiln_context_operands", found.operands);
  find("kiln_context_vmem_high", found.vmem_high);
  find("kiln_context_events", found.events);
  find("kiln_code_name", found.code_name);
  return found;
}

}  // namespace kiln::soak
