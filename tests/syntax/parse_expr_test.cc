#include <cmath>
#include <limits>

#include "generator/syntax/trees.h"
#include "tests/catch.h"
#include "tests/syntax/syntax_testing.h"

namespace kiln::parse_expr_test {
namespace {

using namespace syntax_testing;

struct Parsed {
  ExprPtr expr;
  std::string errors;
};

Parsed Parse(const std::string& value) {
  const Text text = TextOf(value);
  Diagnostics diagnostics;
  Parsed out;
  out.expr = ParseExpr(text, diagnostics);
  out.errors = Render(diagnostics, Source("e", value));
  // Null exactly when something was said.
  REQUIRE((out.expr == nullptr) == diagnostics.HasErrors());
  return out;
}

/// The one spelling of `value`, or the errors.
std::string Print(const std::string& value) {
  const Parsed parsed = Parse(value);
  return parsed.expr ? ToString(*parsed.expr) : parsed.errors;
}

/// The message and hint of the only error.
std::string ErrorOf(const std::string& value) {
  const Text text = TextOf(value);
  Diagnostics diagnostics;
  REQUIRE(ParseExpr(text, diagnostics) == nullptr);
  const std::vector<Diagnostic> found = diagnostics.Sorted();
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule.text() == "syntax");
  return found[0].message + (found[0].hint.empty() ? "" : " | " + found[0].hint);
}

bool Same(const std::string& a, const std::string& b) {
  const Parsed x = Parse(a), y = Parse(b);
  return x.expr && y.expr && Dump(x.expr) == Dump(y.expr);
}

TEST_CASE("operators bind as in Python") {
  CHECK(Same("a or b and not c == d", "a or (b and (not (c == d)))"));
  CHECK(Same("a | b ^ c & d << e + f * g", "a | (b ^ (c & (d << (e + (f * g)))))"));
  CHECK(Same("a - b - c", "(a - b) - c"));
  CHECK(Same("a // b % c / d", "((a // b) % c) / d"));
  CHECK(Same("a ** b ** c", "a ** (b ** c)"));
  CHECK(Same("-a ** b", "-(a ** b)"));
  CHECK(Same("a ** -b ** c", "a ** (-(b ** c))"));
  CHECK(Same("-a * b", "(-a) * b"));
  CHECK(Same("~a + -b", "(~a) + (-b)"));
  CHECK(Same("-x.T[0]", "-((x.T)[0])"));
  CHECK(Same("a if b else c if d else e", "a if b else (c if d else e)"));
  CHECK(Same("a or b if c or d else e or f", "(a or b) if (c or d) else (e or f)"));
  CHECK(Same("not not a", "not (not a)"));
  CHECK(Same("a >> b << c", "(a >> b) << c"));
}

TEST_CASE("comparisons chain, and parentheses break the chain") {
  const Parsed chain = Parse("0 <= a < b != c");
  REQUIRE(chain.expr);
  CHECK(chain.expr->kind == Expr::Kind::kCompare);
  CHECK(chain.expr->ops == std::vector<std::string>{"<=", "<", "!="});
  CHECK(chain.expr->args.size() == 4);
  CHECK_FALSE(Same("a < b < c", "(a < b) < c"));
  CHECK(Print("(a < b) < c") == "(a < b) < c");
}

TEST_CASE("literals") {
  const auto number = [](const char* text) { return Parse(text).expr->float_value; };
  CHECK(Parse("9223372036854775807").expr->int_value == std::numeric_limits<int64_t>::max());
  CHECK(Parse("0x7fFFffffFFFFffff").expr->int_value == std::numeric_limits<int64_t>::max());
  CHECK(Parse("0").expr->kind == Expr::Kind::kInt);
  CHECK(Parse("0x1F").expr->int_value == 31);
  CHECK(number("1.5") == 1.5);
  CHECK(number("1e-3") == 1e-3);
  CHECK(number("1E+3") == 1e3);
  CHECK(number(".5") == 0.5);
  CHECK(number("1.") == 1);
  CHECK(number("0.1") == 0.1);
  CHECK(number("5e-324") == 5e-324);
  CHECK(number("inf") == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(number("nan")));
  CHECK(Parse("true").expr->kind == Expr::Kind::kBool);
  CHECK(Parse("true").expr->int_value == 1);
  CHECK(Parse("false").expr->int_value == 0);
}

TEST_CASE("calls, subscripts and attributes") {
  const ExprPtr call = Parse("sum(x, axis=[0, 1], keep=true)").expr;
  REQUIRE(call);
  CHECK(call->name == "sum");
  CHECK(call->args.size() == 1);
  REQUIRE(call->keywords.size() == 2);
  CHECK(call->keywords[0].name.name == "axis");
  CHECK(call->keywords[0].value->kind == Expr::Kind::kList);
  CHECK(Print("f()") == "f()");
  CHECK(Print("concat([a,b,],axis=1,)") == "concat([a, b], axis=1)");
  CHECK(Print("broadcast(x, [])") == "broadcast(x, [])");
  CHECK(Print("x [ ... , : , a: , :b , a:b , ds(s,4) , ]") == "x[..., :, a:, :b, a:b, ds(s, 4)]");
  CHECK(Print("x[a if b else c:d]") == "x[a if b else c:d]");
  CHECK(Print("x.T.mT[0][1]") == "x.T.mT[0][1]");
  CHECK(Print("copy + let + when + for + wait") == "copy + let + when + for + wait");
  // A halo is written as Pallas writes it, and read as the list it is.
  CHECK(Print("element(18, halo=(1, 1))") == "element(18, halo=[1, 1])");
  CHECK(Print("f(x, axis=(1))") == "f(x, axis=1)");
  CHECK(Print("f(x, axis=(1,))") == "f(x, axis=[1])");
  CHECK(Print("f(x, n=(a + b) * c)") == "f(x, n=(a + b) * c)");
}

TEST_CASE("a slice's open ends are null") {
  const ExprPtr expr = Parse("x[:, a:, :b]").expr;
  REQUIRE(expr);
  REQUIRE(expr->args.size() == 4);
  CHECK(expr->args[1]->args == std::vector<ExprPtr>{nullptr, nullptr, nullptr});
  CHECK(expr->args[2]->args[1] == nullptr);
  CHECK(expr->args[3]->args[0] == nullptr);
}

TEST_CASE("line ends and comments are space inside a value") {
  CHECK(Print("a +  # the first\n  b\r\n * c") == "a + b * c");
}

TEST_CASE("spans cover the text they were read from") {
  const std::string text = "ab + (f(x, k=1)[i, :] if c < d else (e)).T";
  const ExprPtr expr = Parse(text).expr;
  REQUIRE(expr);
  const auto cut = [&](Span span) { return text.substr(span.begin, span.end - span.begin); };
  CHECK(cut(expr->span) == text);
  CHECK(cut(expr->name_span) == "+");
  CHECK(cut(expr->args[0]->span) == "ab");
  const ExprPtr attribute = expr->args[1];
  CHECK(cut(attribute->span) == text.substr(5));
  CHECK(cut(attribute->name_span) == "T");
  const ExprPtr choice = attribute->args[0];
  CHECK(cut(choice->span) == "(f(x, k=1)[i, :] if c < d else (e))");
  CHECK(cut(choice->args[0]->span) == "f(x, k=1)[i, :]");
  CHECK(cut(choice->args[0]->args[0]->name_span) == "f");
  CHECK(cut(choice->args[0]->args[2]->span) == ":");
  CHECK(cut(choice->args[1]->span) == "c < d");
  CHECK(cut(choice->args[2]->span) == "(e)");
}

TEST_CASE("places point into the file through a text's own offsets") {
  // The value `i +` of `index: "i +"  # map`.
  const Source source("a.yaml", "index: \"i +\"  # map\n");
  Text text;
  text.value = "i +";
  text.offsets = {8, 9, 10, 11};
  Diagnostics diagnostics;
  CHECK(ParseExpr(text, diagnostics) == nullptr);
  CHECK(Render(diagnostics, source) ==
        "a.yaml:1:12: error[syntax]: expected an expression, found the end\n"
        "   1 | index: \"i +\"  # map\n"
        "     |            ^\n");
}

TEST_CASE("a text without offsets is no danger") {
  Diagnostics diagnostics;
  CHECK(ParseExpr(Text{}, diagnostics) == nullptr);
  CHECK(diagnostics.HasErrors());
}

TEST_CASE("bitwise operators beside a comparison want parentheses") {
  CHECK(Parse("a < b & c < d").errors ==
        "e:1:7: error[syntax]: `&` binds tighter than `<`\n"
        "   1 | a < b & c < d\n"
        "     |       ^\n"
        "  hint: write (a < b) & (c < d)\n");
  CHECK(ErrorOf("a < b | c == d | e > f") ==
        "`|` binds tighter than `<` | write (a < b) | (c == d) | (e > f)");
  CHECK(ErrorOf("a < b & c < d ^ e < f") ==
        "`&` binds tighter than `<` | write (a < b) & (c < d) ^ (e < f)");
  CHECK(ErrorOf("x & 1 == 0") ==
        "`&` binds tighter than `==` | write (x & 1) == 0 or x & (1 == 0)");
  CHECK(ErrorOf("0 == x & 1") ==
        "`&` binds tighter than `==` | write 0 == (x & 1) or (0 == x) & 1");
  CHECK(ErrorOf("a & b & c == 0") ==
        "`&` binds tighter than `==` | write each comparison in parentheses");
  CHECK(Print("(x & 1) == 0") == "(x & 1) == 0");
  CHECK(Print("((a < b)) & (c < d)") == "(a < b) & (c < d)");
  CHECK(Print("a << 1 < b") == "a << 1 < b");
}

TEST_CASE("habits of other languages") {
  CHECK(ErrorOf("a && b") ==
        "expected an operator or the end, found `&&` | write `and` for "
        "scalars, `&` for tiles: (a < b) & (c < d)");
  CHECK(ErrorOf("a || b") ==
        "expected an operator or the end, found `||` | write `or` for "
        "scalars, `|` for tiles: (a < b) | (c < d)");
  CHECK(ErrorOf("!a") ==
        "expected an expression, found `!` | write `not` for a scalar, `~` for a "
        "mask");
  CHECK(ErrorOf("a = b") ==
        "expected an operator or the end, found `=` | `=` stores a value in a "
        "statement of its own; `==` compares");
  CHECK(ErrorOf("x @ y") == "expected an operator or the end, found `@` | write `dot(a, b)`");
  CHECK(ErrorOf("c ? a : b") ==
        "expected an operator or the end, found `?` | write `a if c else b`");
  CHECK(ErrorOf("a is b") == "expected an operator or the end, found `is` | write `==`");
  CHECK(ErrorOf("True") == "expected an expression, found `True` | write `true`");
  CHECK(ErrorOf("x[None]") ==
        "expected an expression, found `None` | there is no None; x[:, None] is `expand(x, 1)`, "
        "x[None, :] is `expand(x, 0)`");
  CHECK(ErrorOf("lambda x: x") ==
        "expected an expression, found `lambda` | there are no functions "
        "to define; name a value with `let`");
  CHECK(ErrorOf("f([x for x in y])") ==
        "expected `,` or `]`, found `for` | there are no "
        "comprehensions; a loop is `for r in range(n):`");
  CHECK(ErrorOf("(a, b)") ==
        "a tuple in parentheses | index maps and subscripts take a, b; "
        "functions take lists: [a, b]");
  CHECK(ErrorOf("x[0:8:]") == "expected an expression, found `]`");
  CHECK(ErrorOf("x.sum(1)") == "there are no methods and no modules | write sum(x, axis=1)");
  CHECK(ErrorOf("s.max(axis=-1, keepdims=True)") ==
        "there are no methods and no modules | write max(s, axis=-1, keep=true)");
  CHECK(ErrorOf("x.reshape(8, n // 2)") ==
        "there are no methods and no modules | write reshape(x, [8, n // 2])");
  CHECK(ErrorOf("x.transpose((1, 0))") ==
        "there are no methods and no modules | write transpose(x, [1, 0])");
  CHECK(ErrorOf("tl.where(c, x, 0)") ==
        "there are no methods and no modules | write where(c, x, 0)");
  CHECK(ErrorOf("x.mean()") == "there are no methods and no modules | write mean(x)");
  CHECK(ErrorOf("x.roll(1, (2))") == "there are no methods and no modules | write roll(x, 1, (2))");
  CHECK(ErrorOf("x.astype(bf16)") ==
        "there are no methods and no modules | a dtype is called like a function: bf16(x)");
  CHECK(ErrorOf("pl.program_id(0)") ==
        "there are no methods and no modules | the name of an axis is its step: i, of `grid: {i: "
        "…}`");
  CHECK(ErrorOf("jnp.exp(x)") == "there are no methods and no modules | write exp(x)");
  CHECK(ErrorOf("jax.nn.silu(x)") == "there are no methods and no modules | write silu(x)");
  CHECK(ErrorOf("'text'") ==
        "expected an expression, found a string | a string can only be the "
        "message of an `assert`");
  CHECK(ErrorOf("{a: b}") ==
        "expected an expression, found `{` | there are no braces; blocks are "
        "indented, lists are written [a, b]");
}

TEST_CASE("expressions that stop short or go on") {
  CHECK(ErrorOf("") == "expected an expression, found the end");
  CHECK(ErrorOf("a +") == "expected an expression, found the end");
  CHECK(ErrorOf("a b") == "expected an operator or the end, found `b`");
  CHECK(ErrorOf("a if b") == "expected `else` of `a if c else b`, found the end");
  CHECK(ErrorOf("a == not b") ==
        "`not` binds looser than the operator before it | write (not ...) in parentheses");
  CHECK(ErrorOf("f(a b)") == "expected `,` or `)`, found `b`");
  CHECK(ErrorOf("f(a=1, 2)") == "a positional argument after `a=`");
  CHECK(ErrorOf("f(a=1, a=2)") == "the argument `a` is given twice");
  CHECK(ErrorOf("f(axis=)") == "expected an expression, found `)`");
  CHECK(ErrorOf("f(, a)") == "expected an expression, found `,`");
  CHECK(ErrorOf("f(x)(y)") == "only a function's name can be called");
  CHECK(ErrorOf("x[]") == "an empty subscript");
  CHECK(ErrorOf("()") == "nothing between the parentheses");
  CHECK(ErrorOf("[a, b]") == "a list can only be an argument of a function");
  CHECK(ErrorOf("f([[a]])") == "a list can only be an argument of a function");
  CHECK(ErrorOf("f((a, b))") ==
        "a tuple in parentheses | index maps and subscripts take a, b; "
        "functions take lists: [a, b]");
  CHECK(ErrorOf("f(k=(a, b) + 1)") == "expected `,` or `)`, found `+`");
  CHECK(ErrorOf("f(k=((a, b)))").substr(0, 22) == "a tuple in parentheses");
  CHECK(ErrorOf("...") == "`...` can only stand in a subscript");
  CHECK(ErrorOf("x.") == "expected `T` or `mT` after the dot, found the end");
  CHECK(ErrorOf("a: b") == "expected an operator or the end, found `:`");
  CHECK(ErrorOf("else") == "expected an expression, found `else`");
  CHECK(ErrorOf(std::string(100, 'x') + " " + std::string(100, 'y')) ==
        "expected an operator or the end, found `" + std::string(60, 'y') + "…`");
}

TEST_CASE("brackets point at where they were opened") {
  CHECK(Parse("f(a, [b)").errors ==
        "e:1:8: error[syntax]: `)` does not match `[`\n"
        "   1 | f(a, [b)\n"
        "     |        ^\n"
        "e:1:6: note: opened here\n"
        "   1 | f(a, [b)\n"
        "     |      ^\n");
  CHECK(Parse("f(a, g(b)").errors ==
        "e:1:2: error[syntax]: `(` is never closed\n"
        "   1 | f(a, g(b)\n"
        "     |  ^\n");
  CHECK(ErrorOf("a) + b") == "`)` closes nothing");
}

TEST_CASE("numbers that are none") {
  CHECK(ErrorOf("010") == "a number with a leading zero | octal is not written here; drop the 0");
  CHECK(ErrorOf("1_000") == "`_000` directly after a number | digits are not grouped");
  CHECK(ErrorOf("1.0f") ==
        "`f` directly after a number | a type is a cast, `f32(1)`; a product needs `*`");
  CHECK(ErrorOf("0b11") == "`b11` directly after a number | numbers are decimal or 0x…");
  CHECK(ErrorOf("0x") == "not a hexadecimal number");
  CHECK(ErrorOf("0x1G") == "not a hexadecimal number");
  CHECK(ErrorOf("0x-1") == "not a hexadecimal number");
  CHECK(ErrorOf("9223372036854775808") == "the number does not fit in 64 bits");
  CHECK(ErrorOf("0x8000000000000000") == "the number does not fit in 64 bits");
  CHECK(ErrorOf("1e999") ==
        "the number is out of f64's range | write `inf` or `0.0` if that is meant");
  CHECK(ErrorOf("1.2.3") == "expected an operator or the end, found `.3`");
}

TEST_CASE("characters without a meaning are shown, not sent to the terminal") {
  CHECK(ErrorOf("a \x01 b") == "the byte 0x01 has no meaning here");
  CHECK(ErrorOf(std::string("a \0 b", 5)) == "the byte 0x00 has no meaning here");
  CHECK(ErrorOf("a \xFF b") == "the byte 0xff has no meaning here");
  CHECK(ErrorOf("a \x7F b") == "the byte 0x7f has no meaning here");
  CHECK(ErrorOf("a $ b") == "`$` has no meaning here");
  CHECK(ErrorOf("a ≤ b") == "`≤` (U+2264) has no meaning here | write `<=`");
  CHECK(ErrorOf("a − b") == "`−` (U+2212) has no meaning here | write `-`");
  CHECK(ErrorOf("a\u00A0+ b") == "`\u00A0` (U+00A0) has no meaning here | write a plain space");
  CHECK(ErrorOf("a \u202E b") == "`\\u{202e}` (U+202E) has no meaning here");
  CHECK(ErrorOf("a\t+ b") == "a tab where only spaces can stand");
}

TEST_CASE("neither depth nor length of an expression ends the program") {
  constexpr size_t kMany = 20000;
  const auto repeat = [](const std::string& part, size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += part;
    return out;
  };
  CHECK(Print(repeat("(", 63) + "a" + repeat(")", 63)) == "a");
  const std::string deep = "nested more than 64 levels deep | name a part of it with `let`";
  CHECK(ErrorOf(repeat("(", 64) + "a" + repeat(")", 64)) == deep);
  CHECK(ErrorOf(repeat("(", kMany) + repeat(")", kMany)) == deep);
  CHECK(ErrorOf(repeat("f(", kMany) + repeat(")", kMany)) == deep);
  CHECK(ErrorOf(repeat("a[", kMany) + "a" + repeat("]", kMany)) == deep);
  CHECK(ErrorOf(repeat("-", kMany) + "a") == deep);
  CHECK(ErrorOf(repeat("not ", kMany) + "a") == deep);
  CHECK(ErrorOf(repeat("a ** ", kMany) + "a") == deep);
  CHECK(ErrorOf(repeat("a if b else ", kMany) + "a") == deep);
  CHECK(ErrorOf(repeat("(", kMany)) == "`(` is never closed");
  CHECK(ErrorOf(repeat(")", kMany)) == "`)` closes nothing");
  CHECK(ErrorOf(repeat("[(", kMany) + repeat(")}", kMany)) == "`}` does not match `[`");
  const std::string high = "more than 256 operations in a row | name a part of it with `let`";
  CHECK(Parse(repeat("a + ", 255) + "a").expr);
  CHECK(ErrorOf(repeat("a + ", kMany) + "a") == high);
  CHECK(ErrorOf("a" + repeat(".T", kMany)) == high);
  CHECK(ErrorOf("a" + repeat("[0]", kMany)) == high);
  // Wide is no problem.
  CHECK(Parse("f(" + repeat("a, ", kMany) + ")").expr);
  CHECK(Parse(repeat("a < ", kMany) + "a").expr);
}

}  // namespace
}  // namespace kiln::parse_expr_test
