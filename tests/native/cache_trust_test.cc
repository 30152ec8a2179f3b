// What the compile cache will not run, what it repairs, and what it leaves behind: nothing.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "generator/native/cache/cache.h"
#include "generator/native/cache/entry.h"
#include "generator/native/cache/folder.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln {
namespace cache_trust_test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 65534;

/// A compiler that is a script: `cc` writes what -o names, which is not run here.
class Scripted {
 public:
  explicit Scripted(const std::string& body) {
    const std::string path = folder_ / "cc";
    test::WriteText(path,
                    "#!/bin/sh\nall=$*\nwhile [ \"$1\" != -o ]; do shift; done; out=$2\n" + body);
    fs::permissions(path, fs::perms::owner_all);
    tools_.compile = {path};
    tools_.fingerprint = "scripted";
    options_.folder = folder_ / "cache";
  }

  Compiled Run(const std::string& text = "one", bool is_kernel = false) {
    return CompileCached({"unit", "unit.cc", {{"unit.cc", text}}, "", {}, is_kernel}, tools_,
                         options_);
  }
  /// What stands in the cache, without entries.
  std::string Litter() const {
    std::string names;
    for (const auto& entry : fs::directory_iterator(options_.folder)) {
      const std::string name = entry.path().filename().string();
      if (name.size() != 32) names += name.substr(0, name.find('-')) + " ";
    }
    return names;
  }
  const fs::path folder() const { return options_.folder; }
  const test::Folder& all() const { return folder_; }
  CompileOptions& options() { return options_; }

 private:
  test::Folder folder_;
  Toolchain tools_;
  CompileOptions options_;
};

/// Each run leaves a line in `count` beside the compiler.
const char* const kCounting =
    "echo . >> \"$(dirname \"$0\")/count\"; echo \"made $(cat \"$(dirname \"$out\")/unit.cc\")\" "
    "> \"$out\"\n";

size_t Runs(const Scripted& compiler) {
  return test::ReadText(compiler.all() / "count").size() / 2;
}

mode_t ModeOf(const fs::path& path) {
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

TEST_CASE("the folder is its owner's alone, also where it was there before") {
  Scripted compiler(kCounting);
  REQUIRE(!compiler.Run().library.empty());
  CHECK(ModeOf(compiler.folder()) == 0700);
  chmod(compiler.folder().c_str(), 0755);
  CHECK(compiler.Run().cached);
  CHECK(ModeOf(compiler.folder()) == 0700);
}

TEST_CASE("what others could have planted is not run: it is compiled apart, and that goes away") {
  Scripted compiler(kCounting);
  const std::string planted = compiler.Run().library;
  CHECK(compiler.Run().cached);
  SECTION("others can write into the folder") {
    chmod(compiler.folder().c_str(), 0777);
    CHECK(TrustCacheFolder(compiler.folder()) ==
          "others can write into " + compiler.folder().string() + " (mode 0777)");
  }
  SECTION("others can put another folder in its place") {
    chmod(compiler.all().path().c_str(), 0777);
    CHECK(TrustCacheFolder(compiler.folder()) ==
          "others can write into " + compiler.all().path().string() + " (mode 0777)");
  }
  SECTION("it is somebody else's") {
    if (geteuid() != 0) return;  // only root can give it away
    REQUIRE(chown(compiler.folder().c_str(), kSomebody, kSomebody) == 0);
    CHECK(TrustCacheFolder(compiler.folder()) ==
          compiler.folder().string() + " belongs to user 65534");
  }
  SECTION("it is a link of somebody else's") {
    if (geteuid() != 0) return;
    const std::string link = compiler.all() / "link";
    fs::create_directory_symlink(compiler.folder(), link);
    REQUIRE(lchown(link.c_str(), kSomebody, kSomebody) == 0);
    compiler.options().folder = link;
    CHECK(TrustCacheFolder(link) == link + " belongs to user 65534");
  }
  std::string apart;
  {
    const Compiled compiled = compiler.Run();
    INFO(compiled.error);
    apart = compiled.library;
    CHECK(!compiled.cached);
    CHECK(test::ReadText(apart) == "made one\n");
    CHECK(!apart.empty());
    CHECK(apart != planted);
    CHECK(ModeOf(fs::path(apart).parent_path()) == 0700);
  }
  CHECK(!fs::exists(fs::path(apart).parent_path()));
  chmod(compiler.all().path().c_str(), 0700);
}

TEST_CASE("a sticky folder above is no danger: nobody moves what is another's there") {
  Scripted compiler(kCounting);
  chmod(compiler.all().path().c_str(), 01777);
  CHECK(TrustCacheFolder(compiler.folder()).empty());
}

TEST_CASE("where nothing can be compiled apart either, both reasons are reported") {
  Scripted compiler(kCounting);
  test::WriteText(compiler.all() / "file", "");
  compiler.options().folder = compiler.all() / "file/cache";
  const char* const before = getenv("TMPDIR");
  const std::string kept = before ? before : "";
  setenv("TMPDIR", "/nowhere", 1);
  const Compiled failed = compiler.Run();
  before ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
  CHECK(failed.library.empty());
  CHECK(failed.error == "there is no folder to compile in: the cache is not used, as " +
                            (compiler.all() / "file") +
                            " is no folder; and TMPDIR or /tmp is no other: /nowhere: No such file "
                            "or directory");
}

TEST_CASE("an entry that is not byte by byte what was compiled is made again") {
  Scripted compiler(kCounting);
  const std::string library = compiler.Run().library;
  const fs::path entry = fs::path(library).parent_path();
  const std::string whole = test::ReadText(library), manifest = test::ReadText(entry / "manifest");
  SECTION("truncated") { fs::resize_file(library, 3); }
  SECTION("empty") { fs::resize_file(library, 0); }
  SECTION("longer") { test::WriteText(library, whole + "more"); }
  SECTION("one byte") { test::WriteText(library, "m" + std::string("b") + whole.substr(2)); }
  SECTION("missing") { fs::remove(library); }
  SECTION("a folder") {
    fs::remove(library);
    fs::create_directory(library);
  }
  SECTION("no manifest") { fs::remove(entry / "manifest"); }
  SECTION("half a manifest") {
    test::WriteText(entry / "manifest", manifest.substr(0, manifest.size() / 2));
  }
  SECTION("another's manifest") { test::WriteText(entry / "manifest", "1 other 4 00\n"); }
  SECTION("nothing at all") {
    for (const auto& file : fs::directory_iterator(entry)) fs::remove(file.path());
  }
  const Compiled again = compiler.Run();
  CHECK(!again.cached);
  CHECK(again.library == library);
  CHECK(test::ReadText(library) == whole);
  CHECK(compiler.Run().cached);
  CHECK(Runs(compiler) == 2);
  CHECK(compiler.Litter().empty());
}

TEST_CASE("programs that want the same at once compile it once") {
  Scripted compiler(std::string("sleep 0.5\n") + kCounting);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(compiler.Run().library.empty());
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(Runs(compiler) == 1);
  CHECK(compiler.Run().cached);
  CHECK(compiler.Litter().empty());
}

TEST_CASE("what a killed program left goes with the next compile, and what is alive stays") {
  Scripted compiler(kCounting);
  compiler.Run();
  const std::string key(32, 'a'), alive(32, 'b');
  fs::create_directory(compiler.folder() / ("part-" + key + "-123456"));
  test::WriteText(compiler.folder() / ("part-" + key + "-123456") / "unit.cc", "half");
  test::WriteText(compiler.folder() / ("lock-" + key), "");
  fs::create_directory(compiler.folder() / ("part-" + alive + "-123456"));
  const auto lock = CacheLock::Try(compiler.folder(), alive);
  REQUIRE(lock);
  compiler.Run("two");
  CHECK(!fs::exists(compiler.folder() / ("part-" + key + "-123456")));
  CHECK(!fs::exists(compiler.folder() / ("lock-" + key)));
  CHECK(fs::exists(compiler.folder() / ("part-" + alive + "-123456")));
  CHECK(fs::exists(compiler.folder() / ("lock-" + alive)));
}

TEST_CASE("what was used longest ago goes when the limit is reached") {
  // Each entry is a little more than 100,000 bytes.
  Scripted compiler("head -c 100000 /dev/zero > \"$out\"\n");
  setenv("KILN_CACHE_LIMIT", "250K", 1);
  const std::string one = compiler.Run("one").library, two = compiler.Run("two").library;
  fs::last_write_time(fs::path(two).parent_path(),
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(compiler.Run("one").cached);
  const std::string three = compiler.Run("three").library;
  CHECK(fs::exists(one));
  CHECK(!fs::exists(two));
  CHECK(fs::exists(three));
  setenv("KILN_CACHE_LIMIT", "0", 1);  // the newest stays all the same
  const std::string four = compiler.Run("four").library;
  CHECK(CachedEntries(compiler.folder()).size() == 1);
  CHECK(fs::exists(four));
  setenv("KILN_CACHE_LIMIT", "much", 1);
  CHECK(compiler.Run("five").error ==
        "KILN_CACHE_LIMIT is `much`, not a number of bytes such as 500M or 2G");
  unsetenv("KILN_CACHE_LIMIT");
  CHECK(ClearEntries(compiler.folder()) == 1);
  CHECK(fs::is_empty(compiler.folder()));
}

TEST_CASE("a compiler that hangs is ended, with all that it started") {
  Scripted compiler(
      "beats=$(dirname \"$0\")/beats\n"
      "while :; do echo . >> \"$beats\"; sleep 0.02; done & sleep 600\n");
  setenv("KILN_COMPILE_LIMIT", "0.3", 1);
  const auto start = std::chrono::steady_clock::now();
  const Compiled failed = compiler.Run();
  const auto took = std::chrono::steady_clock::now() - start;
  setenv("KILN_COMPILE_LIMIT", "soon", 1);
  const std::string wrong = compiler.Run().error;
  unsetenv("KILN_COMPILE_LIMIT");
  CHECK(test::Contains(failed.error, " had not compiled unit.cc after 0.3 seconds and was ended"));
  CHECK(took < std::chrono::seconds(20));
  CHECK(compiler.Litter().empty());
  CHECK(wrong == "KILN_COMPILE_LIMIT is `soon`, not a number of seconds");
  const auto beats = [&] { return test::ReadText(compiler.all() / "beats").size(); };
  const size_t before = beats();
  CHECK(before > 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(beats() == before);
}

TEST_CASE("what does not compile stays to be looked at, where its message says, until it does") {
  Scripted compiler(
      "grep good \"$(dirname \"$out\")/unit.cc\" > \"$out\" || { echo error; exit 1; }\n");
  const Compiled failed = compiler.Run("bad");
  const std::string message = failed.error;
  const size_t from = message.find(compiler.folder().string());
  REQUIRE(from != std::string::npos);
  const fs::path source = message.substr(from, message.find(" (exit") - from);
  CHECK(test::ReadText(source) == "bad");
  CHECK(failed.log == "error\n");
  CHECK(compiler.Litter() == "failed ");
  CHECK(!compiler.Run("good").library.empty());
}

TEST_CASE("another compiler under the same name is another toolchain") {
  const test::Folder folder;
  const auto install = [&](const std::string& comment) {
    const std::string path = folder / "c++";
    fs::remove(path);
    test::WriteText(path, "#!/bin/sh\n# " + comment + "\necho c++ 1.0\n");
    fs::permissions(path, fs::perms::owner_all);
  };
  const auto fingerprint = [] {
    std::string why;
    const auto tools = FindToolchain(&why);
    INFO(why);
    REQUIRE(tools);
    return tools->fingerprint;
  };
  setenv("CXX", (folder / "c++").c_str(), 1);
  install("one");
  const std::string first = fingerprint();
  CHECK(fingerprint() == first);
  install("another");
  const std::string second = fingerprint();
  CHECK(second != first);
  setenv("CPATH", "/elsewhere", 1);
  CHECK(fingerprint() != second);
  unsetenv("CPATH");
  unsetenv("CXX");
}

// Precompiled headers -----------------------------------------------------------------------------

/// Writes down what it is asked for, and makes it.
const char* const kMakesHeaders =
    "case \"$all\" in\n"
    "  *c++-header*) word=headers;;\n"
    "  *-include*/kernel.h*) word=with;;\n"
    "  *) word=without;;\n"
    "esac\n"
    "echo $word >> \"$(dirname \"$0\")/words\"\n";

std::string Words(const Scripted& compiler) {
  std::string words = test::ReadText(compiler.all() / "words");
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}

TEST_CASE("what kernels include is compiled along with the second of them, once") {
  Scripted compiler(std::string(kMakesHeaders) + "echo made > \"$out\"\n");
  CHECK(!compiler.Run("one", true).library.empty());
  CHECK(Words(compiler) == "without ");
  CHECK(!compiler.Run("two", true).library.empty());
  CHECK(!compiler.Run("three", true).library.empty());
  CHECK(compiler.Run("three", true).cached);
  CHECK(!compiler.Run("a probe").library.empty());
  CHECK(Words(compiler) == "without headers with with without ");
  CHECK(compiler.Litter().empty());
  bool listed = false;
  for (const CachedEntry& entry : CachedEntries(compiler.folder()))
    listed |= entry.name == "headers";
  CHECK(listed);
}

TEST_CASE("headers that cannot be made are not made again, and kernels do without") {
  Scripted compiler(std::string(kMakesHeaders) + "[ $word != headers ] && echo made > \"$out\"\n");
  for (const char* text : {"one", "two", "three"}) CHECK(!compiler.Run(text, true).library.empty());
  CHECK(Words(compiler) == "without headers without without ");
  ClearEntries(compiler.folder());
  CHECK(fs::is_empty(compiler.folder()));
}

TEST_CASE("headers that are cut short are made again; those that do not work are given up") {
  Scripted compiler(std::string(kMakesHeaders) +
                    "[ $word = with ] && [ -e \"$(dirname \"$0\")/bad\" ] && { echo error; exit 1; "
                    "}\necho made > \"$out\"\n");
  for (const char* text : {"one", "two"}) CHECK(!compiler.Run(text, true).library.empty());
  for (const auto& entry : fs::directory_iterator(compiler.folder())) {
    if (fs::exists(entry.path() / "kernel.h.gch"))
      fs::resize_file(entry.path() / "kernel.h.gch", 2);
  }
  CHECK(!compiler.Run("three", true).library.empty());
  CHECK(Words(compiler) == "without headers with headers with ");
  test::WriteText(compiler.all() / "bad", "");
  CHECK(!compiler.Run("four", true).library.empty());
  CHECK(!compiler.Run("five", true).library.empty());
  CHECK(Words(compiler) == "without headers with headers with with without without ");
}

TEST_CASE("a small limit leaves no room for headers") {
  Scripted compiler(std::string(kMakesHeaders) + "echo made > \"$out\"\n");
  setenv("KILN_CACHE_LIMIT", "100M", 1);
  for (const char* text : {"one", "two"}) CHECK(!compiler.Run(text, true).library.empty());
  unsetenv("KILN_CACHE_LIMIT");
  CHECK(Words(compiler) == "without without ");
}

}  // namespace
}  // namespace cache_trust_test
}  // namespace kiln
