#include "generator/native/cache/cache.h"

#include <fcntl.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "generator/data/sha256.h"
#include "generator/native/cache/entry.h"
#include "generator/native/cache/folder.h"
#include "generator/native/cache/headers.h"
#include "generator/native/compiler/process.h"
#include "generator/system/environment.h"
#include "generator/system/write_file.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t kLogLines = 20;
constexpr size_t kLogColumns = 400;
/// Large kernels take minutes, and sanitizers on a busy machine ten times as long.
constexpr double kCompileSeconds = 3600;

void AddTexts(const Unit& unit, Sha256& hash) {
  hash.AddField(unit.name).AddField(unit.main);
  for (const auto* files : {&unit.files, &unit.included}) {
    for (const auto& [file, text] : *files) hash.AddField(file).AddField(text);
  }
}

std::string Key(const Unit& unit, const Toolchain& tools) {
  Sha256 hash;
  hash.AddField(tools.fingerprint);
  AddTexts(unit, hash);
  return hash.Hex().substr(0, 32);
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

/// Nullopt: $KILN_COMPILE_LIMIT is no number of seconds.
std::optional<double> CompileLimit() {
  const std::string text = FromEnvironment(EnvVariable::kCompileLimit);
  if (text.empty()) return kCompileSeconds;
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !(seconds > 0 && seconds < 1e9)) return std::nullopt;
  return seconds;
}

fs::path OutputOf(const Unit& unit, const fs::path& folder) {
  return folder / (unit.name + (unit.is_object ? ".o" : ".so"));
}

std::vector<std::string> CommandOf(const Unit& unit, const Toolchain& tools, const fs::path& folder,
                                   const std::string& headers) {
  std::vector<std::string> command = unit.is_object ? tools.object : tools.compile;
  if (!headers.empty()) {
    command.push_back("-include");
    command.push_back(headers);
  }
  if (!unit.include_folder.empty()) command.push_back("-I" + unit.include_folder);
  command.push_back("-I" + folder.string());
  command.push_back((folder / unit.main).string());
  command.push_back("-o");
  command.push_back(OutputOf(unit, folder).string());
  if (unit.links_runtime && !unit.is_object)
    command.insert(command.end(), tools.link.begin(), tools.link.end());
  return command;
}

/// Compiles in `folder`, which holds nothing yet. `headers`: what to include first, if anything.
Compiled Compile(const Unit& unit, const Toolchain& tools, const fs::path& folder,
                 const std::string& headers, double limit, const CompileOptions& options) {
  Process process;
  process.command = CommandOf(unit, tools, folder, headers);
  std::string words;  // for whoever looks into the cache
  for (const std::string& word : process.command) words += word + "\n";
  auto files = unit.files;
  files["command"] = words;
  for (const auto& [file, text] : files) {
    const std::string why = WriteFile((folder / file).string(), text);
    if (!why.empty()) return Failure(why);
  }
  const fs::path log = folder / "log";
  const Descriptor output(open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!output) return Failure("cannot write `" + log.string() + "`");

  double seconds = 0;
  process.output = output.number();
  process.limit = limit;
  // What a killed compiler leaves goes with the folder.
  process.environment["TMPDIR"] = folder.string();
  process.waiting = [&](double so_far) {
    seconds = so_far;
    if (options.progress) options.progress(so_far, false);
  };
  const int status = RunProcess(process);
  if (options.progress) options.progress(seconds, true);
  const std::string compiler = "`" + process.command[0] + "`";
  if (status == kTimedOut) {
    std::ostringstream text;
    text << compiler << " had not compiled " << unit.main << " after " << limit
         << " seconds and was ended; KILN_COMPILE_LIMIT gives it more";
    return Failure(text.str());
  }
  if (status == kNotStarted) return Failure("cannot run " + compiler);
  if (status != 0) {
    const std::string said = Excerpt(log);
    return Failure(compiler + " does not compile " + (folder / unit.main).string() +
                       " (exit status " + std::to_string(status) + ")",
                   said.empty() ? "it printed nothing\n" : said);
  }
  Compiled done;
  done.library = OutputOf(unit, folder).string();
  return done;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// What failed stays, to be looked at, and its messages say where.
Compiled KeepFailed(Compiled failed, Temporary part, const fs::path& folder,
                    const std::string& key) {
  if (failed.log.empty()) return failed;
  const std::string from = part.path(), to = (folder / ("failed-" + key)).string();
  std::error_code ignored;
  fs::remove_all(to, ignored);
  if (part.MoveTo(to) != 0) return failed;
  return Failure(Replaced(failed.error, from, to), Replaced(failed.log, from, to));
}

/// The entry as it is, if it is whole. Its age is that of its last use.
std::optional<Compiled> Find(const Unit& unit, const fs::path& entry) {
  Compiled found;
  found.library = WholeLibrary(entry, unit.name);
  if (found.library.empty()) return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(entry, fs::file_time_type::clock::now(), ignored);
  found.cached = true;
  return found;
}

/// The key's lock, or what another program has made of it meanwhile; neither after too long a time,
/// which is none to fail for.
std::optional<CacheLock> WaitForLock(const Unit& unit, const fs::path& folder,
                                     const std::string& key, double limit,
                                     const CompileOptions& options,
                                     std::optional<Compiled>* found) {
  const auto start = Clock::now();
  double seconds = 0;
  std::optional<CacheLock> lock;
  while (!(lock = CacheLock::Try(folder, key)) && seconds < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (options.progress) options.progress(seconds, false);
  }
  *found = Find(unit, folder / key);
  if (*found && seconds > 0 && options.progress) options.progress(seconds, true);
  return lock;
}

Compiled CompileInto(const fs::path& folder, const Unit& unit, const Toolchain& tools, double limit,
                     const CompileOptions& options) {
  const std::string key = Key(unit, tools);
  const fs::path entry = folder / key;
  if (auto found = Find(unit, entry)) return *found;
  std::optional<Compiled> found;
  const auto lock = WaitForLock(unit, folder, key, limit, options, &found);
  if (found) return *found;
  const auto bytes = CacheLimit();
  if (!bytes)
    return Failure("KILN_CACHE_LIMIT is `" + FromEnvironment(EnvVariable::kCacheLimit) +
                   "`, not a number of bytes such as 500M or 2G");

  RemoveStaleParts(folder, lock ? key : "");
  Temporary part = Temporary::Folder((folder / ("part-" + key + "-XXXXXX")).string());
  if (part.path().empty()) return Failure("cannot write into " + folder.string());
  const std::string headers =
      unit.is_kernel ? FindHeaders(folder, tools, limit, options) : std::string();
  Compiled compiled = Compile(unit, tools, part.path(), headers, limit, options);
  if (compiled.library.empty() && !compiled.log.empty() && !headers.empty()) {
    // The kernel's fault, or that of the headers: a full disk, another version of the compiler.
    compiled = Compile(unit, tools, part.path(), "", limit, options);
    if (!compiled.library.empty()) RemoveHeaders(headers);
  }
  if (compiled.library.empty()) return KeepFailed(compiled, std::move(part), folder, key);
  if (const std::string why = WriteManifest(part.path(), unit.name); !why.empty())
    return Failure(why);
  std::error_code ignored;
  fs::remove_all(entry, ignored);  // it is damaged, if it is there
  fs::remove_all(folder / ("failed-" + key), ignored);
  part.MoveTo(entry.string());
  compiled.library = WholeLibrary(entry, unit.name);
  if (compiled.library.empty()) return Failure("cannot keep " + entry.string());
  EvictEntries(folder, *bytes, key);
  return compiled;
}

/// Where somebody else could change what is run, or nothing can be written, a new folder for this
/// user alone is as good for one run. That costs the time to compile each time, which is better
/// than to refuse, as nobody may have chosen that folder: a root shell with a user's HOME.
Compiled CompileApart(const Unit& unit, const Toolchain& tools, double limit,
                      const std::string& reason, const CompileOptions& options) {
  std::string why;
  const std::string folder = TemporaryFolder(&why);
  auto apart = std::make_shared<Temporary>();
  if (!folder.empty()) *apart = Temporary::Folder(folder + "/kiln-XXXXXX");
  if (apart->path().empty()) {
    return Failure("there is no folder to compile in: the cache is not used, as " + reason +
                   "; and TMPDIR or /tmp is no other: " + (why.empty() ? folder : why));
  }
  Compiled compiled = Compile(unit, tools, apart->path(), "", limit, options);
  compiled.apart = std::move(apart);
  return compiled;
}

}  // namespace

std::string Unit::TextHash() const {
  Sha256 hash;
  AddTexts(*this, hash);
  return hash.Hex();
}

Compiled CompileCached(const Unit& unit, const Toolchain& tools, const CompileOptions& options) {
  const auto limit = CompileLimit();
  if (!limit) {
    return Failure("KILN_COMPILE_LIMIT is `" + FromEnvironment(EnvVariable::kCompileLimit) +
                   "`, not a number of seconds");
  }
  if (unit.is_object)
    return CompileApart(unit, tools, *limit, "object files are not kept", options);
  const std::string folder = options.folder.empty() ? CacheFolder() : options.folder;
  const std::string distrust = TrustCacheFolder(folder);
  if (!distrust.empty()) return CompileApart(unit, tools, *limit, distrust, options);
  return CompileInto(fs::absolute(folder), unit, tools, *limit, options);
}

void RemoveCached(const std::string& library) {
  const fs::path entry = fs::path(library).parent_path();
  std::error_code ignored;
  if (fs::exists(entry / "manifest", ignored)) fs::remove_all(entry, ignored);
}

}  // namespace kiln
