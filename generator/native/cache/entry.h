#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "generator/system/descriptor.h"

namespace kiln {

/// What is in a cache folder, by its name there:
///   KEY               an entry: NAME.so, what it was made of, and `manifest`
///   failed-KEY        what did not compile, to be looked at
///   part-KEY-XXXXXX   what is being made
///   lock-KEY          who holds it makes or removes the above
/// KEY is 32 hexadecimal digits. Every function here takes the folder as trusted.

/// One program at a time has it; it goes with this, or with the program.
class CacheLock {
 public:
  /// Nullopt: somebody else has it.
  static std::optional<CacheLock> Try(const std::filesystem::path& folder, const std::string& key);
  ~CacheLock();
  CacheLock(CacheLock&& other) noexcept = default;
  CacheLock& operator=(CacheLock&& other) noexcept = default;

 private:
  CacheLock(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Descriptor file_;
  std::string path_;
};

/// Writes for the folder's reader what NAME.so must be. Empty, or why it cannot be written.
std::string WriteManifest(const std::filesystem::path& entry, const std::string& name);

/// The same of a file that no program loads: its size alone is kept.
std::string WriteManifestOf(const std::filesystem::path& entry, const std::string& name,
                            const std::string& file);
/// How large the manifest of `name` says that it is.
std::optional<size_t> ManifestBytes(const std::filesystem::path& entry, const std::string& name);

/// The path of the entry's library, if it is byte by byte what was compiled; else empty: then
/// nothing of the entry may be run.
std::string WholeLibrary(const std::filesystem::path& entry, const std::string& name);

struct CachedEntry {
  std::string key;   // with what stands before it
  std::string name;  // of the library; empty if it failed
  int64_t bytes = 0;
  std::filesystem::file_time_type used;
};

/// Entries and what failed, the one that was used last first.
std::vector<CachedEntry> CachedEntries(const std::filesystem::path& folder);

/// Removes what was used longest ago until the rest has no more than `limit` bytes, but never
/// `newest`.
void EvictEntries(const std::filesystem::path& folder, int64_t limit, const std::string& newest);

/// Removes what programs that were killed have left; `held` is the key whose lock the caller has.
void RemoveStaleParts(const std::filesystem::path& folder, const std::string& held = "");

/// Removes all that was compiled, but for what somebody is making just now: how many entries.
int ClearEntries(const std::filesystem::path& folder);

}  // namespace kiln
