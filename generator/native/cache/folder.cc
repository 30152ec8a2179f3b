#include "generator/native/cache/folder.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>

#include "generator/system/environment.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;
constexpr int64_t kLimit = int64_t{2} << 30;

std::string Octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

/// A group that has a user's name and no other member is that user: so are folders made where the
/// umask is 002.
bool IsOwnGroup(gid_t id) {
  const passwd* const user = getpwuid(geteuid());
  if (!user || user->pw_gid != id) return false;
  const std::string name = user->pw_name;
  const group* const found = getgrgid(id);
  if (!found || name != found->gr_name) return false;
  for (char** member = found->gr_mem; *member; ++member) {
    if (name != *member) return false;
  }
  return true;
}

bool OthersWrite(const struct stat& info) {
  return (info.st_mode & S_IWOTH) || ((info.st_mode & S_IWGRP) && !IsOwnGroup(info.st_gid));
}

/// Why somebody else could put things into this folder, or another thing in the place of something
/// in it; empty: nobody. In a sticky folder everybody can only touch what is theirs.
std::string Distrust(const fs::path& path, const struct stat& info) {
  if (info.st_uid != 0 && info.st_uid != geteuid())
    return path.string() + " belongs to user " + std::to_string(info.st_uid);
  if (S_ISLNK(info.st_mode)) return "";
  if (!S_ISDIR(info.st_mode)) return path.string() + " is no folder";
  if (OthersWrite(info) && !(info.st_mode & S_ISVTX))
    return "others can write into " + path.string() + " (mode " + Octal(info.st_mode) + ")";
  return "";
}

void PushFront(std::deque<fs::path>& rest, const fs::path& path) {
  rest.insert(rest.begin(), path.begin(), path.end());
}

/// Goes the whole way as the system does, link by link; what is missing on it may be made, for this
/// user alone. Empty: nobody else can change where it leads.
std::string Walk(const fs::path& path, bool make, fs::path* end) {
  std::deque<fs::path> rest;
  PushFront(rest, path);
  fs::path at = "/";
  int links = 0;
  while (!rest.empty()) {
    const fs::path name = rest.front();
    rest.pop_front();
    if (name.empty() || name == ".") continue;
    const fs::path next = name == ".." ? at.parent_path() : at / name;
    struct stat info {};
    if (lstat(next.c_str(), &info) != 0) {
      if (!make || errno != ENOENT || (mkdir(next.c_str(), 0700) != 0 && errno != EEXIST) ||
          lstat(next.c_str(), &info) != 0)
        return next.string() + ": " + std::strerror(errno);
    }
    std::string why = Distrust(next, info);
    if (!why.empty()) return why;
    if (S_ISLNK(info.st_mode)) {
      std::error_code error;
      const fs::path to = fs::read_symlink(next, error);
      if (error || ++links > kMostLinks) return next.string() + " is a link to nowhere";
      if (to.is_absolute()) at = "/";
      PushFront(rest, to);
      continue;
    }
    at = next;
  }
  *end = at;
  return "";
}

}  // namespace

std::string CacheFolder() {
  if (const std::string cache = FromEnvironment(EnvVariable::kCacheHome); !cache.empty())
    return cache + "/kiln";
  if (const std::string home = FromEnvironment(EnvVariable::kHome); !home.empty())
    return home + "/.cache/kiln";
  return "";
}

std::string TrustCacheFolder(const std::string& folder) {
  if (folder.empty()) return "neither XDG_CACHE_HOME nor HOME is set";
  std::error_code error;
  const fs::path path = fs::absolute(folder, error);
  if (error) return folder + ": " + error.message();
  fs::path end;
  if (std::string why = Walk(path, /*make=*/true, &end); !why.empty()) return why;
  struct stat info {};
  if (stat(end.c_str(), &info) != 0) return end.string() + ": " + std::strerror(errno);
  // On the way root's folders will do, and sticky ones; not at its end.
  if (info.st_uid != geteuid())
    return end.string() + " belongs to user " + std::to_string(info.st_uid);
  if (OthersWrite(info))
    return "others can write into " + end.string() + " (mode " + Octal(info.st_mode) + ")";
  if ((info.st_mode & 077) && chmod(end.c_str(), 0700) != 0)
    return end.string() + ": " + std::strerror(errno);
  if (access(end.c_str(), W_OK | X_OK) != 0) return end.string() + ": " + std::strerror(errno);
  return "";
}

std::string TrustedCacheFolder() {
  const std::string folder = CacheFolder();
  return TrustCacheFolder(folder).empty() ? folder : "";
}

std::string TemporaryFolder(std::string* why) {
  const std::string given = FromEnvironment(EnvVariable::kTemporary);
  std::error_code error;
  const fs::path folder = fs::absolute(given.empty() ? "/tmp" : given, error);
  fs::path end;
  *why = error ? error.message() : Walk(folder, /*make=*/false, &end);
  if (why->empty() && access(end.c_str(), W_OK | X_OK) != 0)
    *why = end.string() + ": " + std::strerror(errno);
  return why->empty() ? end.string() : "";
}

std::optional<int64_t> CacheLimit() {
  const std::string text = FromEnvironment(EnvVariable::kCacheLimit);
  if (text.empty()) return kLimit;
  const size_t digits = text.find_first_not_of("0123456789");
  const std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  constexpr const char* kUnits[] = {"", "K", "M", "G", "T"};
  if (digits == 0 || text.size() > 12) return std::nullopt;
  for (int power = 0; power < 5; ++power) {
    const int64_t value = std::strtoll(text.c_str(), nullptr, 10);
    if (unit == kUnits[power] && value <= (INT64_MAX >> (10 * power))) return value << (10 * power);
  }
  return std::nullopt;
}

}  // namespace kiln
