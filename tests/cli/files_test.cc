// Files of every command: where they may go and come from, and what an interrupt leaves of them.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/cli/tool.h"

extern char** environ;

namespace kiln::test {
namespace files_test {
namespace {

constexpr const char* kDoubled =
    "kernel: doubled\n"
    "params: {b: 8, factor: 2}\n"
    "grid: {i: \"cdiv(n, b)\"}\n"
    "dimension_semantics: parallel\n"
    "inputs:\n  x: {array: \"f32[n]\", block: b, index: i}\n"
    "outputs:\n  o: {array: \"f32[n]\", block: b, index: i}\n"
    "body: |\n  o = x * f32(factor)\n"
    "golden:\n  - {n: 3000, seed: 1}\n";

/// Started by this program itself, as a shell's background lets no interrupt through.
class Running {
 public:
  Running(const std::vector<std::string>& words, const fs::path& folder,
          const std::vector<std::string>& variables = {}) {
    std::vector<std::string> texts = {KILN_TOOL}, environment = variables;
    texts.insert(texts.end(), words.begin(), words.end());
    for (char** one = environ; *one; ++one) environment.push_back(*one);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addchdir_np(&files, folder.c_str());
    for (const int stream : {1, 2})
      posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_WRONLY, 0);
    REQUIRE(posix_spawn(&pid_, KILN_TOOL, &files, nullptr, Pointers(texts).data(),
                        Pointers(environment).data()) == 0);
    posix_spawn_file_actions_destroy(&files);
  }

  void Send(int signal) const { kill(pid_, signal); }
  /// As a shell reports it.
  int Status() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  static std::vector<char*> Pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
  }

  pid_t pid_ = -1;
};

std::set<std::string> Names(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

/// All that is in a folder, names and bytes.
std::map<std::string, std::string> Snapshot(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      out[fs::relative(entry.path(), folder).string()] = ReadText(entry.path());
  }
  return out;
}

// Writing -----------------------------------------------------------------------------------------

TEST_CASE("a page or a trace goes into devices, and never over them") {
  const Folder folder;
  WriteText(folder / "doubled.yaml", kDoubled);
  const std::string report = "report doubled.yaml n=20 ";
  CHECK(Kiln(report + "-o /dev/null --trace t.json", folder.path()).status == 0);
  CHECK(fs::is_character_file("/dev/null"));
  for (const char* option : {"-o", "--trace"}) {
    const Shown full = Kiln(report + option + " /dev/full", folder.path());
    CHECK(full.status == 2);
    CHECK(full.err == "kiln: cannot write `/dev/full`: No space left on device\n");
  }
  const Shown shown = Kiln(report + "--trace /dev/stdout", folder.path());
  CHECK(shown.out == ReadText(folder / "t.json"));
  const Shown redirected = Shell("kiln " + report + "--trace /dev/stdout > out", folder.path());
  CHECK(redirected.status == 0);
  CHECK(ReadText(folder / "out") == ReadText(folder / "t.json"));
  CHECK(Names(folder.path()) == std::set<std::string>{"doubled.yaml", "out", "t.json"});
}

TEST_CASE("one file for two outputs, or over what is read, is refused beforehand") {
  const Folder folder;
  WriteText(folder / "doubled.yaml", kDoubled);
  const std::string report = "report doubled.yaml n=20 ";
  const Shown twice = Kiln(report + "-o x --trace ./x", folder.path());
  CHECK(twice.status == 2);
  CHECK(twice.err == "kiln: `./x` is both -o and --trace\n  hint: give each a file of its own\n");
  const Shown over = Kiln(report + "-o doubled.yaml", folder.path());
  CHECK(over.status == 2);
  CHECK(over.err ==
        "kiln: -o would write over SPEC, `doubled.yaml`\n  hint: give it a file of its own\n");
  CHECK(
      Kiln("run doubled.yaml x=ones n=20 --mode=emulate --report r --trace r", folder.path()).err ==
      "kiln: `r` is both --report and --trace\n  hint: give each a file of its own\n");
  CHECK(Names(folder.path()) == std::set<std::string>{"doubled.yaml"});
}

TEST_CASE("what does not arrive at standard output is an error") {
  const Shown shown = Shell("kiln schema > /dev/full");
  CHECK(shown.status == 2);
  CHECK(shown.err ==
        "kiln: cannot write all of standard output\n"
        "  hint: is it closed, or is its disk full?\n");
}

TEST_CASE("on a full disk the earlier files stay as they are") {
  const Folder folder;
  if (mount("kiln", folder.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    WARN("skipped: nothing can be mounted here");
    return;
  }
  WriteText(folder / "doubled.yaml", kDoubled);
  REQUIRE(Kiln("golden record doubled.yaml", folder.path()).status == 0);
  REQUIRE(Kiln("generate doubled.yaml -o out", folder.path()).status == 0);
  Shell("head -c 1M /dev/zero > fill", folder.path());
  const auto before = Snapshot(folder.path());
  const std::pair<const char*, const char*> cases[] = {
      {"golden record doubled.yaml --set factor=3", "cannot write `golden/doubled."},
      {"generate doubled.yaml -o out --set factor=3", "cannot write `out/doubled."},
      {"report doubled.yaml n=20 -o r.html", "cannot write `r.html`: No space left on device"},
      {"new scale -o specs", "cannot write `specs/scale.yaml`: No space left on device"},
      {"run doubled.yaml x=ones n=20 -o there", "cannot write `there/o.npy`: No space left on"},
      {"tune doubled.yaml n=4096 --for=v5e", "cannot write `doubled.lock.yaml`: No space left on"},
  };
  for (const auto& [command, part] : cases) {
    const Shown shown = Kiln(command, folder.path());
    INFO("kiln " << command << "\n" << shown.err);
    CHECK(shown.status == 2);
    CHECK(Contains(shown.err, part));
    CHECK(Snapshot(folder.path()) == before);
    CHECK(!fs::exists(folder / "specs"));
    CHECK(!fs::exists(folder / "there"));
  }
  fs::remove(folder / "fill");
  const Shown checked = Kiln("golden check doubled.yaml --mode=interpret", folder.path());
  umount2(folder.path().c_str(), MNT_DETACH);
  CHECK(checked.status == 0);
}

TEST_CASE("killed at any moment, a command leaves the old files or the new ones") {
  const Folder folder;
  WriteText(folder / "doubled.yaml", kDoubled);
  struct Case {
    std::vector<std::string> words;
    std::string check;  // what holds of both
  };
  const Case cases[] = {
      {{"golden", "record", "doubled.yaml"}, "golden check doubled.yaml --mode=interpret"},
      {{"generate", "doubled.yaml", "-o", "out"}, ""},
      {{"tune", "doubled.yaml", "n=4096", "--for=v5e", "--lock=l.yaml"}, ""},
  };
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const Case& one : cases) {
    const auto run = [&](const std::string& factor) {
      std::vector<std::string> words = one.words;
      words.insert(words.end(), {"--set", "factor=" + factor});
      return words;
    };
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(Running(run("2"), folder.path()).Status() == 0);
    const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - start);
    const auto two = Snapshot(folder.path());
    REQUIRE(Running(run("3"), folder.path()).Status() == 0);
    const auto three = Snapshot(folder.path());
    for (int round = 0; round < 12; ++round) {
      Running running(run(round % 2 == 0 ? "2" : "3"), folder.path());
      std::this_thread::sleep_for(whole * (random() % 1100) / 1000);
      running.Send(SIGKILL);
      running.Status();
      // Each file by itself; which of them are new is a matter of the moment.
      for (const auto& [name, text] : Snapshot(folder.path())) {
        INFO(name);
        if (name.find(".kiln-") != name.npos) continue;  // whole, and about to be moved
        const auto as_two = two.find(name), as_three = three.find(name);
        CHECK(((as_two != two.end() && as_two->second == text) ||
               (as_three != three.end() && as_three->second == text)));
      }
      if (one.check.empty()) continue;
      const bool holds = Kiln(one.check + " --set factor=2", folder.path()).status == 0 ||
                         Kiln(one.check + " --set factor=3", folder.path()).status == 0;
      CHECK(holds);
    }
  }
}

// Reading -----------------------------------------------------------------------------------------

TEST_CASE("a spec comes from a file, standard input or a pipe") {
  const Folder folder;
  WriteText(folder / "doubled.yaml", kDoubled);
  const std::string fine = "doubled: the spec is fine; give sizes to check the grid, e.g. n=1000\n";
  for (const char* command :
       {"kiln check - < doubled.yaml", "cat doubled.yaml | kiln check -",
        "kiln check /dev/stdin < doubled.yaml", "cat doubled.yaml | kiln check /dev/stdin",
        "kiln check /dev/fd/9 9< doubled.yaml",
        "mkfifo d && mv d pipe-doubled.yaml && mkdir p && mv pipe-doubled.yaml p/doubled.yaml && "
        "(cat doubled.yaml > p/doubled.yaml & kiln check p/doubled.yaml)"}) {
    const Shown shown = Shell(command, folder.path());
    INFO(command << "\n" << shown.err);
    CHECK(shown.status == 0);
    CHECK(shown.out == fine);
  }
}

TEST_CASE("what is no spec's file is refused in a line, and nothing waits for ever") {
  const Folder folder;
  WriteText(folder / "doubled.yaml", kDoubled);
  const std::pair<const char*, const char*> cases[] = {
      {"mkfifo f; kiln check f",
       "kiln: cannot read `f`: it is a pipe that nobody writes into\n"
       "  hint: `kiln new NAME --like=matmul` writes a spec to start from\n"},
      {"mkfifo g; kiln check doubled.yaml --lock g",
       "kiln: cannot read the lock `g`: it is a pipe that nobody writes into\n"
       "  hint: `kiln tune` writes one; --no-lock reads none\n"},
      {"kiln check /dev/zero",
       "kiln: cannot read `/dev/zero`: it is a device\n"
       "  hint: `kiln new NAME --like=matmul` writes a spec to start from\n"},
      {"kiln golden record - < doubled.yaml",
       "kiln: nothing stands beside a spec that comes through a pipe\n"
       "  hint: name the folder of the records: -o golden\n"},
      {"kiln tune /dev/stdin n=20 < doubled.yaml",
       "kiln: a lock stands beside a file\n"
       "  hint: name the spec's file, or the lock's with --lock, or add --dry-run\n"},
  };
  for (const auto& [command, message] : cases) {
    const Shown shown = Shell(command, folder.path());
    INFO(command);
    CHECK(shown.status == 2);
    CHECK(shown.err == message);
  }
  const Shown much = Shell("kiln check - < /dev/zero");
  CHECK(much.status == 1);
  CHECK(Contains(much.err, "the file has more than 1048576 bytes, which is the limit"));
}

TEST_CASE("newlines of a file's name do not make lines") {
  const Folder folder;
  const std::string name = "a\nb\x1b[31m.yaml";
  WriteText(folder / name, "kernel: a\nbody: |\n  o = 1\n");
  const Shown shown = Kiln("check '" + name + "'", folder.path());
  CHECK(shown.status == 1);
  CHECK(shown.err.rfind("a\\x0ab\\x1b[31m.yaml:1:1: error[key]: ", 0) == 0);
  CHECK(Contains(Kiln("check 'x\ny'", folder.path()).err, "kiln: cannot read `x\\x0ay`: "));
}

// Interrupts --------------------------------------------------------------------------------------

TEST_CASE("an interrupt ends a command at once, and what it started") {
  const Folder folder;
  WriteText(folder / "doubled.yaml", kDoubled);
  WriteText(folder / "cc",
            "#!/bin/sh\ncase \"$*\" in *--version*) echo cc 1; exit;; esac\n"
            "while :; do echo . >> '" +
                (folder / "beats") + "'; sleep 0.02; done & sleep 600\n");
  fs::permissions(folder / "cc", fs::perms::owner_all);
  const auto beats = [&] { return ReadText(folder / "beats").size(); };
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::remove(folder / "beats");
    Running running({"run", "doubled.yaml", "x=ones", "n=20", "--mode=direct"}, folder.path(),
                    {"CXX=" + (folder / "cc"), "XDG_CACHE_HOME=" + (folder / "cache")});
    for (int i = 0; i < 1000 && beats() == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    REQUIRE(beats() > 0);
    const auto start = std::chrono::steady_clock::now();
    running.Send(signal);
    CHECK(running.Status() == 128 + signal);
    // At once is 10 ms; the rest is for machines that are busy.
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
    const size_t before = beats();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK(beats() == before);
    for (const std::string& name : Names(folder / "cache/kiln")) CHECK(name.rfind("lock-", 0) == 0);
  }
}

TEST_CASE("the interpreter is interrupted in the middle of a grid, and leaves no output") {
  const Folder folder;
  WriteText(folder / "doubled.yaml", kDoubled);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Running running({"run", "doubled.yaml", "x=ones", "n=4000000", "--set", "b=1", "-o", "out"},
                    folder.path());
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    running.Send(signal);
    CHECK(running.Status() == 128 + signal);
    CHECK(Names(folder.path()) == std::set<std::string>{"doubled.yaml"});
  }
}

// The cache ---------------------------------------------------------------------------------------

TEST_CASE("the cache is listed and cleared") {
  const Folder folder;
  const std::string before = "XDG_CACHE_HOME='" + folder.path().string() + "' kiln cache ";
  CHECK(Shell(before + "list").out == (folder / "kiln") + ": 0 entries, 0 bytes of 2 GiB\n");
  const std::string key(32, 'a');
  fs::create_directory(folder / ("kiln/" + key));
  WriteText(folder / ("kiln/" + key + "/manifest"), "1 doubled 4 00\n");
  WriteText(folder / ("kiln/" + key + "/doubled.so"), "text");
  const Shown listed = Shell(before + "list");
  CHECK(Contains(listed.out, " ago"));
  CHECK(Contains(listed.out, "doubled"));
  CHECK(Contains(listed.out, key + "\n" + (folder / "kiln") + ": 1 entry, 19 bytes of 2 GiB\n"));
  CHECK(Shell(before + "clear").out == "removed 1 entry from " + (folder / "kiln") + "\n");
  CHECK(fs::is_empty(folder / "kiln"));
  CHECK(Contains(Shell(before + "--help").out, "KILN_CACHE_LIMIT=500M kiln run"));
  chmod((folder / "kiln").c_str(), 0777);
  const Shown refused = Shell(before + "list");
  CHECK(refused.status == 2);
  CHECK(refused.err.rfind("kiln: the cache is not used: others can write into " +
                              (folder / "kiln") + " (mode 0777)\n",
                          0) == 0);
}

}  // namespace
}  // namespace files_test
}  // namespace kiln::test
