#include <algorithm>

#include "tests/random/maker.h"

/// Elementwise kernels, of which the blocks are free: what comes out does not depend on where they cut.
namespace kiln::soak {

/// Every operand walks every axis, as the outputs do.
Draft Maker::MakePlain() {
  plain_ = true;
  Grid();
  const std::vector<DimPlan> plans = OutputDims(axes_.size());
  const bool partial = std::any_of(axes_.begin(), axes_.end(), [](const AxisInfo& axis) { return axis.partial; });
  const int64_t outputs = dice_.Between(1, 2), inputs = dice_.Between(1, 3);
  for (int64_t o = 0; o < outputs; ++o) {
    AddOperand(plans, AnyDType(), true);
    output_axes_.push_back(axes_.size());
    if (partial) StartWith(draft_.operands.back(), refs_.back());
  }
  for (int64_t i = 0; i < inputs; ++i) AddOperand(plans, AnyDType(), false);
  BindDims();
  for (RefInfo& ref : refs_) {
    if (ref.role != RefInfo::Role::kOutput) continue;
    if (dice_.Chance(0.4)) {
      const Value value = Make(AnyDType(), ref.view, 2);
      const std::string name = Name("t");
      draft_.body.push_back({"let " + name + " = $0", {value.term}, {}, {}});
      scope_.push_back(value);
      scope_.back().term = {name, {}};
    }
    StoreWhole(ref, draft_.body);
  }
  AddConstraints();
  return std::move(draft_);
}

}  // namespace kiln::soak
