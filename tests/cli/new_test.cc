#include <vector>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

const char* const kKinds[] = {"matmul", "elementwise", "reduction", "gather"};

/// The commands that `kiln new` says come next.
std::vector<std::string> NextCommands(const std::string& out) {
  std::vector<std::string> commands;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  kiln ", 0) == 0) commands.push_back(line.substr(2, line.find("  #") - 2));
  }
  return commands;
}

TEST_CASE("new writes a commented spec, and the commands it prints work") {
  for (const std::string kind : kKinds) {
    INFO(kind);
    const Folder folder;
    const Shown made = Kiln("new first --like=" + kind, folder.path());
    CHECK(made.status == 0);
    CHECK(made.err.empty());
    CHECK(made.out.rfind("wrote first.yaml\nnext:\n", 0) == 0);
    const std::string spec = ReadText(folder / "first.yaml");
    CHECK(spec.rfind("# yaml-language-server: $schema=kiln.schema.json\nkernel: first\ndoc: ", 0) ==
          0);
    CHECK(spec.find("NAME") == std::string::npos);
    const auto commands = NextCommands(made.out);
    REQUIRE(commands.size() == 4);
    for (const std::string& command : commands) {
      const Shown shown = Shell(command, folder.path());
      INFO(command << "\n" << shown.err);
      CHECK(shown.status == 0);
      CHECK(shown.err.empty());
    }
    CHECK(ReadText(folder / "kiln.schema.json").find("\"$schema\"") != std::string::npos);
  }
}

TEST_CASE("a new spec is right at other sizes, on a TPU and in any order of its parallel axes") {
  for (const std::string kind : kKinds) {
    INFO(kind);
    const Folder folder;
    const auto commands = NextCommands(Kiln("new first --like=" + kind, folder.path()).out);
    REQUIRE(commands.size() == 4);
    const Shown tpu = Shell(commands[1] + " --tpu", folder.path());
    INFO(tpu.err);
    CHECK(tpu.status == 0);
    CHECK(tpu.err.empty());
    CHECK(Shell("kiln check first.yaml --tpu", folder.path()).status == 0);
    CHECK(Shell(commands[2] + " --shuffle 7", folder.path()).status == 0);
  }
}

TEST_CASE("elementwise is what one gets without --like") {
  const Folder folder;
  CHECK(Kiln("new a", folder.path()).status == 0);
  CHECK(Kiln("new a -o b --like=elementwise", folder.path()).status == 0);
  CHECK(ReadText(folder / "a.yaml") == ReadText(folder / "b/a.yaml"));
}

TEST_CASE("new never overwrites") {
  const Folder folder;
  WriteText(folder / "mine.yaml", "my work\n");
  const Shown shown = Kiln("new mine --like=matmul", folder.path());
  CHECK(shown.status == 2);
  CHECK(shown.out.empty());
  CHECK(shown.err ==
        "kiln: `mine.yaml` exists and is left as it is\n  hint: choose another name\n");
  CHECK(ReadText(folder / "mine.yaml") == "my work\n");
}

TEST_CASE("new makes the folder, and quotes what a shell would split") {
  const Folder folder;
  const Shown shown = Kiln("new k -o 'a b/it'\"'\"'s'", folder.path());
  CHECK(shown.status == 0);
  CHECK(fs::exists(folder / "a b/it's/k.yaml"));
  const auto commands = NextCommands(shown.out);
  REQUIRE(commands.size() == 4);
  CHECK(Shell(commands[0], folder.path()).status == 0);
}

TEST_CASE("new refuses names that a kernel cannot have") {
  const Folder folder;
  for (const char* name : {"class", "a.yaml", "../a", "1st", "a-b", "''", "when"}) {
    const Shown shown = Kiln(std::string("new ") + name, folder.path());
    INFO(name << "\n" << shown.err);
    CHECK(shown.status == 2);
    CHECK(shown.err.find("hint: a kernel is named as in C++") != std::string::npos);
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("new says what is wrong with its command line") {
  const Folder folder;
  CHECK(Kiln("new", folder.path()).status == 2);
  const Shown kind = Kiln("new a --like=softmax", folder.path());
  CHECK(kind.status == 2);
  CHECK(kind.err.find("matmul") != std::string::npos);
  WriteText(folder / "file", "");
  const Shown under = Kiln("new a -o file/below", folder.path());
  CHECK(under.status == 2);
  CHECK(under.err == "kiln: cannot write `file/below/a.yaml`: Not a directory\n");
  CHECK(!fs::exists(folder / "a.yaml"));
}

}  // namespace
}  // namespace kiln::test
