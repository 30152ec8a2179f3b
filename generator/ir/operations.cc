#include "generator/ir/operations.h"

#include <algorithm>
#include <cmath>

namespace kiln {
namespace {

/// What a row leaves out because it follows from the rest.
Operation Completed(Operation row) {
  if (row.most == 0) row.least = row.most = row.args;
  return row;
}

Operation Completed(Operation row, std::string_view function) {
  row.cpp.function = function;
  return Completed(row);
}

/// With other names of operations behind them.
std::vector<Operation> AllRows() {
  return {
#define KILN_OPERATION(op_, ...) Completed({.op = Op::op_, __VA_ARGS__}),
#define KILN_FUNCTION(op_, function, ...) Completed({.op = Op::op_, __VA_ARGS__}, #function),
#define KILN_ALIAS(op_, ...) Completed({.op = Op::op_, __VA_ARGS__}),
#include "generator/ir/operations.def"
  };
}

/// The first row of each operation: another name of it stands behind it.
std::vector<Operation> ByNumber() {
  std::vector<Operation> rows;
  for (const Operation& row : AllRows()) {
    if (static_cast<size_t>(row.op) == rows.size()) rows.push_back(row);
  }
  return rows;
}

std::vector<Operation> Called() {
  std::vector<Operation> rows = AllRows();
  std::erase_if(rows, [](const Operation& row) { return row.call == CallRule::kNone; });
  return rows;
}

}  // namespace

const std::vector<Operation>& AllOperations() {
  static const std::vector<Operation> rows = ByNumber();
  return rows;
}

const Operation& RowOf(Op op) { return AllOperations()[static_cast<size_t>(op)]; }

std::string_view Name(Op op) { return RowOf(op).name; }

const std::vector<Operation>& Functions() {
  static const std::vector<Operation> rows = Called();
  return rows;
}

const Operation* FindFunction(std::string_view name) {
  const std::vector<Operation>& rows = Functions();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const Operation& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

std::optional<Op> BinaryOperator(std::string_view text) {
  for (const Operation& row : AllOperations()) {
    const bool computes = ClassOf(row.op) == OpClass::kArithmetic || IsComparison(row.op);
    if (computes && row.args == 2 && row.name == text) return row.op;
  }
  return std::nullopt;
}

bool IsElementwise(Op op) {
  switch (ClassOf(op)) {
    case OpClass::kArithmetic:
    case OpClass::kComparison:
    case OpClass::kFunction:
    case OpClass::kSpecial:
      return true;
    case OpClass::kLeaf:
    case OpClass::kLazy:
    case OpClass::kShape:
    case OpClass::kFold:
    case OpClass::kLocation:
    case OpClass::kScan:
    case OpClass::kOrder:
    case OpClass::kProduct:
      return false;
  }
  __builtin_unreachable();
}

bool IsQuotient(Op op) { return op == Op::kFloorDiv || op == Op::kCeilDiv || op == Op::kQuot; }
bool IsDivision(Op op) { return IsQuotient(op) || op == Op::kMod || op == Op::kRem; }
bool IsBitwise(Op op) { return op == Op::kBitAnd || op == Op::kBitOr || op == Op::kBitXor; }
bool IsShift(Op op) { return op == Op::kShl || op == Op::kShr; }

Op Folding(FoldOp fold) {
  switch (fold) {
    case FoldOp::kSum:
    case FoldOp::kMean:
      return Op::kAdd;
    case FoldOp::kProd:
      return Op::kMul;
    case FoldOp::kReduceMax:
      return Op::kMax;
    case FoldOp::kReduceMin:
      return Op::kMin;
    case FoldOp::kAny:
      return Op::kBitOr;
    case FoldOp::kAll:
      return Op::kBitAnd;
  }
  __builtin_unreachable();
}

}  // namespace kiln
