// The manual's generated parts are fresh. `./dev docs` (kiln explain --write-docs docs) writes
// them.
#include <map>
#include <regex>
#include <set>

#include "generator/check/rules.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

const fs::path kDocs = fs::path(KILN_SOURCE_DIR) / "docs";

std::map<std::string, std::string> Pages(const fs::path& folder) {
  std::map<std::string, std::string> pages;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".md")
      pages[fs::relative(entry.path(), folder).string()] = ReadText(entry.path());
  }
  return pages;
}

TEST_CASE("the manual's generated parts are fresh") {
  const Folder folder;
  fs::copy(kDocs, folder / "docs", fs::copy_options::recursive);
  const Shown shown = Kiln("explain --write-docs docs", folder.path());
  CHECK(shown.status == 0);
  CHECK(shown.err.empty());
  const auto kept = Pages(kDocs);
  const auto written = Pages(folder / "docs");
  for (const auto& [name, text] : written) {
    INFO(name << " is stale: ./dev docs");
    REQUIRE(kept.count(name) == 1);
    CHECK(kept.at(name) == text);
  }
  CHECK(kept.size() == written.size());
}

TEST_CASE("each rule has a page, and pages of rules that are gone go") {
  const Folder folder;
  fs::create_directories(folder / "docs/rules");
  WriteText(folder / "docs/rules/old-rule.md", "old\n");
  CHECK(Kiln("explain --write-docs docs", folder.path()).status == 0);
  const auto pages = Pages(folder / "docs");
  CHECK(pages.size() == Rules().size());
  for (const Rule& rule : Rules())
    CHECK(pages.count("rules/" + std::string(rule.label) + ".md") == 1);
}

TEST_CASE("only what stands between the marks is rewritten") {
  const Folder folder;
  fs::create_directories(folder / "docs");
  WriteText(folder / "docs/page.md",
            "above\n<!-- generated: rules -->\nold\n<!-- end -->\nbelow\n");
  CHECK(Kiln("explain --write-docs docs", folder.path()).status == 0);
  const std::string page = ReadText(folder / "docs/page.md");
  CHECK(page.rfind("above\n<!-- generated: rules -->\n| rule |", 0) == 0);
  CHECK(page.find("\n<!-- end -->\nbelow\n") != std::string::npos);
  CHECK(page.find("old\n") == std::string::npos);
}

TEST_CASE("marks that make no sense are refused, and the page is left alone") {
  const Folder folder;
  fs::create_directories(folder / "docs");
  for (const std::string page :
       {"<!-- generated: nothing -->\n<!-- end -->\n", "<!-- generated: rules -->\nno end\n"}) {
    WriteText(folder / "docs/page.md", page);
    const Shown shown = Kiln("explain --write-docs docs", folder.path());
    INFO(shown.err);
    CHECK(shown.status == 2);
    CHECK(shown.err.find("page.md") != std::string::npos);
    CHECK(ReadText(folder / "docs/page.md") == page);
  }
  CHECK(Kiln("explain --write-docs nowhere", folder.path()).status == 2);
}

/// Without blocks of code, where `[](int x)` is no link.
std::string Prose(const std::string& page) {
  std::istringstream lines(page);
  std::string out;
  bool code = false;
  for (std::string line; std::getline(lines, line);) {
    const bool fence = line.find("```") != std::string::npos;
    if (!fence && !code) out += line + "\n";
    code = code != fence;
  }
  return out;
}

TEST_CASE("links within the manual lead somewhere") {
  static const std::regex link(R"(\]\(([^)#:]+)\))");
  for (const auto& [name, page] : Pages(kDocs)) {
    const std::string text = Prose(page);
    for (auto it = std::sregex_iterator(text.begin(), text.end(), link);
         it != std::sregex_iterator(); ++it) {
      INFO(name << " links to " << (*it)[1]);
      CHECK(fs::exists((kDocs / name).parent_path() / (*it)[1].str()));
    }
  }
}

TEST_CASE("the design page names files that exist") {
  static const std::regex file(R"(`([a-z_]+/[a-z_]+\.(?:cc|h))`)");
  const std::string page = ReadText(kDocs / "design/language.md");
  int files = 0;
  for (auto it = std::sregex_iterator(page.begin(), page.end(), file); it != std::sregex_iterator();
       ++it, ++files) {
    INFO((*it)[1]);
    CHECK(fs::exists(fs::path(KILN_SOURCE_DIR) / "generator" / (*it)[1].str()));
  }
  CHECK(files > 10);
}

TEST_CASE("the matmul that the language page shows is the one that ships") {
  const std::string page = ReadText(kDocs / "spec-language.md");
  const std::string spec = ReadText(fs::path(KILN_SOURCE_DIR) / "specs/matmul.yaml");
  const size_t begin =
      page.find("# specs/matmul.yaml\n") + std::string("# specs/matmul.yaml\n").size();
  const std::string shown = page.substr(begin, page.find("```", begin) - begin);
  const Folder folder;
  WriteText(folder / "matmul.yaml", shown);
  CHECK(Kiln("show matmul.yaml", folder.path()).out == Kiln("show specs/matmul.yaml").out);
  CHECK(!spec.empty());
}

}  // namespace
}  // namespace kiln::test
