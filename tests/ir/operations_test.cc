#include "generator/ir/operations.h"

#include <algorithm>
#include <set>
#include <string>

#include "tests/catch.h"

namespace kiln {
namespace {

/// Whether a row is computed by an expression of C++: what is neither given nor of whole tiles.
bool IsPrinted(const Operation& row) {
  return (IsElementwise(row.op) || ClassOf(row.op) == OpClass::kLazy) && row.op != Op::kCast &&
         row.op != Op::kBitcast;
}

TEST_CASE("each operation has its row") {
  REQUIRE(AllOperations().size() == kOperationCount);
  for (size_t number = 0; number < kOperationCount; ++number) {
    const Operation& row = AllOperations()[number];
    INFO(row.name);
    CHECK(static_cast<size_t>(row.op) == number);
    CHECK(&RowOf(row.op) == &row);
    CHECK(!row.name.empty());
    CHECK(row.name == Name(row.op));
  }
}

TEST_CASE("what elements are computed by has a function or an operator of C++, for every type") {
  for (const Operation& row : AllOperations()) {
    if (!IsPrinted(row)) continue;
    INFO(row.name);
    CHECK(!(row.cpp.function.empty() && row.cpp.vector.empty()));
    CHECK(row.cpp.infix.empty() == (row.cpp.precedence == 0 || !row.cpp.infix_of_bools.empty()));
    CHECK(row.args > 0);
  }
}

TEST_CASE("a fold or a position has a reduction over lanes, and nothing else has") {
  for (const Operation& row : AllOperations()) {
    INFO(row.name);
    CHECK(row.lanes.empty() == !IsReduction(row.op));
  }
}

TEST_CASE("a function of the language says how it is called, and what it gives") {
  std::set<std::string_view> names;
  for (const Operation& row : Functions()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(FindFunction(row.name) == &row);
    CHECK(row.signature.substr(0, row.name.size() + 1) == std::string(row.name) + "(");
    CHECK(!row.doc.empty());
    CHECK(row.least >= 1);
    CHECK(row.least <= row.most);
  }
  CHECK(!FindFunction("no_such_function"));
  CHECK(!FindFunction("+"));
}

TEST_CASE("functions of the runtime round, and are called, in the ways that others read of them") {
  for (const Operation& row : AllOperations()) {
    if (ClassOf(row.op) != OpClass::kFunction) continue;
    INFO(row.name);
    CHECK(row.call != CallRule::kNone);
    CHECK(!row.jax.empty());
    // What takes long is no exact choice among its arguments.
    CHECK((row.cpu == CpuCost::kElementary) == (row.roundings > 0));
  }
}

TEST_CASE("operators are found by their text") {
  CHECK(BinaryOperator("-") == Op::kSub);
  CHECK(BinaryOperator("//") == Op::kFloorDiv);
  CHECK(BinaryOperator("!=") == Op::kNe);
  CHECK(!BinaryOperator("~"));
  CHECK(!BinaryOperator("and"));
}

TEST_CASE("classes are what their names say") {
  for (const Op op : {Op::kLt, Op::kLe, Op::kGt, Op::kGe, Op::kEq, Op::kNe})
    CHECK(IsComparison(op));
  for (const Op op : {Op::kAdd, Op::kWhere, Op::kAnd}) CHECK(!IsComparison(op));
  for (const Op op : {Op::kSum, Op::kReduceMax, Op::kMean, Op::kArgmin}) CHECK(IsReduction(op));
  for (const Op op : {Op::kMax, Op::kCumsum, Op::kDot}) CHECK(!IsReduction(op));
  for (const Op op : {Op::kNeg, Op::kSoftplus, Op::kCast, Op::kLt}) CHECK(IsElementwise(op));
  for (const Op op : {Op::kRead, Op::kIf, Op::kReshape, Op::kSum}) CHECK(!IsElementwise(op));
  CHECK(Compares(Op::kLe, 1, 1));
  CHECK(!Compares(Op::kNe, 2.0, 2.0));
}

}  // namespace
}  // namespace kiln
