#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "generator/cli/command/command.h"
#include "generator/cli/run/run.h"
#include "generator/native/cache/entry.h"
#include "generator/native/cache/folder.h"
#include "generator/system/environment.h"
#include "generator/system/read_file.h"
#include "generator/system/write_file.h"
#include "generator/text/utf8.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFile = size_t{1} << 30;

struct CacheCommand {
  bool all = false;
  std::string kernel;           // NAME:HASH
  std::string source, include;  // a C++ file, and a folder of headers
  std::string out;

  int List() const;
  int Clear() const;
  int Find() const;
  int Build() const;
  int Print(const Unit& unit) const;
};

/// Kernels are used, and removed, only where nobody else can have put them.
bool IsTrusted(const std::string& folder) {
  const std::string why = TrustCacheFolder(folder);
  if (why.empty()) return true;
  UsageError(
      "the cache is not used: " + why,
      "kernels are compiled at every run meanwhile; let XDG_CACHE_HOME name a folder of your "
      "own, or remove this one");
  return false;
}

std::string Ago(fs::file_time_type when) {
  return Age(std::chrono::duration<double>(fs::file_time_type::clock::now() - when).count());
}

int CacheCommand::List() const {
  const std::string folder = CacheFolder();
  if (!IsTrusted(folder)) return kUsage;
  const auto limit = CacheLimit();
  if (!limit) {
    return UsageError("KILN_CACHE_LIMIT is `" + FromEnvironment(EnvVariable::kCacheLimit) +
                          "`, not a number of bytes",
                      "for example: KILN_CACHE_LIMIT=500M");
  }
  int64_t bytes = 0;
  const auto entries = CachedEntries(folder);
  for (const CachedEntry& entry : entries) {
    bytes += entry.bytes;
    std::cout << Row(Bytes(entry.bytes), Ago(entry.used) + " ago",
                     entry.name.empty() ? "(does not compile)" : entry.name, entry.key)
              << "\n";
  }
  std::cout << OneLine(folder) << ": " << entries.size()
            << (entries.size() == 1 ? " entry, " : " entries, ") << Bytes(bytes) << " of "
            << Bytes(*limit) << "\n";
  return kFine;
}

int CacheCommand::Clear() const {
  const std::string folder = CacheFolder();
  if (!IsTrusted(folder)) return kUsage;
  const int removed = ClearEntries(folder);
  std::cout << "removed " << removed << (removed == 1 ? " entry" : " entries") << " from "
            << OneLine(folder) << "\n";
  if (!all) return kFine;
  std::error_code error;
  for (const char* what : {"times", "peaks"}) {
    fs::remove_all(fs::path(folder) / what, error);
    if (error) return UsageError("cannot remove " + folder + "/" + what + ": " + error.message());
  }
  std::cout << "removed what `kiln tune` and `kiln bench` had measured\n";
  return kFine;
}

/// Compiles it unless it is there, and prints where.
int CacheCommand::Print(const Unit& unit) const {
  int status = kFine;
  const auto compiled = CompileUnit(unit, &status);
  if (!compiled) return status;
  std::string library = compiled->apart ? "" : compiled->library;
  if (!out.empty()) {
    std::string why;
    const auto bytes = ReadFile(compiled->library, kMostFile, &why);
    if (!bytes || WriteIfChanged(out, *bytes, &why) == Written::kFailed) return UsageError(why);
    library = out;
  }
  nlohmann::ordered_json printed = {
      {"name", unit.name}, {"library", library}, {"cached", compiled->cached}};
  if (library.empty()) printed["library"] = nullptr;
  if (unit.is_kernel) printed["packed"] = "kiln_packed_" + unit.name;
  std::cout << printed.dump(2) << "\n";
  return kFine;
}

int CacheCommand::Find() const {
  const size_t colon = kernel.find(':');
  if (colon == std::string::npos) {
    return UsageError("a kernel is NAME:HASH, not `" + kernel + "`",
                      "`kiln compile` prints the hash of its text");
  }
  const std::string name = kernel.substr(0, colon), hash = kernel.substr(colon + 1);
  const std::string folder = TrustedCacheFolder();
  auto unit = folder.empty() ? std::nullopt : FindKernelUnit(folder, name, hash);
  if (!unit) {
    return UsageError("the cache has no kernel " + name + " with a text of the hash " + hash,
                      "load its spec first: `kiln compile SPEC`, or kiln.load in Python");
  }
  return Print(*unit);
}

/// Every header of the folder goes into the key, so that a new version of them is another library.
int CacheCommand::Build() const {
  Unit unit;
  std::string why;
  const fs::path path = fs::absolute(source);
  unit.links_runtime = false;
  unit.name = path.stem();
  unit.main = path.filename();
  unit.include_folder = fs::absolute(include).string();
  auto text = ReadFile(path.string(), kMostFile, &why);
  if (!text) return UsageError("cannot read `" + source + "`: " + why);
  unit.files[unit.main] = *std::move(text);
  std::error_code error;
  for (fs::recursive_directory_iterator at(include, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != ".h") continue;
    text = ReadFile(at->path().string(), kMostFile, &why);
    if (!text) return UsageError("cannot read `" + at->path().string() + "`: " + why);
    unit.included[at->path().lexically_relative(include)] = *std::move(text);
  }
  if (error) return UsageError("cannot read the folder `" + include + "`: " + error.message());
  return Print(unit);
}

}  // namespace

void AddCache(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<CacheCommand>();
  list.Part("list", "what is kept: size, last use, kernel and key; the last used first");
  const OptionList clear = list.Part("clear", "removes every compiled kernel");
  clear.Flag("--all", command->all, "and what `kiln tune` and `kiln bench` have measured");
  const OptionList find = list.Part("find", "the library of a kernel by the hash of its text");
  find.Add("NAME:HASH", command->kernel, "as `kiln compile` prints them").Required();
  const OptionList build = list.Part("build", "compiles a C++ file as kernels are, and keeps it");
  build.Add("FILE", command->source, "what calls kernels from another program").Required();
  build.Add("--include", command->include, "a folder of headers, which decide as well").Required();
  for (const OptionList& sub : {find, build})
    sub.Add("-o,--out", command->out, "copies the library there").Takes("FILE");
  list.Footer(
      "Examples:\n"
      "  kiln cache list\n"
      "  kiln cache clear\n"
      "  KILN_CACHE_LIMIT=500M kiln run specs/matmul.yaml:matmul_f32 …   keep no more than that\n"
      "Kernels that `kiln run`, `bench`, `tune` and `golden` compile are kept in\n"
      "$XDG_CACHE_HOME/kiln or ~/.cache/kiln, up to 2 GiB unless KILN_CACHE_LIMIT says otherwise;\n"
      "those that were used longest ago go first. The folder is its owner's alone: one that "
      "others\n"
      "could write into is not used. What the cache promises: docs/files.md.");
  run = [command, clear, find, build] {
    if (find.given()) return command->Find();
    if (build.given()) return command->Build();
    return clear.given() ? command->Clear() : command->List();
  };
}

}  // namespace kiln::cli
