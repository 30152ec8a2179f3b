#include "generator/syntax/trees.h"
#include "tests/catch.h"
#include "tests/syntax/syntax_testing.h"

namespace kiln::parse_value_test {
namespace {

using namespace syntax_testing;

TEST_CASE("lists of expressions") {
  const auto list = [](const std::string& value) {
    const Text text = TextOf(value);
    Diagnostics diagnostics;
    const std::vector<ExprPtr> exprs = ParseExprList(text, diagnostics);
    CHECK(exprs.empty() == diagnostics.HasErrors());
    return exprs.empty() ? diagnostics.Sorted()[0].message : ToString(exprs);
  };
  CHECK(list("ids[t], l") == "ids[t], l");
  CHECK(list("i,") == "i");
  CHECK(list("null, bm, all, element(18, halo=(1, 1))") ==
        "null, bm, all, element(18, halo=[1, 1])");
  CHECK(list("") == "expected an expression, found the end");
  CHECK(list(",") == "expected an expression, found `,`");
  CHECK(list("i, , j") == "expected an expression, found `,`");
  CHECK(list("i +, 0") == "expected an expression, found `,`");
  CHECK(list("i j") == "expected `,` or the end, found `j`");
  CHECK(list("(i, j)") == "a tuple in parentheses");
}

TEST_CASE("array types") {
  const auto type = [](const std::string& value) {
    const Text text = TextOf(value);
    Diagnostics diagnostics;
    ArrayType out;
    const bool ok = ParseArrayType(text, diagnostics, out);
    CHECK(ok != diagnostics.HasErrors());
    if (!ok) return diagnostics.Sorted()[0].message;
    CHECK(out.span.end == value.size());
    return out.dtype.name + "[" + ToString(out.shape) + "]";
  };
  CHECK(type("T[m, k]") == "T[m, k]");
  CHECK(type("f32 [cdiv(m, 8) * 8,]") == "f32[cdiv(m, 8) * 8]");
  CHECK(type("i32") == "i32[]");
  CHECK(type("i32[]") == "i32[]");
  CHECK(type("") == "expected a dtype, as in f32[m, n], found the end");
  CHECK(type("32[m]") == "expected a dtype, as in f32[m, n], found `32`");
  CHECK(type("f32[m]]") == "`]` closes nothing");
  CHECK(type("f32[m") == "`[` is never closed");
  CHECK(type("f32[:]") == "expected an expression, found `:`");
  CHECK(type("f32(m)") == "expected the end of the array's type, found `(`");
  CHECK(type("inf[m]") == "`inf` is a literal, not a name");
}

TEST_CASE("prepare entries") {
  const auto prepare = [](const std::string& value) {
    const Text text = TextOf(value);
    Diagnostics diagnostics;
    std::vector<Ident> results;
    ExprPtr call;
    if (!ParsePrepare(text, diagnostics, results, call)) return diagnostics.Sorted()[0].message;
    std::string out;
    for (const Ident& result : results) out += result.name + " ";
    return out + ToString(*call);
  };
  CHECK(prepare("a, b=f(x, y, key=z)") == "a b f(x, y, key=z)");
  CHECK(prepare("a = f()") == "a f()");
  CHECK(prepare("f(x)") == "expected `=`, found `(`");
  CHECK(prepare("a = b") == "`prepare` takes a call");
  CHECK(prepare("a = f(x) + 1") == "`prepare` takes a call");
  CHECK(prepare("a, = f(x)") == "expected the name of a result, found `=`");
  CHECK(prepare("a = f(x) b") == "expected the end, found `b`");
}

}  // namespace
}  // namespace kiln::parse_value_test
