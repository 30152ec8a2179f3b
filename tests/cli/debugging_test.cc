// docs/debugging.md: the kernel it shows is generated as it says, and a debugger can stop at the
// lines of its body.
#include <set>
#include <sstream>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

/// What stands between a line that begins with `fence` and the next "```".
std::string Block(const std::string& page, const std::string& fence) {
  const size_t begin = page.find("\n" + fence + "\n") + fence.size() + 2;
  return page.substr(begin, page.find("```", begin) - begin);
}

/// "49:    // …": the numbers of the lines, and the lines.
std::vector<std::pair<int, std::string>> NumberedLines(const std::string& text) {
  std::vector<std::pair<int, std::string>> numbered;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t digits = line.find_first_not_of("0123456789");
    numbered.emplace_back(std::stoi(line.substr(0, digits)), line.substr(digits + 1));
  }
  return numbered;
}

TEST_CASE("a debugger stops at the lines of a body that the manual shows") {
  const std::string page = ReadText(fs::path(KILN_SOURCE_DIR) / "docs/debugging.md");
  const Folder folder;
  WriteText(folder / "scale.yaml", Block(page, "```yaml"));
  REQUIRE(Kiln("generate scale.yaml -o .", folder.path()).status == 0);
  std::vector<std::string> text{""};
  std::istringstream lines(ReadText(folder / "scale.cc"));
  for (std::string line; std::getline(lines, line);) text.push_back(line);
  const auto shown = NumberedLines(Block(page, "```cpp"));
  for (const auto& [number, line] : shown) CHECK(text.at(static_cast<size_t>(number)) == line);

  const Shown compiled =
      Shell("c++ -std=c++20 -g -O0 -march=native -DHWY_COMPILE_ONLY_STATIC -I '" +
                std::string(KILN_SOURCE_DIR) +
                "/runtime' -c scale.cc -o scale.o && "
                "objdump --dwarf=decodedline scale.o",
            folder.path());
  INFO(compiled.err);
  REQUIRE(compiled.status == 0);
  std::set<int> stops;  // "scale.cc   53   0x1f0 …"
  std::istringstream table(compiled.out);
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with("scale.cc") && line.find_first_of("0123456789") != std::string::npos)
      stops.insert(std::atoi(line.c_str() + line.find_first_of("0123456789")));
  }
  for (const auto& [number, line] : shown) {
    INFO(number << ": " << line);
    const bool comment = line.find("//") != std::string::npos;
    if (!comment && line.find("});") == std::string::npos) CHECK(stops.count(number) == 1);
  }
}

}  // namespace
}  // namespace kiln::test
