#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "generator/cli/command/command.h"
#include "generator/cli/run/run.h"
#include "generator/native/cache_entry.h"
#include "generator/native/cache_folder.h"
#include "generator/text/utf8.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

struct CacheCommand {
  bool all = false;

  int List() const;
  int Clear() const;
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
  const auto seconds =
      std::chrono::duration<double>(fs::file_time_type::clock::now() - when).count();
  const std::pair<double, const char*> units[] = {{86400, " days"}, {3600, " h"}, {60, " min"}};
  for (const auto& [unit, name] : units) {
    if (seconds >= 2 * unit) return std::to_string(static_cast<int64_t>(seconds / unit)) + name;
  }
  return std::to_string(static_cast<int64_t>(std::max(seconds, 0.0))) + " s";
}

int CacheCommand::List() const {
  const std::string folder = CacheFolder();
  if (!IsTrusted(folder)) return kUsage;
  const auto limit = CacheLimit();
  if (!limit) {
    return UsageError("KILN_CACHE_LIMIT is `" + std::string(std::getenv("KILN_CACHE_LIMIT")) +
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

}  // namespace

void AddCache(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<CacheCommand>();
  app.require_subcommand(1);
  app.add_subcommand("list", "what is kept: size, last use, kernel and key; the last used first");
  CLI::App* clear = app.add_subcommand("clear", "removes every compiled kernel");
  clear->add_flag("--all", command->all, "and what `kiln tune` and `kiln bench` have measured");
  app.footer(
      "Examples:\n"
      "  kiln cache list\n"
      "  kiln cache clear\n"
      "  KILN_CACHE_LIMIT=500M kiln run specs/matmul.yaml:matmul_f32 …   keep no more than that\n"
      "Kernels that `kiln run`, `bench`, `tune` and `golden` compile are kept in\n"
      "$XDG_CACHE_HOME/kiln or ~/.cache/kiln, up to 2 GiB unless KILN_CACHE_LIMIT says otherwise;\n"
      "those that were used longest ago go first. The folder is its owner's alone: one that "
      "others\n"
      "could write into is not used. What the cache promises: docs/files.md.");
  run = [command, clear] { return clear->parsed() ? command->Clear() : command->List(); };
}

}  // namespace kiln::cli
