#include <algorithm>

#include "tests/random/make/maker.h"

/// The grid, the dimensions, and operands that walk them.
namespace kiln::soak {
namespace {

/// How many steps there may be: specs are small, so that there can be many.
constexpr int64_t kMostSteps = 200;

std::string ToText(int64_t value) { return std::to_string(value); }

}  // namespace

int64_t Maker::SmallSize(int64_t most) {
  static const std::vector<int64_t> sizes = {1,  2,  3,  4,  5,  6,  7,  8,  8,  9,  12,
                                             15, 16, 16, 17, 24, 31, 32, 33, 40, 64, 70};
  // Several vectors, and what is left of one.
  if (most >= 33 && dice_.Chance(0.08)) return dice_.Between(48, 150);
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
  std::vector<double> weights = {8, 34, 36, 16, 6};
  for (size_t a = 0; a < weights.size(); ++a)
    weights[a] = Weight("grid of " + std::to_string(a) + " axes", weights[a]);
  const size_t axes = dice_.Weighted(weights);
  for (size_t a = 0; a < axes; ++a) AddAxis(a);
  // The parallel ones come first.
  const size_t parallel = Want("key spec.dimension_semantics", 0.7)
                              ? static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(axes)))
                              : 0;
  for (size_t a = 0; a < axes; ++a) {
    axes_[a].parallel = a < parallel;
    draft_.axes.push_back({axes_[a].name, axes_[a].steps_text, axes_[a].parallel});
  }
}

void Maker::AddAxis(size_t number) {
  AxisInfo axis;
  axis.name = Name("a");
  int64_t steps = 1;
  for (const AxisInfo& other : axes_) steps *= std::max<int64_t>(other.steps, 1);
  const int64_t most = std::max<int64_t>(1, std::min<int64_t>(8, kMostSteps / steps));
  const size_t kind = dice_.Weighted({6, 1, 1.5, Weight("key spec.scalars", 0.5)});
  axis.kind = static_cast<AxisInfo::Kind>(kind);
  switch (axis.kind) {
    case AxisInfo::Kind::kTiled: {
      const int64_t block = SmallSize(number >= 2 ? 9 : 40);
      int64_t size = dice_.Chance(0.15) ? dice_.Between(1, block) : dice_.Between(1, block * most);
      int64_t elements = 1;
      for (const AxisInfo& other : axes_)
        elements *= std::max<int64_t>(
            other.dim >= 0 ? dims_[static_cast<size_t>(other.dim)].size : other.steps * 9, 1);
      size = std::clamp<int64_t>(std::min<int64_t>(size, 200), 1,
                                 std::max<int64_t>(1, kMostElements / elements));
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
      axis.steps = dice_.Between(dice_.Chance(0.05) ? 0 : 1, most);
      // What no step visits keeps its `init`, or what it takes over.
      axis.partial = axis.steps == 0 || Want("literal undefined", 0.4);
      axis.dim = AddDim(axis.steps + (axis.partial ? dice_.Between(axis.steps == 0, 3) : 0));
      const std::string name = Name("c");
      if (dice_.Chance(0.5)) {
        draft_.sizes[name] = axis.steps;
        draft_.scalars.push_back(
            {name, PickEntry("scalar", {"i32", "i32", "i8", "u8", "i16", "u16", "u32", "i64"})});
        axis.steps_text = name;
      } else {
        draft_.prefetch.push_back(
            {name, PickEntry("prefetch", {"i32", "i32", "i8", "u8", "i16", "u16", "u32", "i64"}) +
                       "[2]"});
        draft_.fills[name] = {Fill::Kind::kInteger, axis.steps, axis.steps, 1};
        axis.steps_text = name + "[1]";
      }
      break;
    }
  }
  axes_.push_back(axis);
}

DimPlan Maker::Ride(size_t number) {
  AxisInfo& axis = axes_[number];
  DimPlan plan;
  plan.axis = static_cast<int>(number);
  const std::string last = axis.steps_text + " - 1 - " + axis.name;
  plan.index = axis.name;
  if (plain_ && axis.kind == AxisInfo::Kind::kTiled) {
    plan.array = dims_[static_cast<size_t>(axis.dim)].name;
    plan.extent = dims_[static_cast<size_t>(axis.dim)].size;
    plan.block = axis.block.text;
    plan.view = axis.block;
    if (plan.extent % axis.block.value != 0)
      plan.edge = plan.array + " by " + plan.block + " at " + plan.index;
    return plan;
  }
  if (dice_.Chance(0.1)) plan.index = last;
  if (dice_.Chance(0.08) && axis.steps > 1)
    plan.index = "(" + axis.name + " + " + ToText(dice_.Between(1, axis.steps - 1)) + ") % " +
                 axis.steps_text;
  if (axis.kind != AxisInfo::Kind::kHost && Want("key spec.prefetch", 0.06))
    plan.index = Permutation(number);
  if (Want("key spec.let", 0.04)) {
    draft_.lets.push_back({Name("l"), plan.index});
    plan.index = draft_.lets.back().name;
  }
  switch (axis.kind) {
    case AxisInfo::Kind::kTiled:
      plan.array = dims_[static_cast<size_t>(axis.dim)].name;
      plan.extent = dims_[static_cast<size_t>(axis.dim)].size;
      plan.block = axis.block.text;
      plan.view = axis.block;
      if (plan.extent % axis.block.value != 0)
        plan.edge = plan.array + " by " + plan.block + " at " + plan.index;
      if (Want("block element", 0.03)) {
        plan.block = "element(" + plan.block + ")";
        plan.index = "(" + plan.index + ") * " + axis.block.text;
        if (!plan.edge.empty()) plan.edge = "element " + plan.array + plan.index;
      }
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

/// A window with a border on either side.
DimPlan Maker::Halo(size_t number) {
  const AxisInfo& axis = axes_[number];
  DimPlan plan;
  plan.axis = static_cast<int>(number);
  plan.array = dims_[static_cast<size_t>(axis.dim)].name;
  plan.extent = dims_[static_cast<size_t>(axis.dim)].size;
  const int64_t low = dice_.Between(0, 2), high = dice_.Between(low == 0, 2), more = low + high;
  plan.view = Extent{"(" + axis.block.text + " + " + ToText(more) + ")", axis.block.value + more};
  plan.block = "element(" + axis.block.text + " + " + ToText(more) + ", halo=(" + ToText(low) +
               ", " + ToText(high) + "))";
  plan.index = axis.name + " * " + axis.block.text;
  plan.edge = "halo " + plan.array + " " + plan.block;
  plan.reread = true;
  return plan;
}

/// A range that is known at run time.
DimPlan Maker::Bounded(size_t number) {
  const AxisInfo& axis = axes_[number];
  DimPlan plan = WholeDim();
  if (plan.extent < 2 || axis.steps < 1 || axis.kind == AxisInfo::Kind::kHost) return plan;
  const int64_t most = dice_.Between(1, plan.extent);
  tabled_.insert(axis.name);
  const std::string starts = Name("q"), sizes = Name("q");
  draft_.prefetch.push_back({starts, "i32[" + axis.steps_text + "]"});
  draft_.prefetch.push_back({sizes, "i32[" + axis.steps_text + "]"});
  draft_.fills[starts] = {Fill::Kind::kInteger, 0, plan.extent - most, 1};
  draft_.fills[sizes] = {Fill::Kind::kInteger, 0, most, 1};
  plan.block = "bounded(" + ToText(most) + ")";
  plan.index = "ds(" + starts + "[" + axis.name + "], " + sizes + "[" + axis.name + "])";
  plan.view = Extent{ToText(most), most};
  plan.edge = "bounded " + starts;
  plan.reread = true;
  return plan;
}

/// Rows by number, as a table says.
DimPlan Maker::Gather(size_t number) {
  const AxisInfo& axis = axes_[number];
  DimPlan plan = Ride(number);
  if (axis.kind == AxisInfo::Kind::kHost || plan.block.rfind("element", 0) == 0) return plan;
  const std::string table = Name("q");
  tabled_.insert(axis.name);
  std::string shape = axis.steps_text, at = axis.name;
  if (axes_.size() > 1 && dice_.Chance(0.3)) {
    const AxisInfo& other =
        axes_[static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(axes_.size()) - 1))];
    if (other.kind != AxisInfo::Kind::kHost) {
      shape += ", " + other.steps_text;
      at += ", " + other.name;
    }
  }
  draft_.prefetch.push_back(
      {table, PickEntry("prefetch", {"i32", "i32", "i8", "u8", "i16", "u16", "u32", "i64"}) + "[" +
                  shape + "]"});
  draft_.fills[table] = {Fill::Kind::kInteger, 0, axis.steps - 1, 1};
  plan.index = table + "[" + at + "]";
  plan.reread = true;
  if (!plan.edge.empty()) plan.edge = plan.array + " by " + plan.block + " at " + plan.index;
  return plan;
}

/// A block of an axis' dimension that is chosen otherwise than by walking it: inputs may.
DimPlan Maker::Reread(size_t number) {
  const AxisInfo& axis = axes_[number];
  if (axis.kind == AxisInfo::Kind::kTiled && Want("layout element block with halo", 0.25))
    return Halo(number);
  if (Want("block bounded", 0.1)) return Bounded(number);
  if (Want("layout lookup in an index map", 0.25)) return Gather(number);
  DimPlan plan = Ride(number);
  if (plan.block.rfind("element", 0) == 0) return plan;
  plan.axis = static_cast<int>(number);
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
      axis.name + " if " + axis.name + " < 2 else 1",
      "cdiv(" + axis.name + ", 2)",
      "sign(" + axis.name + ") % " + steps,
      "i32(first(" + axis.name + ")) % " + steps,
      "min(" + axis.name + " ** 2, " + steps + " - 1)"};
  plan.index = dice_.Pick(indices);
  plan.reread = true;
  if (!plan.edge.empty()) plan.edge = plan.array + " by " + plan.block + " at " + plan.index;
  return plan;
}

DimPlan Maker::WholeDim() {
  DimPlan plan;
  // One of the known dimensions, so that shapes agree.
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

}  // namespace kiln::soak
