#include "generator/native/cache/entry.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "generator/data/sha256.h"
#include "generator/system/read_file.h"
#include "generator/system/write_file.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKeyDigits = 32;
constexpr const char* kPart = "part-";
constexpr const char* kFailed = "failed-";
constexpr const char* kLock = "lock-";
constexpr size_t kMostManifest = 4096;
constexpr size_t kMostLibrary = size_t{1} << 30;

bool IsKey(const std::string& name) {
  return name.size() == kKeyDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool Starts(const std::string& name, const std::string& with) { return name.rfind(with, 0) == 0; }

/// The KEY of a name in the folder; empty: it is none of ours.
std::string KeyIn(const std::string& name) {
  std::string key = name;
  for (const char* before : {kFailed, kLock}) {
    if (Starts(name, before)) key = name.substr(std::string(before).size());
  }
  if (Starts(name, kPart)) key = name.substr(std::string(kPart).size(), kKeyDigits);
  return IsKey(key) ? key : "";
}

std::vector<fs::path> Names(const fs::path& folder) {
  std::vector<fs::path> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename());
  return names;
}

/// "1 NAME BYTES SHA256": all that a manifest holds.
struct Manifest {
  std::string name, hash;
  size_t bytes = 0;
};

std::optional<Manifest> ReadManifest(const fs::path& entry) {
  std::string why;
  const auto text = ReadFile((entry / "manifest").string(), kMostManifest, &why);
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  Manifest manifest;
  int version = 0;
  if (!(in >> version >> manifest.name >> manifest.bytes >> manifest.hash) || version != 1)
    return std::nullopt;
  return manifest;
}

std::string HashOf(const std::string& text) { return Sha256().Add(text.data(), text.size()).Hex(); }

bool RemoveEntry(const fs::path& folder, const std::string& name) {
  const auto lock = CacheLock::Try(folder, KeyIn(name));
  std::error_code ignored;
  return lock && fs::remove_all(folder / name, ignored) > 0;
}

}  // namespace

std::optional<CacheLock> CacheLock::Try(const fs::path& folder, const std::string& key) {
  const std::string path = (folder / (kLock + key)).string();
  for (;;) {
    Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    // Where files cannot be locked, two programs may do the same work, and one result is kept.
    if (!file) return CacheLock(std::move(file), path);
    if (flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::nullopt;
      return CacheLock(Descriptor(), path);
    }
    // Whoever had it before has removed it: then this is a lock of nothing.
    struct stat own {
    }, there{};
    const bool same = fstat(file.number(), &own) == 0 && stat(path.c_str(), &there) == 0 &&
                      own.st_ino == there.st_ino && own.st_dev == there.st_dev;
    if (same) return CacheLock(std::move(file), path);
  }
}

CacheLock::~CacheLock() {
  if (file_) unlink(path_.c_str());
}

std::string WriteManifest(const fs::path& entry, const std::string& name) {
  std::string why;
  const auto library = ReadFile((entry / (name + ".so")).string(), kMostLibrary, &why);
  if (!library) return why;
  return WriteFile(
      (entry / "manifest").string(),
      "1 " + name + " " + std::to_string(library->size()) + " " + HashOf(*library) + "\n");
}

std::string WriteManifestOf(const fs::path& entry, const std::string& name,
                            const std::string& file) {
  std::error_code error;
  const auto bytes = fs::file_size(entry / file, error);
  if (error) return error.message();
  return WriteFile((entry / "manifest").string(),
                   "1 " + name + " " + std::to_string(bytes) + " -\n");
}

std::optional<size_t> ManifestBytes(const fs::path& entry, const std::string& name) {
  const auto manifest = ReadManifest(entry);
  if (!manifest || manifest->name != name) return std::nullopt;
  return manifest->bytes;
}

std::string WholeLibrary(const fs::path& entry, const std::string& name) {
  const auto manifest = ReadManifest(entry);
  if (!manifest || manifest->name != name) return "";
  const std::string path = (entry / (name + ".so")).string();
  std::string why;
  const auto library = ReadFile(path, std::min(manifest->bytes, kMostLibrary), &why);
  if (!library || library->size() != manifest->bytes || HashOf(*library) != manifest->hash)
    return "";
  return path;
}

std::vector<CachedEntry> CachedEntries(const fs::path& folder) {
  std::vector<CachedEntry> entries;
  std::error_code ignored;
  for (const fs::path& name : Names(folder)) {
    const std::string text = name.string();
    if (KeyIn(text).empty() || Starts(text, kPart) || Starts(text, kLock)) continue;
    CachedEntry entry;
    entry.key = name.string();
    entry.used = fs::last_write_time(folder / name, ignored);
    if (const auto manifest = ReadManifest(folder / name)) entry.name = manifest->name;
    for (const fs::path& file : Names(folder / name)) {
      const auto size = fs::file_size(folder / name / file, ignored);
      if (!ignored) entry.bytes += static_cast<int64_t>(size);
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const CachedEntry& a, const CachedEntry& b) {
    return a.used != b.used ? a.used > b.used : a.key < b.key;
  });
  return entries;
}

void EvictEntries(const fs::path& folder, int64_t limit, const std::string& newest) {
  int64_t kept = 0;
  for (const CachedEntry& entry : CachedEntries(folder)) {
    kept += entry.bytes;
    if (kept <= limit || entry.key == newest) continue;
    if (RemoveEntry(folder, entry.key)) kept -= entry.bytes;
  }
}

void RemoveStaleParts(const fs::path& folder, const std::string& held) {
  std::error_code ignored;
  for (const fs::path& path : Names(folder)) {
    const std::string name = path.string(), key = KeyIn(name);
    if (key.empty()) continue;
    if (Starts(name, kLock)) CacheLock::Try(folder, key);  // removes it, unless somebody has it
    if (!Starts(name, kPart)) continue;
    if (key == held)
      fs::remove_all(folder / name, ignored);
    else
      RemoveEntry(folder, name);
  }
}

int ClearEntries(const fs::path& folder) {
  RemoveStaleParts(folder);
  int removed = 0;
  for (const CachedEntry& entry : CachedEntries(folder)) removed += RemoveEntry(folder, entry.key);
  return removed;
}

}  // namespace kiln
