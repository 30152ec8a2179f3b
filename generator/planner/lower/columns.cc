#include <algorithm>

#include "generator/planner/lower/lowering.h"

/// Functions of what columns have one of, such as a gate of each channel: they are computed once,
/// in front of the rows that they meet.
namespace kiln {
namespace {

bool IsSquare(const Node& node) {
  if (node.op != Op::kPow || node.args[1]->op != Op::kConst) return false;
  const Node& exponent = *node.args[1];
  return IsFloat(exponent.dtype) ? exponent.float_value == 2 : exponent.int_value == 2;
}

/// Whether each element takes a slow operation. What gets memory anyway takes none.
bool TakesLong(const Node& node) {
  if (!IsElementwise(node.op)) return false;
  if (RowOf(node.op).cpu != CpuCost::kFast && !IsSquare(node)) return true;
  return std::any_of(node.args.begin(), node.args.end(),
                     [](const NodePtr& arg) { return TakesLong(*arg); });
}

}  // namespace

bool HasDots(const Kernel& kernel) {
  bool has = false;
  const auto look = [&](const auto& self, const Node& node) -> void {
    has = has || node.op == Op::kDot;
    for (const NodePtr& arg : node.args) self(self, *arg);
  };
  for (const Actions* actions : {&kernel.body, &kernel.epilogue}) {
    ForEachAction(*actions, [&](const Action& action) {
      ForEachExpression(action, [&](const Node& node) { look(look, node); });
    });
  }
  return has;
}

/// Whether an argument of an elementwise operation is such a function, for as many rows as make up
/// for its place in memory. Not beside dots, whose tiles rather have all of what follows them, nor
/// in a loop, whose turns rows may take one by one.
bool Lowering::IsOfColumns(const Node& arg, const Node& whole) const {
  constexpr int64_t kLeastRows = 8;
  if (has_dots_ || turning_ > 0 || !IsFloat(arg.dtype) || arg.shape.empty() ||
      arg.shape.back().IsOne())
    return false;
  const size_t missing = whole.shape.size() - arg.shape.size();
  bool meets_rows = false;
  for (size_t d = 0; d + 1 < whole.shape.size(); ++d) {
    const bool lacks = d < missing || arg.shape[d - missing].IsOne();
    meets_rows =
        meets_rows || (lacks && whole.shape[d].Constant().value_or(kLeastRows) >= kLeastRows);
  }
  return meets_rows && TakesLong(arg);
}

}  // namespace kiln
