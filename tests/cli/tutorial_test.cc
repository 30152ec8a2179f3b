// docs/tutorial.md is run from top to bottom: a block ```yaml NAME is written to the file NAME,
// each
// `$ command` of a ```console block is run, and what it prints must be what stands there.
// KILN_UPDATE=1 writes what it prints into the page instead.
#include <cstdlib>
#include <regex>
#include <vector>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

/// How long things take changes from run to run.
std::string WithoutTimes(const std::string& text) {
  static const std::regex time(R"( in [0-9.e+-]+ m?s\n)");
  return std::regex_replace(text, time, " in … s\n");
}

/// A page with its console blocks run.
class Tutorial {
 public:
  explicit Tutorial(const std::string& page) : in_(page) {}

  std::string Run() {
    for (std::string line; std::getline(in_, line);) {
      out_ += line + "\n";
      if (line.rfind("```yaml ", 0) == 0) WriteFile(line.substr(8));
      if (line == "```console") RunCommands();
    }
    return out_;
  }

 private:
  void WriteFile(const std::string& name) {
    std::string text;
    for (std::string line; std::getline(in_, line);) {
      out_ += line + "\n";
      if (line == "```") break;
      text += line + "\n";
    }
    WriteText(folder_ / name, text);
  }

  void RunCommands() {
    for (std::string line; std::getline(in_, line);) {
      if (line == "```") {
        out_ += line + "\n";
        return;
      }
      if (line.rfind("$ ", 0) != 0) continue;  // what it printed before
      const Shown shown = Shell(line.substr(2) + " 2>&1", folder_.path());
      out_ += line + "\n" + shown.out;
    }
  }

  Folder folder_;
  std::istringstream in_;
  std::string out_;
};

}  // namespace

TEST_CASE("the tutorial's commands print what it says") {
  const fs::path path = fs::path(KILN_SOURCE_DIR) / "docs/tutorial.md";
  const std::string page = ReadText(path);
  REQUIRE(!page.empty());
  const std::string run = Tutorial(page).Run();
  if (std::getenv("KILN_UPDATE") && WithoutTimes(run) != WithoutTimes(page)) WriteText(path, run);
  CHECK(WithoutTimes(ReadText(path)) == WithoutTimes(run));
}

}  // namespace kiln::test
