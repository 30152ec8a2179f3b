// Whole rendered messages: what a user sees is the interface.
#include "generator/text/diagnostic.h"

#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"

namespace kiln::diagnostic_test {
namespace {

Span Find(const Source& source, const std::string& word) {
  const size_t at = source.text().find(word);
  REQUIRE(at != std::string::npos);
  return {static_cast<uint32_t>(at), static_cast<uint32_t>(at + word.size())};
}

/// One error at `word` of a file that holds `text`.
std::string RenderAt(const std::string& text, const std::string& word) {
  const Source source("a.yaml", text);
  Diagnostics diagnostics;
  diagnostics.Error("key", Find(source, word), "wrong");
  return Render(diagnostics, source);
}

TEST_CASE("a message has its place, its line, a caret, a hint and notes") {
  const Source source("specs/mm.yaml", "kernel: mm\nblock: bm, bk\n");
  Diagnostic diagnostic = {Severity::kError,   "index-range",
                           Find(source, "bk"), "too large",
                           "write bm",         {{Find(source, "mm"), "of this kernel"}}};
  CHECK(Render(diagnostic, source) ==
        "specs/mm.yaml:2:12: error[index-range]: too large\n"
        "   2 | block: bm, bk\n"
        "     |            ^~\n"
        "  hint: write bm\n"
        "specs/mm.yaml:1:9: note: of this kernel\n"
        "   1 | kernel: mm\n"
        "     |         ^~\n");
  diagnostic.severity = Severity::kWarning;
  diagnostic.hint = "";
  diagnostic.notes = {};
  CHECK(Render(diagnostic, source) ==
        "specs/mm.yaml:2:12: warning[index-range]: too large\n"
        "   2 | block: bm, bk\n"
        "     |            ^~\n");
}

TEST_CASE("a long hint continues under its first word") {
  const Source source("a.yaml", "x");
  Diagnostics diagnostics;
  diagnostics.Error("tier", {0, 1}, "too much:\n  x 3 KiB", "smaller\nblocks");
  CHECK(Render(diagnostics, source) ==
        "a.yaml:1:1: error[tier]: too much:\n"
        "  x 3 KiB\n"
        "   1 | x\n"
        "     | ^\n"
        "  hint: smaller\n"
        "        blocks\n");
}

TEST_CASE("columns count what a reader sees") {
  CHECK(RenderAt("é: ü x\n", "x") ==
        "a.yaml:1:6: error[key]: wrong\n"
        "   1 | é: ü x\n"
        "     |      ^\n");
  CHECK(RenderAt("a:\tbc\n", "bc") ==
        "a.yaml:1:4: error[key]: wrong\n"
        "   1 | a:  bc\n"
        "     |     ^~\n");
  CHECK(RenderAt("日本 x\n", "x") ==
        "a.yaml:1:4: error[key]: wrong\n"
        "   1 | 日本 x\n"
        "     |      ^\n");
  CHECK(RenderAt("\xEF\xBB\xBFkey: 1\n", "key") ==
        "a.yaml:1:1: error[key]: wrong\n"
        "   1 | key: 1\n"
        "     | ^~~\n");
  CHECK(RenderAt("a: 1\r\nb: 2\r\n", "b") ==
        "a.yaml:2:1: error[key]: wrong\n"
        "   2 | b: 2\n"
        "     | ^\n");
}

TEST_CASE("a span of several lines is marked on its first") {
  CHECK(RenderAt("a: |\n  x\n  y\n", "|\n  x\n  y") ==
        "a.yaml:1:4: error[key]: wrong\n"
        "   1 | a: |\n"
        "     |    ^\n");
}

TEST_CASE("a place at the end of a line, of the file, and past it") {
  const Source source("a.yaml", "ab\n\ncd");
  const auto render = [&](Span span) {
    return Render(Diagnostic{Severity::kError, "key", span, "m", "", {}}, source);
  };
  CHECK(render({2, 2}) == "a.yaml:1:3: error[key]: m\n   1 | ab\n     |   ^\n");
  CHECK(render({3, 4}) == "a.yaml:2:1: error[key]: m\n   2 |\n     | ^\n");
  CHECK(render({6, 6}) == "a.yaml:3:3: error[key]: m\n   3 | cd\n     |   ^\n");
  CHECK(render({90, 99}) == "a.yaml:3:3: error[key]: m\n   3 | cd\n     |   ^\n");
  CHECK(render({2, 0}) == "a.yaml:1:3: error[key]: m\n   1 | ab\n     |   ^\n");
}

TEST_CASE("an empty source still renders") {
  const Source source("", "");
  CHECK(Render(Diagnostic{Severity::kError, "key", {}, "m", "h", {}}, source) ==
        "<spec>:1:1: error[key]: m\n  hint: h\n");
}

TEST_CASE("a long line is cut around the caret") {
  const std::string before(300, 'a'), after(300, 'b');
  CHECK(RenderAt(before + "X" + after, "X") ==
        "a.yaml:1:301: error[key]: wrong\n"
        "   1 | …" +
            std::string(40, 'a') + "X" + std::string(59, 'b') + "…\n" + "     | " +
            std::string(41, ' ') + "^\n");
  CHECK(RenderAt("X" + after, "X") ==
        "a.yaml:1:1: error[key]: wrong\n"
        "   1 | X" +
            std::string(99, 'b') +
            "…\n"
            "     | ^\n");
  // A span longer than the window ends with it.
  CHECK(RenderAt(before + "X" + after, "X" + after) ==
        "a.yaml:1:301: error[key]: wrong\n"
        "   1 | …" +
            std::string(40, 'a') + "X" + std::string(59, 'b') + "…\n" + "     | " +
            std::string(41, ' ') + "^" + std::string(59, '~') + "\n");
  const std::string large(100000, 'a');
  CHECK(RenderAt(large + "X", "X").size() < 400);
}

TEST_CASE("what a terminal would obey is spelt out") {
  const Source source("a\x1b.yaml", "x: \x1b[31m\xff\xE2\x80\xAE y\n");
  Diagnostics diagnostics;
  diagnostics.Error("key", Find(source, "y"), "bad \x1b[1m and \xff", std::string("nul \0", 5));
  CHECK(Render(diagnostics, source) ==
        "a\\x1b.yaml:1:12: error[key]: bad \\x1b[1m and \\xff\n"
        "   1 | x: \\x1b[31m\\xff\\u{202e} y\n"
        "     |                         ^\n"
        "  hint: nul \\x00\n");
}

TEST_CASE("diagnostics are sorted by place, each printed once") {
  const Source source("a.yaml", "abc\n");
  Diagnostics diagnostics;
  CHECK(diagnostics.empty());
  diagnostics.Warning("key", {2, 3}, "third");
  CHECK_FALSE(diagnostics.HasErrors());
  diagnostics.Error("key", {0, 1}, "first");
  diagnostics.Error("key", {0, 1}, "second");
  diagnostics.Error("key", {0, 1}, "first", "said again");
  CHECK(diagnostics.HasErrors());
  const auto sorted = diagnostics.Sorted();
  REQUIRE(sorted.size() == 3);
  CHECK(sorted[0].message == "first");
  CHECK(sorted[1].message == "second");
  CHECK(sorted[2].message == "third");
}

TEST_CASE("a flood of diagnostics is cut") {
  const Source source("a.yaml", "abc\n");
  Diagnostics diagnostics;
  for (int i = 0; i < 150; ++i) diagnostics.Error("key", {0, 1}, std::to_string(i));
  const std::string text = Render(diagnostics, source);
  CHECK(text.ends_with("a.yaml: 50 more not shown\n"));
}

TEST_CASE("JSON holds every field and is always valid") {
  const Source source("a.yaml", "é: 1\nb: 2\n");
  Diagnostics diagnostics;
  diagnostics.Error("key", Find(source, "1\nb"), "bad \xff \x1b", "h", {{{0, 2}, "n"}});
  const auto json = nlohmann::json::parse(RenderJson(diagnostics, source));
  const auto expected = nlohmann::json::parse(R"([{
    "path": "a.yaml", "line": 1, "column": 4, "end_line": 2, "end_column": 2,
    "severity": "error", "rule": "key", "message": "bad \\xff \\x1b", "hint": "h",
    "notes": [{"path": "a.yaml", "line": 1, "column": 1, "end_line": 1, "end_column": 2,
               "message": "n"}]}])");
  CHECK(json == expected);
  CHECK(nlohmann::json::parse(RenderJson(Diagnostics(), source)).empty());
}

TEST_CASE("the nearest spelling") {
  const std::vector<std::string> keys = {"block", "index", "buffers", "dimension_semantics", "T"};
  CHECK(Nearest("blcok", keys) == "block");  // a swap counts once
  CHECK(Nearest("indx", keys) == "index");
  CHECK(Nearest("Buffers", keys) == "buffers");
  CHECK(Nearest("dimension_semantic", keys) == "dimension_semantics");
  CHECK(Nearest("t", keys) == "T");
  CHECK(Nearest("n", keys).empty());  // every letter is one edit from any other
  CHECK(Nearest("out", keys).empty());
  CHECK(Nearest("", keys).empty());
  CHECK(Nearest(std::string(100000, 'a'), keys).empty());
  CHECK(DidYouMean("blck", keys) == "did you mean `block`?");
  CHECK(DidYouMean("zzz", keys).empty());
}

TEST_CASE("lines and columns of a source") {
  const Source source("a", "ab\r\ncd\n");
  CHECK(source.line_count() == 3);
  CHECK(source.Line(1) == "ab");
  CHECK(source.Line(2) == "cd");
  CHECK(source.Line(3).empty());
  CHECK(source.Line(0).empty());
  CHECK(source.Line(4).empty());
  CHECK(source.LineStart(2) == 4);
  CHECK(source.Locate(5).line == 2);
  CHECK(source.Locate(5).column == 2);
}

}  // namespace
}  // namespace kiln::diagnostic_test
