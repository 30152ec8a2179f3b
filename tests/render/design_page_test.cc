// docs/design/generated.md shows text that exists: its excerpts are lines of the files they name.
#include <sstream>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln {
namespace {

/// "```cpp generated/x.cc", the pieces between lines that are an ellipsis, "```".
struct Excerpt {
  std::string file;
  std::vector<std::string> pieces;
};

std::vector<Excerpt> ExcerptsOf(const std::string& page) {
  const std::string fence = "```cpp generated/";
  std::vector<Excerpt> excerpts;
  bool inside = false;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!inside && line.starts_with(fence)) {
      excerpts.push_back({line.substr(std::string("```cpp ").size()), {"\n"}});
      inside = true;
    } else if (inside && line == "```") {
      inside = false;
    } else if (inside && line == "\xe2\x80\xa6") {
      excerpts.back().pieces.push_back("\n");
    } else if (inside) {
      excerpts.back().pieces.back() += line + "\n";
    }
  }
  return excerpts;
}

TEST_CASE("the design page shows generated text that exists") {
  const test::fs::path root = KILN_SOURCE_DIR;
  const auto excerpts = ExcerptsOf(test::ReadText(root / "docs/design/generated.md"));
  CHECK(excerpts.size() >= 2);
  for (const Excerpt& excerpt : excerpts) {
    const std::string text = test::ReadText(root / excerpt.file);
    for (const std::string& piece : excerpt.pieces) {
      INFO(excerpt.file << " has no longer:" << piece);
      CHECK(text.find(piece) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace kiln
