#include "generator/native/cache.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

#include "generator/data/sha256.h"
#include "generator/native/process.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLogLines = 20;
constexpr size_t kLogColumns = 400;
/// An entry that nobody has used for so long goes when another is made.
constexpr auto kKeep = std::chrono::hours(24 * 60);

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string Key(const Unit& unit, const Toolchain& tools) {
  Sha256 hash;
  hash.AddField(tools.fingerprint).AddField(unit.name).AddField(unit.main);
  for (const auto* files : {&unit.files, &unit.included}) {
    for (const auto& [file, text] : *files) hash.AddField(file).AddField(text);
  }
  return hash.Hex().substr(0, 32);
}

bool IsKey(const std::string& name) {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void RemoveOld(const fs::path& folder) {
  std::error_code ignored;
  const auto limit = fs::file_time_type::clock::now() - kKeep;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const bool part = entry.path().filename().string().rfind("part-", 0) == 0;
    if (!part && !IsKey(entry.path().filename().string())) continue;
    if (entry.last_write_time(ignored) < limit) fs::remove_all(entry.path(), ignored);
  }
}

/// The errors of a compiler's log, which may be thousands of lines; its end if it names none.
std::string Excerpt(const fs::path& path) {
  std::ifstream in(path);
  std::deque<std::string> last;
  std::string errors;
  size_t count = 0;
  for (std::string line; std::getline(in, line);) {
    const bool error = line.find("error") != std::string::npos ||
                       line.find("undefined reference") != std::string::npos;
    if (error && count++ < kLogLines) errors += line.substr(0, kLogColumns) + "\n";
    last.push_back(line.substr(0, kLogColumns));
    if (last.size() > kLogLines) last.pop_front();
  }
  if (!errors.empty()) return errors;
  std::string text;
  for (const std::string& line : last) text += line + "\n";
  return text;
}

Compiled Failure(const std::string& error, const std::string& log = "") {
  Compiled failed;
  failed.error = error;
  failed.log = log;
  return failed;
}

/// Compiles in `folder`, which holds nothing yet.
Compiled Compile(const Unit& unit, const Toolchain& tools, const fs::path& folder,
                 const CompileOptions& options) {
  for (const auto& [file, text] : unit.files) {
    std::ofstream out(folder / file, std::ios::binary);
    if (!(out << text << std::flush)) return Failure("cannot write " + (folder / file).string());
  }
  const fs::path library = folder / (unit.name + ".so");
  const fs::path log = folder / "log";
  std::vector<std::string> command = tools.compile;
  if (!unit.include_folder.empty()) command.push_back("-I" + unit.include_folder);
  command.push_back("-I" + folder.string());
  command.push_back((folder / unit.main).string());
  command.push_back("-o");
  command.push_back(library.string());
  command.insert(command.end(), tools.link.begin(), tools.link.end());

  // For whoever looks into the cache.
  std::ofstream words(folder / "command");
  for (const std::string& word : command) words << word << "\n";
  words.close();

  double seconds = 0;
  const int status = RunProcess(command, log.string(), [&](double so_far) {
    seconds = so_far;
    if (options.progress) options.progress(so_far, false);
  });
  if (options.progress) options.progress(seconds, true);
  if (status == 128 + SIGINT) {  // nothing that one would look at
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    return Failure("`" + command[0] + "` was interrupted");
  }
  if (status != 0) {
    return Failure("`" + command[0] + "` does not compile " + (folder / unit.main).string() +
                       " (exit status " + std::to_string(status) + ")",
                   Excerpt(log));
  }
  Compiled done;
  done.library = library.string();
  return done;
}

/// `part` becomes `entry`; if another program was faster, its result is as good.
Compiled Keep(const fs::path& part, const fs::path& entry, const std::string& library) {
  std::error_code error, ignored;
  fs::rename(part, entry, error);
  if (error) fs::remove_all(part, ignored);
  Compiled kept;
  kept.library = (entry / library).string();
  if (!fs::exists(kept.library)) return Failure("cannot keep " + kept.library);
  RemoveOld(entry.parent_path());
  return kept;
}

}  // namespace

std::string CacheFolder() {
  if (const std::string cache = Variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/kiln";
  if (const std::string home = Variable("HOME"); !home.empty()) return home + "/.cache/kiln";
  return "";
}

Compiled CompileCached(const Unit& unit, const Toolchain& tools, const CompileOptions& options) {
  const fs::path folder = options.folder.empty() ? CacheFolder() : options.folder;
  if (folder.empty()) {
    return Failure("there is no folder for compiled kernels: set HOME or XDG_CACHE_HOME");
  }
  const fs::path entry = folder / Key(unit, tools);
  const fs::path library = entry / (unit.name + ".so");
  std::error_code error;
  if (fs::exists(library, error)) {
    // Its age is that of its last use.
    fs::last_write_time(entry, fs::file_time_type::clock::now(), error);
    Compiled found;
    found.library = library.string();
    found.cached = true;
    return found;
  }

  fs::create_directories(folder, error);
  std::string part = (folder / "part-XXXXXX").string();
  if (error || !mkdtemp(part.data())) {
    return Failure("cannot write in " + folder.string() + ", the folder for compiled kernels");
  }
  const Compiled compiled = Compile(unit, tools, part, options);
  if (compiled.library.empty()) return compiled;  // what failed stays, to be looked at
  return Keep(part, entry, unit.name + ".so");
}

void RemoveCached(const std::string& library) {
  const fs::path entry = fs::path(library).parent_path();
  std::error_code ignored;
  if (IsKey(entry.filename().string())) fs::remove_all(entry, ignored);
}

}  // namespace kiln
