#include "generator/syntax/trees.h"
#include "tests/catch.h"
#include "tests/syntax/syntax_testing.h"

namespace kiln::parse_body_test {
namespace {

using namespace syntax_testing;

/// The statements as printed, or the whole messages.
std::string Print(const std::string& value) {
  const Text text = TextOf(value);
  Diagnostics diagnostics;
  const std::vector<Stmt> body = ParseBody(text, diagnostics);
  if (!diagnostics.HasErrors()) return ToString(body, 0);
  CHECK(body.empty());
  return Render(diagnostics, Source("b", value));
}

/// "line:column message | hint" of each error, in order.
std::vector<std::string> ErrorsOf(const std::string& value) {
  const Text text = TextOf(value);
  const Source source("b", value);
  Diagnostics diagnostics;
  CHECK(ParseBody(text, diagnostics).empty());
  std::vector<std::string> out;
  for (const Diagnostic& d : diagnostics.Sorted()) {
    CHECK(d.rule.text() == "syntax");
    const LineColumn at = source.Locate(d.span.begin);
    out.push_back(std::to_string(at.line) + ":" + std::to_string(at.column) + " " + d.message +
                  (d.hint.empty() ? "" : " | " + d.hint));
  }
  return out;
}

using Errors = std::vector<std::string>;

TEST_CASE("every statement prints as it is written") {
  const std::string body =
      "let t = x + 1\n"
      "let a, b = x + 1, y\n"
      "var c, d = 0, x if a else y\n"
      "var v = 0\n"
      "var n: i32[bm, bn] = 0\n"
      "var s: f32 = 1.0\n"
      "acc = 0\n"
      "acc += dot(x, y)\n"
      "acc -= 1\n"
      "acc *= 2\n"
      "ref[i, a:b, ds(s, n)] = e\n"
      "ref[...] = e\n"
      "ref[i, a:b][mask] += e\n"
      "when a:\n"
      "  z = 1\n"
      "else when b:\n"
      "  z = 2\n"
      "  when c:\n"
      "    z = 3\n"
      "else:\n"
      "  z = 4\n"
      "for r in range(n):\n"
      "  z[r] = r\n"
      "for r in range(1, n):\n"
      "  assert r < 8, \"a \\\"message\\\" of \\\\ and\\n\"\n"
      "while n > 0 and n < 9:\n"
      "  n -= 1\n"
      "while a < b, most=2 * n:\n"
      "  a += 1\n"
      "copy src[i] -> dst, sem[i]\n"
      "copy src[ds(a, n, most=8)] -> dst[ds(0, n, most=8)], sem[i, j]\n"
      "wait sem\n"
      "wait sem[i, j], dst[ds(0, n, most=8)]\n";
  CHECK(Print(body) == body);
}

TEST_CASE("several names get a value each, also under one condition") {
  CHECK(Print("let a, b = (x, y)") == "let a, b = x, y\n");
  CHECK(Print("let a, b = f(x, 2)") == "let a, b = f(x, 2)\n");
  CHECK(Print("let a, b = (x, y) if c else (u, v)") == "let a, b = x if c else u, y if c else v\n");
  CHECK(Print("var a, b = (x, y) if c else (u, v) if d else (s, t)") ==
        "var a, b = x if c else u if d else s, y if c else v if d else t\n");
}

TEST_CASE("layout is free within Python's rules") {
  CHECK(Print("\n\n# head\nwhen a:   # why\n\n     # deep\n  x = 1\n# shallow\n  y = (1 +\n2)\n\nz "
              "= 3") == "when a:\n  x = 1\n  y = 1 + 2\nz = 3\n");
  CHECK(Print("when a: x = 1\nelse when b: x = 2\nelse: x = 3\nfor r in range(2): x = r") ==
        "when a:\n  x = 1\nelse when b:\n  x = 2\nelse:\n  x = 3\nfor r in range(2):\n  x = r\n");
  // The whole text may be indented, and blocks by different widths.
  CHECK(Print("    when a:\n     when b:\n            x = 1\n    y = 2\n") ==
        "when a:\n  when b:\n    x = 1\ny = 2\n");
  CHECK(Print("when a:\r\n  x = 1\r\n\r\ny = 2\r\n") == "when a:\n  x = 1\ny = 2\n");
  CHECK(Print("x = f(a,   # one\n      b)  # two\n") == "x = f(a, b)\n");
  CHECK(Print("x = 1   \n   \n") == "x = 1\n");
  CHECK(Print("") == "");
  CHECK(Print("# nothing\n\n") == "");
  // A comment may hold anything.
  CHECK(Print("x = 1  # ≤ \t \x01 ( [\n") == "x = 1\n");
}

TEST_CASE("an `else when` is a `when` in the `else`") {
  const std::string chain = "when a:\n  x = 1\nelse when b:\n  x = 2\n";
  CHECK(Print("when a:\n  x = 1\nelse:\n  when b:\n    x = 2\n") == chain);
  CHECK(Print(chain) == chain);
  // With more than the `when` in it, it is not.
  const std::string two = "when a:\n  x = 1\nelse:\n  when b:\n    x = 2\n  y = 3\n";
  CHECK(Print(two) == two);
}

TEST_CASE("an `else` belongs to the `when` in its column") {
  const std::string inner = "when a:\n  when b:\n    x = 1\n  else:\n    x = 2\n";
  const std::string outer = "when a:\n  when b:\n    x = 1\nelse:\n  x = 2\n";
  CHECK(Print(inner) == inner);
  CHECK(Print(outer) == outer);
}

TEST_CASE("a statement's span is its first line") {
  const std::string value =
      "when a < b:  # c\n  x = f(1,\n    2)\nelse:\n  y = 2\nfor r in range(3): z = r\n";
  const Text text = TextOf(value);
  Diagnostics diagnostics;
  const std::vector<Stmt> body = ParseBody(text, diagnostics);
  REQUIRE(body.size() == 2);
  const auto cut = [&](Span span) { return value.substr(span.begin, span.end - span.begin); };
  CHECK(cut(body[0].span) == "when a < b:");
  CHECK(cut(body[0].body[0].span) == "x = f(1,\n    2)");
  CHECK(cut(body[0].orelse[0].span) == "y = 2");
  CHECK(cut(body[1].span) == "for r in range(3):");
  CHECK(cut(body[1].body[0].span) == "z = r");
  CHECK(cut(body[1].name.span) == "r");
}

TEST_CASE("whole messages") {
  CHECK(Print("acc = 0\nacc += dot(x, y\nz = acc\n") ==
        "b:2:11: error[syntax]: `(` is never closed\n"
        "   2 | acc += dot(x, y\n"
        "     |           ^\n");
  CHECK(Print("acc += dot(x, y\nz = f(a))\n") ==
        "b:1:11: error[syntax]: `(` is not closed where its line ends\n"
        "   1 | acc += dot(x, y\n"
        "     |           ^\n"
        "b:2:1: note: read as the continuation of that line\n"
        "   2 | z = f(a))\n"
        "     | ^\n");
  CHECK(Print("if first(l):\n  acc = 0\n") ==
        "b:1:1: error[syntax]: there is no `if` statement\n"
        "   1 | if first(l):\n"
        "     | ^~\n"
        "  hint: write `when c:`\n");
}

TEST_CASE("several errors of one body are all reported, each once") {
  CHECK(ErrorsOf("let t = x *\n"
                 "o = x @ x\n"
                 "if i == 0:\n"
                 "  o = 1\n"
                 "  o = = 2\n"
                 "elif j:\n"
                 "  o = 3\n"
                 "else:\n"
                 "  o = 4\n"
                 "fine = 1\n"
                 "o += = 2\n") ==
        Errors{"1:12 expected an expression, found the end of the line",
               "2:7 expected the end of the line, found `@` | write `dot(a, b)`",
               "3:1 there is no `if` statement | write `when c:`",
               "5:7 expected an expression, found `=` | `=` stores a value in a statement of its "
               "own; `==` compares",
               "6:1 there is no `elif` statement | write `else when c:`",
               "11:6 expected an expression, found `=` | `=` stores a value in a statement of its "
               "own; `==` compares"});
}

TEST_CASE("a broken head still has its block read, and its `else` accepted") {
  CHECK(ErrorsOf("when x = 1:\n  y = )\nelse:\n  z = 1\nw = 1\n") ==
        Errors{"1:8 expected `:`, found `=` | `=` stores a value in a statement of its own; `==` "
               "compares",
               "2:7 `)` closes nothing"});
  CHECK(ErrorsOf("when x\n  y = 1\nelse when y:\n  z = 1\nelse:\n  z = 2\n") ==
        Errors{"1:7 expected `:`, found the end of the line"});
  CHECK(ErrorsOf("when f(x:\n  y = 1\nelse:\n  z = 1\n") == Errors{"1:7 `(` is never closed"});
  CHECK(ErrorsOf("when a:\n  y = 1\nelse b:\n  z = 1\nelse:\n  z = 2\n") ==
        Errors{"3:6 expected `:`, found `b`"});
}

TEST_CASE("statements of other languages") {
  CHECK(ErrorsOf("when a:\n  pass\n") ==
        Errors{"2:3 there is no `pass` statement | leave an empty block out"});
  CHECK(ErrorsOf("print(x)\n") ==
        Errors{"1:1 there is no `print` statement | store the value in an output, or state it: "
               "`assert c, \"message\"`"});
  CHECK(ErrorsOf("@pl.when(a)\nx = 1\n") ==
        Errors{"1:1 there are no decorators | `@pl.when(c)` is written `when c:`"});
  CHECK(ErrorsOf("when a: x = 1\nelse if b: x = 2\n") ==
        Errors{"2:6 there is no `else if` | write `else when c:`"});
  CHECK(ErrorsOf("x = 1 \\\n  + 2\n") ==
        Errors{"1:7 `\\` has no meaning here | lines continue inside brackets, without a "
               "backslash"});
  CHECK(ErrorsOf("x = 1; y = 2") ==
        Errors{"1:6 expected the end of the line, found `;` | one statement a line"});
  // As names they are as good as others.
  CHECK(Print("print = 1\npass[0] = 2\nx = print\n") == "print = 1\npass[0] = 2\nx = print\n");
}

TEST_CASE("stores of other languages") {
  CHECK(ErrorsOf("z /= b\n") == Errors{"1:3 there is no `/=`, only += -= *= | write z = z / ..."});
  CHECK(ErrorsOf("z[i] //= b") ==
        Errors{"1:6 there is no `//=`, only += -= *= | write z[i] = z[i] // ..."});
  CHECK(ErrorsOf("z @= b") ==
        Errors{"1:3 there is no `@=`, only += -= *= | write z = dot(z, ...)"});
  CHECK(ErrorsOf("z + = b") ==
        Errors{"1:5 expected an expression, found `=` | write `+=` without a space"});
  CHECK(ErrorsOf("x = y = 1") ==
        Errors{"1:7 a statement stores once | write the second store on its own line"});
  CHECK(ErrorsOf("a, b = f(x)") == Errors{"1:2 a statement stores to one target"});
  CHECK(ErrorsOf("(a, b) = f(x)").size() == 1);
  CHECK(ErrorsOf("f(x) = 1") ==
        Errors{"1:1 the target of a store must be a name or a subscript of one"});
  CHECK(ErrorsOf("x.T = 1") ==
        Errors{"1:1 the target of a store must be a name or a subscript of one"});
  CHECK(ErrorsOf("x[0][1, 2] = 1") ==
        Errors{"1:1 the target of a store must be a name or a subscript of one | write one "
               "subscript: ref[i, j]"});
  CHECK(ErrorsOf("x: f32 = 1") ==
        Errors{"1:2 a `:` where no block begins | a typed variable is written `var n: i32[8] = "
               "0`"});
  CHECK(ErrorsOf("copy = 1") ==
        Errors{"1:1 `copy` begins a statement and cannot be stored to | give it another name"});
}

TEST_CASE("values that nobody uses") {
  CHECK(ErrorsOf("dot(x, y)") == Errors{"1:1 this value is not used | store it, `ref = ...`, or "
                                        "name it with `let`"});
  CHECK(ErrorsOf("acc == 0") == Errors{"1:1 this value is not used | `=` stores, `==` compares"});
}

TEST_CASE("let and var") {
  const std::string values =
      " | write a value for each, `a, b`, or under a condition `(a, b) if c else (d, e)`";
  CHECK(ErrorsOf("let a, b = x") == Errors{"1:12 2 names for one value" + values});
  CHECK(ErrorsOf("let a, b = x, y, z") == Errors{"1:12 2 names for 3 values" + values});
  CHECK(ErrorsOf("let a, b = (x, y) if c else z") == Errors{"1:12 2 names for one value" + values});
  CHECK(ErrorsOf("let a, 3 = x, y") == Errors{"1:8 expected the name of a value, found `3`"});
  CHECK(ErrorsOf("var a, b: f32 = x, y") ==
        Errors{"1:9 a `var` of several names takes no type | write a line for each, or cast the "
               "values: `var a, b = f32(x), f32(y)`"});
  CHECK(ErrorsOf("let a: f32 = 1") ==
        Errors{"1:6 a `let` takes no type | cast its value: `let t = f32(x)`"});
  CHECK(ErrorsOf("let inf = 1") == Errors{"1:5 `inf` is a literal, not a name"});
  CHECK(ErrorsOf("let 3 = 1") == Errors{"1:5 expected the name of a value, found `3`"});
  CHECK(ErrorsOf("let not = 1") == Errors{"1:5 expected the name of a value, found `not`"});
  CHECK(ErrorsOf("let a += 1") == Errors{"1:7 expected `=`, found `+=` | only a statement of its "
                                         "own can update a value"});
  CHECK(ErrorsOf("var a") == Errors{"1:5 a `var` without its first value | write `= 0` or another "
                                    "value"});
  CHECK(ErrorsOf("var a: i32[8]") == Errors{"1:5 a `var` without its first value | write `= 0` or "
                                            "another value"});
  CHECK(ErrorsOf("var a: 3 = 0") == Errors{"1:8 expected a dtype, as in f32[8, 128], found `3`"});
}

TEST_CASE("loops") {
  CHECK(ErrorsOf("for i, j in range(3):\n  x = 1") ==
        Errors{"1:6 expected `in range(...)`, found `,`"});
  CHECK(ErrorsOf("for i in x:\n  x = 1") == Errors{"1:10 loops run over `range(a, b)`"});
  CHECK(ErrorsOf("for i in range():\n  x = 1") == Errors{"1:10 `range` without a bound"});
  CHECK(ErrorsOf("for i in range(0, 8, 2):\n  x = 1") ==
        Errors{"1:22 `range` has no stride | multiply the loop's variable"});
  CHECK(ErrorsOf("while a, 3:\n  x = 1") == Errors{"1:10 expected `most=`, found `3`"});
  CHECK(ErrorsOf("while a, most 3:\n  x = 1") == Errors{"1:15 expected `=`, found `3`"});
  CHECK(ErrorsOf("while:\n  x = 1") == Errors{"1:6 expected an expression, found `:`"});
  CHECK(ErrorsOf("for i in range(3) + 1:\n  x = 1") == Errors{"1:19 expected `:`, found `+`"});
}

TEST_CASE("assert, copy and wait") {
  CHECK(ErrorsOf("assert a") == Errors{"1:1 an `assert` without its message | write `assert c, "
                                       "\"what must hold\"`"});
  CHECK(ErrorsOf("assert a, b") == Errors{"1:11 expected `, \"message\"`, found `b`"});
  CHECK(ErrorsOf("assert (a, \"b\")").size() == 1);
  CHECK(ErrorsOf("assert a, \"b") == Errors{"1:11 a string without its closing quote"});
  CHECK(ErrorsOf("assert a, \"\\x41\"") ==
        Errors{"1:11 an unknown escape in a string | only \\\\ \\\" \\' and \\n"});
  CHECK(ErrorsOf("assert a, \"≤\"") ==
        Errors{"1:12 a string holds `≤` (U+2264) | messages are printable ASCII"});
  CHECK(Print("assert a, 'it\\'s'") == "assert a, \"it's\"\n");
  CHECK(ErrorsOf("copy a b, sem") == Errors{"1:8 expected `->`, found `b`"});
  CHECK(ErrorsOf("copy a -> b") ==
        Errors{"1:12 expected `,` and the copy's semaphore, found the end of the line"});
  CHECK(ErrorsOf("copy a + 1 -> b, sem") ==
        Errors{"1:6 the source of a copy must be a name or a subscript of one"});
  CHECK(ErrorsOf("wait 3") == Errors{"1:6 a semaphore must be a name or a subscript of one"});
}

TEST_CASE("layout that Python would refuse too") {
  CHECK(ErrorsOf("x = 1\n  y = 2\n  z = 3\nw = 4\n") ==
        Errors{"2:3 this line is indented, but begins no block"});
  CHECK(ErrorsOf("when a:\n    x = 1\n  y = 2\n  z = 3\nw = 4\n") ==
        Errors{"3:3 the indentation matches no line above | the lines of one block start in the "
               "same column"});
  CHECK(ErrorsOf("  x = 1\n y = 2\n z = 3\n") ==
        Errors{"2:2 the indentation matches no line above | the lines of one block start in the "
               "same column"});
  CHECK(ErrorsOf("when a:\nx = 1\n") ==
        Errors{"1:1 an empty block | indent the lines that belong to it"});
  CHECK(ErrorsOf("when a:\n  # only this\nelse:\n  x = 1\n") ==
        Errors{"1:1 an empty block | indent the lines that belong to it"});
  CHECK(ErrorsOf("when a:") == Errors{"1:1 an empty block | indent the lines that belong to it"});
  CHECK(ErrorsOf("when a: when b: x = 1") == Errors{"1:9 `when` must start a line of its own"});
  CHECK(ErrorsOf("when a: x = 1\n  y = 2\n") ==
        Errors{"2:3 this line is indented, but begins no block"});
  CHECK(ErrorsOf("x = 1\nelse:\n  y = 2\n") ==
        Errors{"2:1 an `else` without a `when` before it | `else` stands in the column of its "
               "`when`"});
}

TEST_CASE("tabs are reported once a line, and nothing else of them") {
  CHECK(ErrorsOf("when a:\n\tx = 1\n\ty = 2\nz = 3\n") ==
        Errors{"2:1 a tab where only spaces can stand", "3:1 a tab where only spaces can stand"});
  CHECK(ErrorsOf("when a:\n  x = 1\n  \ty = 2\nz = 3\n") ==
        Errors{"3:3 a tab where only spaces can stand"});
  CHECK(ErrorsOf("x\t=\t1") == Errors{"1:2 a tab where only spaces can stand"});
}

TEST_CASE("lines that YAML has joined") {
  CHECK(ErrorsOf("acc = 0 acc += 1") ==
        Errors{"1:9 expected the end of the line, found `acc` | one statement a line; YAML keeps "
               "lines apart after `body: |`"});
}

TEST_CASE("one unclosed bracket does not hide the rest") {
  CHECK(ErrorsOf("x = f(\ny = 1 +\nz = [\nw = 2\n") ==
        Errors{"1:6 `(` is never closed", "2:8 expected an expression, found the end of the line",
               "3:5 `[` is never closed"});
  CHECK(ErrorsOf("x = f(\"a)\ny = 2\n") == Errors{"1:7 a string without its closing quote"});
}

TEST_CASE("neither depth nor length of a body ends the program") {
  constexpr size_t kBytes = 60000;
  std::string nested, chain = "when a: x = 1\n", flat, broken;
  for (size_t i = 0; nested.size() < kBytes; ++i) nested += std::string(i, ' ') + "when a:\n";
  while (chain.size() < kBytes) chain += "else when a: x = 1\n";
  while (flat.size() < kBytes) flat += "x = 1\n";
  while (broken.size() < kBytes) broken += "(\n";
  CHECK(ErrorsOf(nested) == Errors{"66:66 blocks nested more than 64 levels deep"});
  CHECK(ErrorsOf(chain) == Errors{"66:1 more than 64 `else when` in a row"});
  CHECK(Print(flat) == flat);
  CHECK(ErrorsOf(broken).size() == kBytes / 2);
  CHECK(ErrorsOf(std::string(kBytes, '(')).size() == 1);
  CHECK(ErrorsOf("x = " + std::string(kBytes, '(') + std::string(kBytes, ')')).size() == 1);
  CHECK(ErrorsOf(std::string(kBytes, '\t') + "x").size() == 1);
  CHECK(ErrorsOf(std::string(kBytes, '$')).size() == 1);
}

}  // namespace
}  // namespace kiln::parse_body_test
