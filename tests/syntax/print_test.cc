#include <cmath>
#include <limits>
#include <random>

#include "generator/syntax/trees.h"
#include "tests/catch.h"
#include "tests/syntax/syntax_testing.h"

namespace kiln::syntax_print_test {
namespace {

using namespace syntax_testing;

ExprPtr Parse(const std::string& value) {
  const Text text = TextOf(value);
  Diagnostics diagnostics;
  return ParseExpr(text, diagnostics);
}

std::string Print(const std::string& value) {
  const ExprPtr expr = Parse(value);
  return expr ? ToString(*expr) : "error";
}

/// Random trees of every form that the parser makes.
class TreeMaker {
 public:
  explicit TreeMaker(uint32_t seed) : random_(seed) {}

  ExprPtr Make(int depth) {
    Expr expr;
    if (depth == 0) return MakeLeaf();
    switch (random_() % 9) {
      case 0:
        expr.kind = Expr::Kind::kUnary;
        expr.name = Pick({"-", "+", "~", "not"});
        expr.args = {Make(depth - 1)};
        break;
      case 1:
      case 2:
      case 3:
        expr.kind = Expr::Kind::kBinary;
        expr.name =
            Pick({"+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "and", "or"});
        expr.args = {Make(depth - 1), Make(depth - 1)};
        break;
      case 4:
        expr.kind = Expr::Kind::kCompare;
        expr.args = {Make(depth - 1)};
        for (auto n = 1 + random_() % 3; n-- > 0;) {
          expr.ops.push_back(Pick({"<", "<=", ">", ">=", "==", "!="}));
          expr.args.push_back(Make(depth - 1));
        }
        break;
      case 5:
        expr.kind = Expr::Kind::kIf;
        expr.args = {Make(depth - 1), Make(depth - 1), Make(depth - 1)};
        break;
      case 6:
        return MakeCall(depth);
      case 7:
        return MakeSubscript(depth);
      default:
        expr.kind = Expr::Kind::kAttribute;
        expr.name = Pick({"T", "mT"});
        expr.args = {Make(depth - 1)};
    }
    return Share(std::move(expr));
  }

 private:
  std::string Pick(std::initializer_list<const char*> of) {
    return *(of.begin() + random_() % of.size());
  }
  static ExprPtr Share(Expr expr) { return std::make_shared<const Expr>(std::move(expr)); }

  ExprPtr MakeLeaf() {
    Expr expr;
    switch (random_() % 5) {
      case 0:
        expr.kind = Expr::Kind::kInt;
        expr.int_value = static_cast<int64_t>(random_() % 1000);
        break;
      case 1:
        expr.kind = Expr::Kind::kFloat;
        expr.float_value =
            std::ldexp(static_cast<double>(random_()), static_cast<int>(random_() % 200) - 132);
        break;
      case 2:
        expr.kind = Expr::Kind::kBool;
        expr.int_value = static_cast<int64_t>(random_() % 2);
        break;
      default:
        expr.kind = Expr::Kind::kName;
        expr.name = Pick({"a", "x_1", "notx", "T", "when", "order"});
    }
    return Share(std::move(expr));
  }

  ExprPtr MakeList(int depth) {
    Expr list;
    list.kind = Expr::Kind::kList;
    for (auto n = random_() % 3; n-- > 0;) list.args.push_back(Make(depth - 1));
    return Share(std::move(list));
  }

  ExprPtr MakeCall(int depth) {
    Expr expr;
    expr.kind = Expr::Kind::kCall;
    expr.name = Pick({"f", "max", "bf16"});
    for (auto n = random_() % 3; n-- > 0;) {
      expr.args.push_back(random_() % 4 == 0 ? MakeList(depth) : Make(depth - 1));
    }
    for (const char* name : {"axis", "keep"}) {
      if (random_() % 3 > 0) continue;
      Keyword keyword;
      keyword.name.name = name;
      keyword.value = random_() % 2 == 0 ? MakeList(depth) : Make(depth - 1);
      expr.keywords.push_back(std::move(keyword));
    }
    return Share(std::move(expr));
  }

  ExprPtr MakeSubscript(int depth) {
    Expr expr;
    expr.kind = Expr::Kind::kSubscript;
    expr.args = {Make(depth - 1)};
    for (auto n = 1 + random_() % 3; n-- > 0;) {
      Expr entry;
      switch (random_() % 4) {
        case 0:
          entry.kind = Expr::Kind::kEllipsis;
          break;
        case 1:
          entry.kind = Expr::Kind::kSlice;
          entry.args = {random_() % 2 == 0 ? Make(depth - 1) : nullptr,
                        random_() % 2 == 0 ? Make(depth - 1) : nullptr,
                        random_() % 4 == 0 ? Make(depth - 1) : nullptr};
          break;
        default:
          expr.args.push_back(Make(depth - 1));
          continue;
      }
      expr.args.push_back(Share(std::move(entry)));
    }
    return Share(std::move(expr));
  }

  std::mt19937 random_;
};

/// The first pair of grouping parentheses that could be left out, if any.
std::string FindIdleParentheses(const std::string& text, const std::string& dump) {
  std::vector<size_t> open;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') open.push_back(i);
    if (text[i] != ')') continue;
    const size_t begin = open.back();
    open.pop_back();
    if (begin > 0 && std::isalnum(static_cast<unsigned char>(text[begin - 1]))) continue;  // a call
    std::string without = text;
    without.erase(i, 1).erase(begin, 1);
    const ExprPtr expr = Parse(without);
    if (expr && Dump(expr) == dump) return without;
  }
  return "";
}

TEST_CASE("what is printed reads as the same tree, with no parentheses to spare") {
  TreeMaker maker(1);
  for (int i = 0; i < 3000; ++i) {
    const ExprPtr tree = maker.Make(1 + i % 4);
    const std::string text = ToString(*tree);
    INFO(text);
    const ExprPtr read = Parse(text);
    REQUIRE(read);
    REQUIRE(Dump(read) == Dump(tree));
    REQUIRE(ToString(*read) == text);
    if (i % 10 == 0) REQUIRE(FindIdleParentheses(text, Dump(tree)) == "");
  }
}

TEST_CASE("floats print as floats") {
  CHECK(Print("1.0") == "1.0");
  CHECK(Print("1e30") == "1e+30");
  CHECK(Print("100000.") == "100000.0");
  CHECK(Print("0.1") == "0.1");
  CHECK(Print("1e15") == "1000000000000000.0");
  CHECK(Print("0.0") == "0.0");
  CHECK(Print("1e-7") == "1e-07");
  CHECK(Print("1 .T + 1.5 .T") == "(1).T + 1.5.T");
  CHECK(Print("inf") == "inf");
  Expr folded;
  folded.kind = Expr::Kind::kFloat;
  folded.float_value = -std::numeric_limits<double>::infinity();
  CHECK(ToString(folded) == "-inf");
}

}  // namespace
}  // namespace kiln::syntax_print_test
