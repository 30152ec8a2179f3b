#include <algorithm>

#include "tests/random/maker.h"

/// The grid, the dimensions, and operands that walk them.
namespace kiln::soak {
namespace {

/// What one step may cost in elements, and how many steps there may be: specs are small, so that
/// there can be many.
constexpr int64_t kMostSteps = 200;
constexpr int64_t kMostElements = 9000;

std::string ToText(int64_t value) { return std::to_string(value); }

/// Elements of an array with these dimensions.
int64_t Elements(const std::vector<DimPlan>& plans) {
  int64_t count = 1;
  for (const DimPlan& plan : plans) count *= plan.extent;
  return count;
}

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace

int64_t Maker::SmallSize(int64_t most) {
  static const std::vector<int64_t> sizes = {1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 12, 15, 16, 16, 17, 24, 31, 32, 33, 40, 64, 70};
  for (;;) {
    const int64_t size = dice_.Pick(sizes);
    if (size <= most) return size;
  }
}

int Maker::AddDim(int64_t size) {
  DimInfo dim;
  dim.name = Name("n");
  dim.size = size;
  draft_.sizes[dim.name] = size;
  dims_.push_back(dim);
  return static_cast<int>(dims_.size()) - 1;
}

void Maker::Grid() {
  const size_t axes = dice_.Weighted({8, 34, 36, 16, 6});
  for (size_t a = 0; a < axes; ++a) AddAxis(a);
  // The parallel ones come first.
  const size_t parallel =
      Want("key spec.dimension_semantics", 0.7) ? static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(axes))) : 0;
  for (size_t a = 0; a < axes; ++a) {
    axes_[a].parallel = a < parallel;
    draft_.axes.push_back({axes_[a].name, axes_[a].steps_text, axes_[a].parallel});
  }
}

void Maker::AddAxis(size_t number) {
  AxisInfo axis;
  axis.name = Name("a");
  int64_t steps = 1;
  for (const AxisInfo& other : axes_) steps *= other.steps;
  const int64_t most = std::max<int64_t>(1, std::min<int64_t>(8, kMostSteps / steps));
  const size_t kind = dice_.Weighted({6, 1, 1.5, Weight("key spec.scalars", 0.5)});
  axis.kind = static_cast<AxisInfo::Kind>(kind);
  switch (axis.kind) {
    case AxisInfo::Kind::kTiled: {
      const int64_t block = SmallSize(number >= 2 ? 9 : 40);
      int64_t size = dice_.Chance(0.15) ? dice_.Between(1, block) : dice_.Between(1, block * most);
      int64_t elements = 1;
      for (const AxisInfo& other : axes_)
        elements *= other.dim >= 0 ? dims_[static_cast<size_t>(other.dim)].size : other.steps * 9;
      size = std::clamp<int64_t>(std::min<int64_t>(size, 90), 1, std::max<int64_t>(1, kMostElements / elements));
      axis.dim = AddDim(size);
      axis.block = {Name("b"), block};
      draft_.params.push_back({axis.block.text, ToText(block)});
      axis.steps = (size + block - 1) / block;
      axis.steps_text = "cdiv(" + dims_.back().name + ", " + axis.block.text + ")";
      break;
    }
    case AxisInfo::Kind::kEach:
      axis.steps = dice_.Between(1, most);
      axis.dim = AddDim(axis.steps);
      axis.steps_text = dims_.back().name;
      break;
    case AxisInfo::Kind::kCount:
      axis.steps = dice_.Between(1, std::min<int64_t>(most, 4));
      axis.steps_text = ToText(axis.steps);
      if (dice_.Chance(0.4)) {
        axis.steps_text = Name("p");
        draft_.params.push_back({axis.steps_text, ToText(axis.steps)});
      }
      break;
    case AxisInfo::Kind::kHost: {
      axis.steps = dice_.Between(1, most);
      axis.dim = AddDim(axis.steps);
      const std::string name = Name("c");
      draft_.sizes[name] = axis.steps;
      draft_.scalars.push_back({name, "i32"});
      axis.steps_text = name;
      break;
    }
  }
  axes_.push_back(axis);
}

DimPlan Maker::Ride(size_t number) {
  AxisInfo& axis = axes_[number];
  DimPlan plan;
  const std::string last = axis.steps_text + " - 1 - " + axis.name;
  plan.index = axis.name;
  if (dice_.Chance(0.1)) plan.index = last;
  if (dice_.Chance(0.08) && axis.steps > 1)
    plan.index = "(" + axis.name + " + " + ToText(dice_.Between(1, axis.steps - 1)) + ") % " + axis.steps_text;
  if (axis.kind != AxisInfo::Kind::kHost && Want("key spec.prefetch", 0.06)) plan.index = Permutation(number);
  switch (axis.kind) {
    case AxisInfo::Kind::kTiled:
      plan.array = dims_[static_cast<size_t>(axis.dim)].name;
      plan.extent = dims_[static_cast<size_t>(axis.dim)].size;
      plan.block = axis.block.text;
      plan.view = axis.block;
      if (dims_[static_cast<size_t>(axis.dim)].size % axis.block.value != 0)
        plan.edge = plan.array + " by " + plan.block + " at " + plan.index;
      break;
    case AxisInfo::Kind::kEach:
    case AxisInfo::Kind::kHost:
      plan.array = dims_[static_cast<size_t>(axis.dim)].name;
      plan.extent = dims_[static_cast<size_t>(axis.dim)].size;
      if (dice_.Chance(0.6)) {
        plan.block = "null";
      } else {
        plan.block = "1";
        plan.view = Extent{"1", 1};
      }
      break;
    case AxisInfo::Kind::kCount:
      if (dice_.Chance(0.5)) {
        plan.array = axis.steps_text;
        plan.extent = axis.steps;
        plan.block = "null";
      } else {
        const int64_t block = SmallSize(9);
        plan.array = axis.steps_text + " * " + ToText(block);
        plan.extent = axis.steps * block;
        plan.block = ToText(block);
        plan.view = Extent{plan.block, block};
      }
      break;
  }
  return plan;
}

std::string Maker::Permutation(size_t number) {
  AxisInfo& axis = axes_[number];
  if (axis.permutation.empty()) {
    axis.permutation = Name("q");
    draft_.prefetch.push_back({axis.permutation, "i32[" + axis.steps_text + "]"});
    draft_.fills[axis.permutation] = {Fill::Kind::kPermutation, 0, 0, 1};
  }
  return axis.permutation + "[" + axis.name + "]";
}

/// A block of an axis' dimension that is chosen otherwise than by walking it: inputs may.
DimPlan Maker::Reread(size_t number) {
  const AxisInfo& axis = axes_[number];
  DimPlan plan = Ride(number);
  if (plan.edge.empty() && axis.kind == AxisInfo::Kind::kCount && plan.view) return plan;
  const std::string steps = axis.steps_text;
  const std::vector<std::string> indices = {
      "0",
      "min(" + axis.name + " + 1, " + steps + " - 1)",
      axis.name + " // 2",
      "(" + axis.name + " * 3 + 1) % " + steps,
      steps + " - 1",
      "abs(" + axis.name + " - 1) % " + steps,
      "max(" + axis.name + " - 1, 0)",
      "where(" + axis.name + " > 0, " + axis.name + " - 1, 0)",
      "clamp(" + axis.name + ", 0, " + steps + " - 1)",
      "rem(" + axis.name + " + 1, " + steps + ")",
      axis.name + " if " + axis.name + " < 2 else 1"};
  plan.index = dice_.Pick(indices);
  plan.reread = true;
  if (!plan.edge.empty()) plan.edge = plan.array + " by " + plan.block + " at " + plan.index;
  return plan;
}

DimPlan Maker::WholeDim() {
  DimPlan plan;
  // One of the known dimensions, so that shapes meet.
  const bool old = !dims_.empty() && dice_.Chance(0.6);
  const int dim = old ? static_cast<int>(dice_.Between(0, static_cast<int64_t>(dims_.size()) - 1))
                      : AddDim(SmallSize(33));
  plan.array = dims_[static_cast<size_t>(dim)].name;
  plan.extent = dims_[static_cast<size_t>(dim)].size;
  plan.block = "all";
  plan.index = "0";
  plan.view = Extent{plan.array, dims_[static_cast<size_t>(dim)].size};
  return plan;
}

DimPlan Maker::ConstantDim() {
  DimPlan plan;
  const int64_t size = SmallSize(17);
  plan.array = ToText(size);
  plan.extent = size;
  plan.block = dice_.Chance(0.5) ? "all" : plan.array;
  plan.index = "0";
  plan.view = Extent{plan.array, size};
  return plan;
}

std::vector<DimPlan> Maker::InputDims() {
  std::vector<DimPlan> plans;
  const size_t rank = dice_.Weighted({4, 25, 45, 20, 6});
  // A permutation of the axes, so that a dimension rides on each at most once, mostly in order.
  std::vector<size_t> order;
  for (size_t a = 0; a < axes_.size(); ++a) order.push_back(a);
  if (dice_.Chance(0.3)) {
    for (size_t a = order.size(); a > 1; --a)
      std::swap(order[a - 1], order[static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(a) - 1))]);
  }
  for (size_t d = 0, a = 0; d < rank; ++d) {
    if (a < order.size() && dice_.Chance(0.75)) {
      plans.push_back(dice_.Chance(0.8) ? Ride(order[a]) : Reread(order[a]));
      ++a;
    } else {
      plans.push_back(dice_.Chance(0.75) ? WholeDim() : ConstantDim());
    }
    if (Elements(plans) > kMostElements) plans.pop_back();
  }
  return plans;
}

/// Dimensions that walk each of the first `axes` axes once.
std::vector<DimPlan> Maker::OutputDims(size_t axes) {
  std::vector<DimPlan> plans;
  for (size_t a = 0; a < axes; ++a) {
    if (axes_[a].steps == 1 && axes_[a].kind == AxisInfo::Kind::kCount && dice_.Chance(0.3)) continue;
    plans.push_back(Ride(a));
  }
  const int64_t more = dice_.Chance(0.45) ? 0 : dice_.Between(0, 2);
  for (int64_t d = 0; d < more && plans.size() < 5; ++d) {
    const DimPlan plan = dice_.Chance(0.75) ? WholeDim() : ConstantDim();
    if (Elements(plans) * plan.extent > kMostElements) continue;
    plans.insert(plans.begin() + dice_.Between(0, static_cast<int64_t>(plans.size())), plan);
  }
  if (plans.size() > 1 && dice_.Chance(0.2)) std::swap(plans.front(), plans.back());
  return plans;
}

void Maker::FillInput(const std::string& name, DType dtype, Facts& facts) {
  Fill fill;
  fill.share = dice_.Chance(0.15) ? 0.3 : 1;
  if (IsFloat(dtype)) {
    const size_t kind = dice_.Weighted({6, 2, 1.5, 0.7});
    fill.kind = static_cast<Fill::Kind>(kind);
    if (fill.kind == Fill::Kind::kUniform) {
      fill.low = -1;
      fill.high = 1;
    }
    facts.bound = fill.kind == Fill::Kind::kSpecial ? kUnbounded : static_cast<double>(fill.high);
    facts.grain = fill.kind == Fill::Kind::kInteger ? 1 : fill.kind == Fill::Kind::kQuarters ? 0.25 : 0;
  } else if (dtype != DType::kBool) {
    if (IsUnsigned(dtype)) fill.low = 0;
    if (dice_.Chance(0.15)) fill.kind = Fill::Kind::kSpecial;
    if (fill.kind == Fill::Kind::kInteger) facts.bound = 4;
  }
  draft_.fills[name] = fill;
}

void Maker::AddOperand(const std::vector<DimPlan>& plans, DType dtype, bool output) {
  OperandDraft operand;
  operand.name = Name(output ? "o" : "x");
  operand.output = output;
  RefInfo ref;
  ref.name = operand.name;
  ref.role = output ? RefInfo::Role::kOutput : RefInfo::Role::kInput;
  ref.dtype = dtype;
  ref.readable = !output;
  ref.whole_index = true;
  std::vector<std::string> array, block, index;
  bool blocked = false;
  for (const DimPlan& plan : plans) {
    array.push_back(plan.array);
    block.push_back(plan.block);
    index.push_back(plan.index);
    blocked = blocked || plan.block != "all";
    if (!plan.view) continue;
    ref.view.push_back(*plan.view);
    ref.edges.push_back(plan.edge);
    ref.view_dims.push_back(ref.array.size());
  }
  ref.array = array;
  const std::string type = std::string(kiln::Name(dtype));
  operand.keys.push_back({"array", array.empty() ? type : type + "[" + Join(array) + "]"});
  if (!array.empty() && (blocked || dice_.Chance(0.3))) {
    operand.keys.push_back({"block", Join(block)});
    operand.keys.push_back({"index", Join(index)});
  }
  ref.facts = FactsOf(dtype, ref.view.size());
  if (!output) {
    FillInput(ref.name, dtype, ref.facts);
    const bool ragged = std::any_of(ref.edges.begin(), ref.edges.end(),
                                    [](const std::string& edge) { return !edge.empty(); });
    if (Want("key operand.pad", ragged ? 0.6 : 0.05)) {
      operand.keys.push_back({"pad", dtype == DType::kBool ? "false" : "0"});
      for (std::string& edge : ref.edges) edge.clear();
    }
  } else {
    ref.loose = IsFloat(dtype) && dice_.Chance(0.3);
    draft_.exact[ref.name] = !ref.loose;
  }
  for (size_t d = 0; d < ref.edges.size(); ++d) {
    if (!ref.edges[d].empty()) ref.facts.edges[d] = {ref.edges[d]};
  }
  draft_.operands.push_back(operand);
  refs_.push_back(ref);
}

void Maker::AddInput() { AddOperand(InputDims(), AnyDType(), false); }

void Maker::AddOutput() {
  size_t least = 0;
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (axes_[a].parallel) least = a + 1;
  }
  const size_t axes = dice_.Chance(0.55)
                          ? axes_.size()
                          : static_cast<size_t>(dice_.Between(static_cast<int64_t>(least), static_cast<int64_t>(axes_.size())));
  AddOperand(OutputDims(axes), AnyDType(), true);
  output_axes_.push_back(axes);
}

void Maker::AddHostValues() {}

}  // namespace kiln::soak
