// YAML as text with positions: what is read, where it stands, and what is refused.
#include "generator/spec/yaml/yaml.h"

#include <algorithm>
#include <string>

#include "tests/catch.h"

namespace kiln::yaml_test {
namespace {

struct Parsed {
  Source source;
  Diagnostics diagnostics;
  std::optional<YamlNode> root;
};

Parsed Parse(const std::string& text) {
  Parsed parsed{Source("a.yaml", text), {}, {}};
  parsed.root = ParseYaml(parsed.source, parsed.diagnostics);
  return parsed;
}

/// "rule line:column message" of each diagnostic.
std::string Messages(const std::string& text) {
  const Parsed parsed = Parse(text);
  std::string out;
  for (const Diagnostic& d : parsed.diagnostics.Sorted()) {
    const LineColumn at = parsed.source.Locate(d.span.begin);
    out += d.rule + " " + std::to_string(at.line) + ":" + std::to_string(at.column) + " " +
           d.message + "\n";
  }
  return out;
}

std::string Dump(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return node.text.value.empty() ? "-" : "null";
    case YamlNode::Kind::kScalar:
      return "'" + node.text.value + "'";
    case YamlNode::Kind::kBad:
      return "bad";
    case YamlNode::Kind::kSequence: {
      std::string out = "[";
      for (const YamlNode& item : node.items) out += (out.size() > 1 ? ", " : "") + Dump(item);
      return out + "]";
    }
    case YamlNode::Kind::kMapping:
      break;
  }
  std::string out = "{";
  for (const YamlEntry& entry : node.entries) {
    out += (out.size() > 1 ? ", " : "") + entry.key.value + ": " + Dump(entry.value);
  }
  return out + "}";
}

/// The tree of text that has nothing wrong with it.
std::string Tree(const std::string& text) {
  const Parsed parsed = Parse(text);
  CHECK(Messages(text) == "");
  return parsed.root ? Dump(*parsed.root) : "nothing";
}

/// What the file holds at the places of the value's bytes; a folded line end gives what is there.
std::string AtOffsets(const Parsed& parsed, const Text& text) {
  std::string out;
  for (size_t i = 0; i < text.value.size(); ++i) {
    out += parsed.source.text().at(text.offsets.at(i));
  }
  return out;
}

/// Every text of the tree has one more offset than bytes, ascending, inside the file.
void CheckOffsets(const YamlNode& node, const std::string& source) {
  const auto check = [&](const Text& text) {
    if (text.offsets.empty()) return;
    CHECK(text.offsets.size() == text.value.size() + 1);
    CHECK(std::is_sorted(text.offsets.begin(), text.offsets.end()));
    CHECK(text.offsets.back() <= source.size());
  };
  check(node.text);
  for (const YamlNode& item : node.items) CheckOffsets(item, source);
  for (const YamlEntry& entry : node.entries) {
    check(entry.key);
    CheckOffsets(entry.value, source);
  }
}

TEST_CASE("keys and values are text, whatever YAML 1.1 made of them") {
  CHECK(Tree("on: off\ny: n\nyes: no\n010: 0x1F\n1.0: 1e3\ntrue: false\n") ==
        "{on: 'off', y: 'n', yes: 'no', 010: '0x1F', 1.0: '1e3', true: 'false'}");
}

TEST_CASE("null is written out or simply not there") {
  CHECK(Tree("a: null\nb: ~\nc:\nd: [null, x, ~]\ne: {f: , g: null}\nh: \"null\"\n") ==
        "{a: null, b: null, c: -, d: [null, 'x', null], e: {f: -, g: null}, h: 'null'}");
  CHECK(Tree("a:\nnulls: 1\n") == "{a: -, nulls: '1'}");
}

TEST_CASE("order and nesting are kept") {
  CHECK(Tree("b: 1\na:\n  d: [x, [y, {z: 1}]]\n  c: 2\n") ==
        "{b: '1', a: {d: ['x', ['y', {z: '1'}]], c: '2'}}");
  CHECK(Tree("a:\n  - x\n  - b: 1\n    c: 2\n  -\n    - y\n") ==
        "{a: ['x', {b: '1', c: '2'}, ['y']]}");
  CHECK(Tree("{a: 1, \"b\": 'x', c: \"d\"}") == "{a: '1', b: 'x', c: 'd'}");
  CHECK(Tree("%YAML 1.2\n---\na: 1\n...\n") == "{a: '1'}");
}

TEST_CASE("the style of a scalar") {
  const Parsed p = Parse("a: x\nb: 'x'\nc: \"x\"\nd: |\n  x\ne: >-\n  x\n");
  REQUIRE(p.root);
  CHECK(p.root->entries[0].value.style == ScalarStyle::kPlain);
  CHECK(p.root->entries[1].value.style == ScalarStyle::kSingleQuoted);
  CHECK(p.root->entries[2].value.style == ScalarStyle::kDoubleQuoted);
  CHECK(p.root->entries[3].value.style == ScalarStyle::kLiteral);
  CHECK(p.root->entries[4].value.style == ScalarStyle::kFolded);
}

TEST_CASE("every byte of a value knows its place") {
  struct Case {
    std::string text, value, at_offsets;
  };
  const Case cases[] = {
      {"a: i * 2  # c\n", "i * 2", "i * 2"},
      {"# é\nké: vü w\n", "vü w", "vü w"},
      {"a: one\n   two\n\n   three\n", "one two\nthree", "one\ntwo\nthree"},
      {"a: 'it''s'\n", "it's", "it's"},
      {"a: \"q\\n\\u00e9\\\"x\"\n", "q\n\u00e9\"x", "q\\\\\\\\x"},
      {"a: \"x\n   y \\\n  z\"\n", "x y z", "x\ny z"},
      {"a: \"x  \\x20y\"\n", "x   y", "x  \\y"},
      {"a: |\n  one\n    two\n\n  three\n", "one\n  two\n\nthree\n", "one\n  two\n\nthree\n"},
      {"a: |2-  # c\n    x\n   y\n", "  x\n y", "  x\n y"},
      {"a: |+\n  x\n\n\nb: 1\n", "x\n\n\n", "x\n\n\n"},
      {"a: >\n  one\n  two\n\n  three\n", "one two\nthree\n", "one\ntwo\nthree\n"},
      {"a: |\r\n  one\r\n  two\r\n", "one\ntwo\n", "one\rtwo\r"},
      {"\xEF\xBB\xBF"
       "a: x\r\n",
       "x", "x"},
      {"a: \"\"\n", "", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Parsed p = Parse(c.text);
    REQUIRE(p.root);
    const Text& text = p.root->entries[0].value.text;
    CHECK(text.value == c.value);
    CHECK(AtOffsets(p, text) == c.at_offsets);
    CheckOffsets(*p.root, c.text);
  }
}

TEST_CASE("spans of quoted text leave the quotes out, spans of nodes do not") {
  const Parsed p = Parse("a: 'xy'\nb: \"z\"");
  REQUIRE(p.root);
  const YamlNode& a = p.root->entries[0].value;
  CHECK(a.text.span().begin == 4);
  CHECK(a.text.span().end == 6);
  CHECK(a.span.begin == 3);
  CHECK(a.span.end == 7);
  CHECK(p.root->entries[1].key.span().begin == 8);
}

TEST_CASE("duplicate keys name the first") {
  const Parsed p = Parse("a: 1\nb: {c: 1, d: 2, c: 3}\na: 2\n");
  REQUIRE(p.root);
  CHECK(Dump(*p.root) == "{a: '1', b: {c: '1', d: '2'}}");
  CHECK(Render(p.diagnostics, p.source) ==
        "a.yaml:2:17: error[key]: the key `c` is given twice\n"
        "   2 | b: {c: 1, d: 2, c: 3}\n"
        "     |                 ^\n"
        "  hint: remove one of the two\n"
        "a.yaml:2:5: note: it is first given here\n"
        "   2 | b: {c: 1, d: 2, c: 3}\n"
        "     |     ^\n"
        "a.yaml:3:1: error[key]: the key `a` is given twice\n"
        "   3 | a: 2\n"
        "     | ^\n"
        "  hint: remove one of the two\n"
        "a.yaml:1:1: note: it is first given here\n"
        "   1 | a: 1\n"
        "     | ^\n");
}

TEST_CASE("anchors, aliases, merges and tags are no part of the language") {
  CHECK(Messages("a: &x 1\n") == "key 1:4 anchors are not part of the spec language\n");
  CHECK(Messages("a: &x 1\nb: *x\n") ==
        "key 1:4 anchors are not part of the spec language\n"
        "key 2:4 aliases are not part of the spec language\n");
  CHECK(Messages("a: *x\n") == "key 1:4 aliases are not part of the spec language\n");
  CHECK(Messages("a: {<<: {b: 1}}\n") ==
        "key 1:5 merges (`<<`) are not part of the spec language\n");
  CHECK(Messages("a: !!str 1\nb: !x {c: 1}\nc: ! d\n!!str d: 1\n") ==
        "key 1:4 tags are not part of the spec language\n"
        "key 2:4 tags are not part of the spec language\n"
        "key 3:4 tags are not part of the spec language\n"
        "key 4:1 tags are not part of the spec language\n");
}

TEST_CASE("a bomb of aliases is a list of errors") {
  std::string bomb = "a: &a [x, x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    const char before = static_cast<char>(c - 1);
    bomb +=
        std::string(1, c) + ": &" + c + " [*" + before + ", *" + before + ", *" + before + "]\n";
  }
  const Parsed p = Parse(bomb);
  REQUIRE(p.root);
  CHECK(p.diagnostics.Sorted().size() == 10 + 9 * 3);
}

TEST_CASE("one document, and it is a mapping") {
  CHECK(Messages("a: 1\n---\nb: 2\n") ==
        "key 2:1 a spec is one YAML document; a second one starts here\n");
  CHECK(Messages("") == "syntax 1:1 the file is empty\n");
  CHECK(Messages("# only\n\n") == "syntax 1:1 the file is empty\n");
  CHECK(Messages("---\n...\n") == "syntax 1:1 the file is empty\n");
  CHECK(Messages("- a\n") == "syntax 1:1 a spec is a mapping of keys to values\n");
  CHECK(Messages("text\n") == "syntax 1:1 a spec is a mapping of keys to values\n");
}

TEST_CASE("keys that are no text") {
  CHECK(Messages("\"\": 1\n") == "key 1:1 a key cannot be empty\n");
  CHECK(Messages("null: 1\n") == "key 1:1 `null` cannot be a key\n");
  CHECK(Messages("a: 1\n: 2\n") == "key 2:1 a key is missing here\n");
  CHECK(Messages("? [a, b]\n: 1\n") == "key 1:3 a key must be text, not a list or a mapping\n");
  CHECK(Messages("{[a]: 1}\n") == "key 1:2 a key must be text, not a list or a mapping\n");
  CHECK(Messages("a: {b, c: 1}\n") == "syntax 1:5 expected a `:` after `b`\n");
  CHECK(Messages("a: {b: \"x, y\", c}\n") == "syntax 1:16 expected a `:` after `c`\n");
  CHECK(Messages("a: {b: [x], c}\n") == "syntax 1:13 expected a `:` after `c`\n");
  CHECK(Messages("a: 1\nb\n") == "syntax 2:1 expected a `:` after `b`\n");
}

TEST_CASE("text that is none") {
  CHECK(Messages(std::string("a: \0b\n", 7)) ==
        "syntax 1:4 the file holds binary data (a NUL byte)\n");
  CHECK(Messages("a: \xC3(\n") == "syntax 1:4 the file is not UTF-8 text\n");
  CHECK(Messages("a: \xED\xA0\x80\n") == "syntax 1:4 the file is not UTF-8 text\n");
  CHECK(Messages("a: \x04 b\n") == "syntax 1:4 a control character (\\x04) cannot be in a spec\n");
  CHECK(Messages("a: 1\rb: 2\r") == "syntax 1:5 a control character (\\x0d) cannot be in a spec\n");
  CHECK(Messages("a: \"x\\0\"\n") ==
        "syntax 1:6 a control character (\\x00) cannot be in a spec\n");
}

TEST_CASE("what yaml-cpp finds, in our words") {
  CHECK(Messages("a: b: c\n") == "syntax 1:5 YAML cannot place this `:`\n");
  CHECK(Messages("a:\n\tb: 1\n") == "syntax 2:1 YAML does not indent with tabs\n");
  CHECK(Messages("a: @b\n") == "syntax 1:4 a plain value cannot start with this character\n");
  CHECK(Messages("a: \"b\\q\"\n") == "syntax 1:6 this is no escape of quoted text\n");
  CHECK(Messages("a: \"b\n") == "syntax 1:4 this quoted text is never closed\n");
  CHECK(Messages("a: 'b") == "syntax 1:4 this quoted text is never closed\n");
  CHECK(Messages("a:\n    b: 1\n  c: 2\n") ==
        "syntax 3:3 this line does not continue the mapping it stands in\n");
  CHECK(Messages("a: [b, c\nd: 1\n") == "syntax 1:4 this bracket is never closed\n");
  // What follows is not about for it.
  CHECK(Messages("a:\n  b: [c, 0\n  d: f32[m, n]\ne: f(x, y)\n") ==
        "syntax 2:6 this bracket is never closed\n");
  CHECK(Messages("a: {\n  b: 1,\n\n  c: 2\n}\nd: {e: 1\n}\n") == "");
  CHECK(Messages("a: [b}\n") == "syntax 1:6 this bracket closes none that is open\n");
}

TEST_CASE("values that YAML splits") {
  constexpr const char* kMessage =
      " YAML ended this value at the comma; quote it, or use block style\n";
  const auto split = [&](const std::string& text, std::vector<std::string> places) {
    CAPTURE(text);
    std::string expected;
    for (const std::string& place : places) expected += "yaml-split " + place + kMessage;
    CHECK(Messages(text) == expected);
  };
  split("a: {steps: cdiv(m, bm)}\n", {"1:12"});
  split("a: {acc: f32[bm, bn]}\n", {"1:10"});
  split("a: {acc: f32[m]}\n", {"1:10"});
  split("a: [ids[t], 0]\n", {"1:5"});
  split("a: [0, ids[t] + 1]\n", {"1:8"});
  split("a: {b: c), d: 1}\n", {"1:8"});
  split("a: {b: (c, d: 1}\n", {"1:8"});
  split("a: {block: bm, bk}\n", {"1:12"});
  split("a: {block: bm, bk, bn, index: i}\n", {"1:12"});
  split("a: {b: {c: f(x, y)}, d: g(x, y), e: 1}\n", {"1:12", "1:25"});
  split("a: {b: f(x, y)}\nc: 1\nd: [g[0]]\n", {"1:8", "3:5"});
  split("a: [f(x,\n  y)]\n", {"1:5", "2:3"});
  split("a: {b: f32[m, n]\n", {"1:8"});  // and not that the bracket is never closed
  CHECK(Messages("a: {b: (c + d) * 2, e: \"f(x, y)\", g: 'h[0]'}\n") == "");
  CHECK(Messages("a: [\"it's, [\", b]  # ), [\n") == "");
  CHECK(Messages("a: {b: 1, # f(x, y)\n  c: random:1}\n") == "");
  // Block style needs no quotes.
  CHECK(Tree("a: cdiv(m, bm)\nb: f32[bm, bn]\nc: ids[t], 0\n") ==
        "{a: 'cdiv(m, bm)', b: 'f32[bm, bn]', c: 'ids[t], 0'}");
}

TEST_CASE("the rest of the file is read past a split value") {
  const Parsed p = Parse("a: {b: f(x, y)}\nc: 1\nc: 2\n");
  REQUIRE(p.root);
  CHECK(Dump(*p.root) == "{a: bad, c: '1'}");
  CHECK(Render(p.diagnostics, p.source) ==
        "a.yaml:1:8: error[yaml-split]: YAML ended this value at the comma; quote it, or use block "
        "style\n"
        "   1 | a: {b: f(x, y)}\n"
        "     |        ^~~~~~~\n"
        "  hint: write \"f(x, y)\"\n"
        "a.yaml:3:1: error[key]: the key `c` is given twice\n"
        "   3 | c: 2\n"
        "     | ^\n"
        "  hint: remove one of the two\n"
        "a.yaml:2:1: note: it is first given here\n"
        "   2 | c: 1\n"
        "     | ^\n");
}

TEST_CASE("limits") {
  SECTION("bytes") {
    CHECK(Messages("a: 1\n" + std::string(kMaxYamlBytes, ' ')) ==
          "syntax 1:1 the file has more than 1048576 bytes, which is the limit\n");
  }
  SECTION("depth") {
    std::string deep = "a: " + std::string(31, '[') + "x" + std::string(31, ']') + "\n";
    CHECK(Messages(deep) == "");
    deep = "a: " + std::string(32, '[') + "x" + std::string(32, ']') + "\n";
    CHECK(Messages(deep) ==
          "syntax 1:35 values are nested more than 32 deep, which is the limit\n");
    CHECK(Messages("a: " + std::string(500000, '[') + "\n") ==
          "syntax 1:4 this bracket is never closed\n");
    std::string dashes = "a:\n";
    for (int i = 0; i < 100000; ++i) dashes += "- ";
    CHECK(Messages(dashes) ==
          "syntax 2:63 values are nested more than 32 deep, which is the limit\n");
  }
  SECTION("nodes") {
    std::string many = "a: [x";
    for (int i = 0; i < kMaxYamlNodes; ++i) many += ",x";
    CHECK(Messages(many + "]\n") ==
          "syntax 1:39999 the file has more than 20000 YAML values, which is the limit\n");
  }
  SECTION("scalars") {
    CHECK(Messages("a: " + std::string(kMaxYamlScalar, 'x') + "\n") == "");
    CHECK(Messages("a: " + std::string(kMaxYamlScalar + 1, 'x') + "\n") ==
          "syntax 1:4 this text has 262145 bytes; the limit is 262144\n");
  }
}

TEST_CASE("hostile brackets take no time to speak of") {
  CHECK(Messages("a: {b: " + std::string(500000, '(')).size() > 0);
  std::string commas = "a: {b: ";
  for (int i = 0; i < 200000; ++i) commas += "(,";
  CHECK(Messages(commas).size() > 0);
}

}  // namespace
}  // namespace kiln::yaml_test
