#include "generator/native/cache/headers.h"

#include <fcntl.h>

#include <algorithm>

#include "generator/data/sha256.h"
#include "generator/native/cache/entry.h"
#include "generator/native/cache/folder.h"
#include "generator/native/compiler/process.h"
#include "generator/system/write_file.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "headers";
constexpr const char* kHeader = "kernel.h";
constexpr const char* kCompiled = "kernel.h.gch";  // which GCC and clang look for beside the header
constexpr int64_t kLeastLimit = int64_t{512} << 20;

/// In the order of a kernel's text, as Highway's headers count how often they are included.
constexpr const char* kText =
    "#include \"kiln/kiln.h\"\n"
    "#include \"kiln/c.h\"\n"
    "#undef HWY_TARGET_INCLUDE\n"
    "#define HWY_TARGET_INCLUDE \"kernel.h\"\n"
    "#include \"hwy/foreach_target.h\"\n"
    "#include \"kiln/kiln-inl.h\"\n"
    "#include \"kiln/dot/all-inl.h\"\n";

std::string Key(const Toolchain& tools) {
  Sha256 hash;
  hash.AddField(tools.fingerprint).AddField(kName).AddField(kText);
  return hash.Hex().substr(0, 32);
}

/// Whether it is there as it was made, and used now.
bool IsWhole(const fs::path& entry) {
  std::error_code error;
  const auto bytes = fs::file_size(entry / kCompiled, error);
  if (error || bytes != ManifestBytes(entry, kName)) return false;
  fs::last_write_time(entry, fs::file_time_type::clock::now(), error);
  return true;
}

/// Makes the entry in its place, as clang remembers where the header was. It counts once it has a
/// manifest.
bool Make(const fs::path& entry, const Toolchain& tools, double limit,
          const CompileOptions& options) {
  std::error_code error;
  fs::remove_all(entry, error);
  fs::create_directory(entry, error);
  if (error || !WriteFile((entry / kHeader).string(), kText).empty()) return false;
  const Descriptor output(
      open((entry / "log").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!output) return false;
  Process process;
  process.command = tools.compile;
  for (const std::string& word :
       {std::string("-x"), std::string("c++-header"), (entry / kHeader).string(), std::string("-o"),
        (entry / kCompiled).string()})
    process.command.push_back(word);
  process.output = output.number();
  process.limit = limit;
  process.environment["TMPDIR"] = entry.string();
  process.waiting = [&](double seconds) {
    if (options.progress) options.progress(seconds, false);
  };
  return RunProcess(process) == 0 && WriteManifestOf(entry, kName, kCompiled).empty();
}

/// Whether another kernel has been compiled, so that more are to be expected, and there is room.
bool Pays(const fs::path& folder) {
  const auto limit = CacheLimit();
  const auto entries = CachedEntries(folder);
  return limit && *limit >= kLeastLimit &&
         std::any_of(entries.begin(), entries.end(), [](const CachedEntry& entry) {
           return !entry.name.empty() && entry.name != kName && entry.name != "probe";
         });
}

}  // namespace

std::string FindHeaders(const fs::path& folder, const Toolchain& tools, double limit,
                        const CompileOptions& options) {
  const std::string key = Key(tools);
  const fs::path entry = folder / key, failed = folder / ("failed-" + key);
  const std::string header = (entry / kHeader).string();
  if (IsWhole(entry)) return header;
  std::error_code error;
  if (fs::exists(failed, error) || !Pays(folder)) return "";
  const auto lock = CacheLock::Try(folder, key);
  if (!lock) return "";
  if (IsWhole(entry)) return header;
  if (Make(entry, tools, limit, options)) return header;
  fs::rename(entry, failed, error);
  return "";
}

void RemoveHeaders(const std::string& path) {
  const fs::path entry = fs::path(path).parent_path();
  std::error_code ignored;
  fs::rename(entry, entry.parent_path() / ("failed-" + entry.filename().string()), ignored);
}

}  // namespace kiln
