// `kiln init`: which files it writes; install_test builds them.
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

TEST_CASE(
    "a project's files are written, with its name, and its golden is what the oracle computes") {
  const Folder folder;
  const Shown shown = Kiln("init made/rows", folder.path());
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  for (const char* file : {".github/workflows/test.yml", ".gitignore", ".vscode/extensions.json",
                           ".vscode/kiln-lock.schema.json", ".vscode/kiln.schema.json",
                           ".vscode/settings.json", ".vscode/tasks.json", "CMakeLists.txt",
                           "README.md", "golden/scale.json", "main.cc", "scale.yaml"}) {
    INFO(file);
    CHECK(Contains(shown.out, "wrote made/rows/" + std::string(file) + "\n"));
    CHECK(!Contains(ReadText(folder / "made/rows/" + file), "@NAME@"));
  }
  CHECK(Contains(shown.out, "next:\n  cd made/rows\n"));
  CHECK(Contains(ReadText(folder / "made/rows/CMakeLists.txt"), "project(rows LANGUAGES CXX)"));
  CHECK(Contains(ReadText(folder / "made/rows/README.md"), "# rows\n"));
  // What an editor reads: JSON, with schemas that are there, and a pattern that finds messages.
  const fs::path editor = folder.path() / "made/rows/.vscode";
  const auto parsed = [&](const char* file) {
    return nlohmann::json::parse(ReadText(editor / file));
  };
  CHECK(parsed("extensions.json")["recommendations"].size() == 3);
  for (const auto& [schema, files] : parsed("settings.json")["yaml.schemas"].items()) {
    INFO(schema << files);
    CHECK(nlohmann::json::parse(ReadText(folder.path() / "made/rows" / schema)).is_object());
  }
  CHECK(ReadText(editor / "kiln.schema.json") == Kiln("schema").out);
  CHECK(Contains(ReadText(folder / "made/rows/scale.yaml"), "$schema=.vscode/kiln.schema.json\n"));
  const std::string pattern =
      parsed("tasks.json")["tasks"][0]["problemMatcher"]["pattern"]["regexp"];
  const Shown wrong =
      Shell("mkdir bad; sed s/expand/expnd/ scale.yaml >bad/scale.yaml; kiln check bad/scale.yaml",
            folder.path() / "made/rows");
  std::smatch found;
  const std::string line = wrong.err.substr(0, wrong.err.find('\n'));
  REQUIRE(std::regex_match(line, found, std::regex(pattern)));
  CHECK(found[1] == "bad/scale.yaml");
  CHECK(found[4] == "error");
  CHECK(found[5] == "name");
  const Shown check = Kiln("check scale.yaml m=100 n=70", folder.path() / "made/rows");
  CHECK(check.status == 0);
  const Shown golden =
      Kiln("golden check scale.yaml --mode=interpret", folder.path() / "made/rows");
  INFO(golden.out << golden.err);
  CHECK(golden.status == 0);
}

TEST_CASE("a project is refused where something is, and under a name that cannot be") {
  const Folder folder;
  fs::create_directory(folder / "empty");
  CHECK(Kiln("init empty/", folder.path()).status == 0);
  const Shown again = Kiln("init empty", folder.path());
  CHECK(again.status == 2);
  CHECK(again.err == "kiln: `empty` exists and is left as it is\n  hint: choose another name\n");
  for (const char* name : {"two-words", "1st", "class", "scale", "test", "'a b'", "''"}) {
    INFO(name);
    const Shown shown = Kiln(std::string("init ") + name, folder.path());
    CHECK(shown.status == 2);
    CHECK(Contains(shown.err, "hint: a project is named as in C++: my_project"));
  }
}

}  // namespace
}  // namespace kiln::test
