// Somebody's text in comments stays in them.
#include <sstream>

#include "generator/render/print/cpp.h"
#include "tests/render/texts_of.h"

namespace kiln::render {
namespace {

TEST_CASE("no line of a comment goes on in the next") {
  CHECK(CommentText("a \\ b") == "a \\ b");
  CHECK(CommentText("a \\") == "a");
  CHECK(CommentText("a \\ \t\\\r\f\v ") == "a");
  CHECK(CommentText("a\\\n  b \\\n\\\nc") == "a\n  b\n\nc");
  CHECK(CommentText("\\") == "");
  CHECK(CommentText("") == "");
}

TEST_CASE("what a spec or its file is called and says does not leave its comment") {
  const std::string spec =
      "kernel: noted\n"
      "doc: \"one \\\\\\ntwo \\\\ \"\n"
      "inputs: {x: \"f32[n]\"}\n"
      "outputs: {z: \"f32[n]\"}\n"
      "body: |\n"
      "  let y = x + (1 +  # within \\\n"
      "    2)\n"
      "  z = y * 2  # at the end \\  \n";
  const Generated texts = TextsOf(spec, "noted\nint injected;\\.yaml");
  for (const std::string& text : {texts.header, texts.source}) {
    INFO(text);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK((line.empty() || line.back() != '\\'));
      CHECK(line.find("int injected") != 0);
    }
  }
  CHECK(texts.source.find("# at the end") != std::string::npos);
  CHECK(texts.header.find("/// one\n/// two\n") != std::string::npos);
}

}  // namespace
}  // namespace kiln::render
