// What a body's text calls things: axes, loops, variables, and places in memory.
#include <algorithm>

#include "generator/render/view/body_view.h"

namespace kiln::render {
namespace {

using Layout = OperandPlan::Layout;

std::string OfPoint(AxisId axis) { return "point[" + std::to_string(axis.number()) + "]"; }
std::string OfSteps(AxisId axis) { return "steps[" + std::to_string(axis.number()) + "]"; }

}  // namespace

ScalarPrinter::Names BodyView::MakeNames() {
  ScalarPrinter::Names names;
  names.axis = OfPoint;
  names.steps = OfSteps;
  names.visit = [this](const element::IsVisit& is) { return Visit(is); };
  names.loop = [this](LoopId loop) { return LoopName(loop); };
  names.variable = [this](VariableId variable) { return VariableName(variable); };
  names.pointer = [this](const Place& place) { return Pointer(place); };
  names.edge = [this](const element::Edge& edge) {
    static constexpr const char* kMembers[] = {".low[", ".high[", ".origin["};
    return names_[edge.ref] + kMembers[static_cast<int>(edge.which)] + std::to_string(edge.axis) +
           "]";
  };
  names.scalar = [this](RefId ref) { return "call." + names_[ref]; };
  names.dim = [this](DimId dim) { return "call." + names_[dim]; };
  names.param = [this](int param) { return names_.Param(param); };
  names.core = "core";
  return names;
}

/// The first or last step of a stay: by the axes it walks over where they say it.
std::string BodyView::Visit(const element::IsVisit& is) {
  const bool first = is.end == End::kFirst;
  const std::optional<Axes> axes = StayAxes(kernel_, is.ref);
  if (!axes) return (first ? "first_" : "last_") + names_[is.ref];
  std::string all;
  for (const AxisId axis : *axes) {
    const std::string a = OfPoint(axis);
    all += (all.empty() ? "" : " && ") + (first ? a + " == 0" : a + " + 1 == " + OfSteps(axis));
  }
  return axes->empty() ? "true" : all;
}

/// Whether a step is the first of its reduction.
std::string BodyView::FirstStep() {
  if (plan_.reduction_stay) return "first_" + names_[plan_.reduction_stay];
  std::string first;
  for (const AxisId axis : plan_.reduction_axes)
    first += (first.empty() ? "" : " && ") + OfPoint(axis) + " == 0";
  return first;
}

// ---- names -------------------------------------------------------------------------------------

/// The dimension that a space walks, as the spec calls it.
std::string BodyView::SpaceName(SpaceId space) const {
  const auto dim_of = [&](const Size& extent) {
    const Node* atom = extent.AsAtom();
    return atom && atom->op == Op::kDim ? DimId(atom->index) : DimId();
  };
  for (const RefId r : IdsOf(kernel_.refs)) {
    const Ref& ref = kernel_[r];
    const Buffer& buffer = plan_[BufferOf(r)];
    for (size_t a = 0; a < ref.view_dims.size() && a < buffer.spaces.size(); ++a) {
      if (buffer.spaces[a] != space) continue;
      if (const DimId dim = dim_of(ref.ExtentOf(a))) return kernel_[dim].name;
    }
  }
  const DimId dim = dim_of(plan_[space].extent);
  return dim ? kernel_[dim].name : "tile";
}

std::string BodyView::LoopName(LoopId loop) {
  std::string& name = loops_[loop];
  if (!name.empty()) return name;
  // A name of a loop that is over may be used again.
  const std::string base = SpaceName(plan_[loop].space) + "_";
  const auto taken = [&](const std::string& candidate) {
    return std::any_of(loops_.begin(), loops_.end(),
                       [&](const auto& entry) { return entry.second == candidate; });
  };
  for (const char* letter : {"i", "j", "k", "l"}) {
    const std::string candidate = base + letter;
    if (taken(candidate)) continue;
    if (!loop_names_.count(candidate)) {
      if (scope_.New(candidate) != candidate) continue;
      loop_names_.insert(candidate);
    }
    return name = candidate;
  }
  return name = scope_.Numbered(base + "i");
}

void BodyView::LeaveLoop(LoopId loop) { loops_.erase(loop); }

std::string BodyView::VariableName(VariableId variable) {
  std::string& name = variables_[variable];
  if (name.empty()) name = scope_.New(plan_[variable].name);
  return name;
}

/// How many elements a loop over the space visits.
std::string BodyView::Count(SpaceId space) {
  const Space& s = plan_[space];
  if (!s.clipped && s.extent.Constant()) return scalars_.Print(s.extent);
  std::string& name = counts_[space];
  if (name.empty()) {
    name = scope_.New(SpaceName(space) + "_size");
    count_definitions_.push_back(name + " = " + ExtentOf(space));
  }
  return name;
}

/// A clipped space ends where an operand's block does; panels know only some of their extents.
std::string BodyView::ExtentOf(SpaceId space) {
  const Space& s = plan_[space];
  if (!s.clipped) return "Unsigned(" + scalars_.Print(s.extent) + ")";
  std::string panel_extent;
  for (const RefId r : IdsOf(kernel_.refs)) {
    const Buffer& buffer = plan_[BufferOf(r)];
    if (kernel_[r].block.empty()) continue;
    for (size_t a = 0; a < buffer.spaces.size(); ++a) {
      if (buffer.spaces[a] != space) continue;
      const Layout layout = plan_.operands[r].layout;
      if (layout == Layout::kRows) {
        const std::string of_parts = plan_.operands[r].has_edges ? "step." : "";
        return of_parts + names_[r] + ".high[" + std::to_string(a) + "]";
      }
      const bool is_a = layout == Layout::kPackedA || layout == Layout::kPackedAT;
      const bool transposed = layout == Layout::kPackedAT || layout == Layout::kPackedBT;
      const size_t outer = buffer.spaces.size() - (is_a == transposed ? 1 : 2);
      if (a == outer && panel_extent.empty()) panel_extent = names_[r] + (is_a ? ".rows" : ".cols");
    }
  }
  return panel_extent;
}

/// The rows of a block of accumulators; a dimension of extent 1 has no loop.
std::string BodyView::AccumulatorRows(const Place& place) {
  const Coordinate& row = place.at[place.at.size() - 2];
  return row.loop ? Count(plan_[row.loop].space) : "1";
}

/// The name of where lanes begin at the place; null: there is none.
const std::string* BodyView::NameOfRow(const Place& place) const {
  if (rows_.empty() || place.at.empty() || place.at.back().loop != lanes_) return nullptr;
  Place row = place;
  row.at.back() = {};
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const auto& named) { return SamePlace(named.first, row); });
  return found == rows_.end() ? nullptr : &found->second;
}

std::string BodyView::Pointer(const Place& place) {
  if (const std::string* row = NameOfRow(place))
    return *row + " + " + scalars_.Print(place.at.back());
  const Buffer& buffer = plan_[place.buffer];
  const std::string& name = names_[place.buffer];
  if (plan_.IsAccumulator(place.buffer)) {
    return "AccumulatorAt(" + name + ", " + AccumulatorRows(place) + ", " +
           scalars_.Print(place.at[place.at.size() - 2]) + ", " + scalars_.Print(place.at.back()) +
           ")";
  }
  std::string text = name + ".At(";
  bool first = true;
  for (size_t d = 0; d < place.at.size(); ++d) {
    if (!Keeps(buffer, d)) continue;
    text += (first ? "" : ", ") + scalars_.Print(place.at[d]);
    first = false;
  }
  return text + ")";
}

/// The distance between elements of a place along a loop.
std::string BodyView::Stride(const Place& place, LoopId loop) {
  const Buffer& buffer = plan_[place.buffer];
  int kept = 0;
  for (size_t d = 0; d < place.at.size(); ++d) {
    if (!Keeps(buffer, d)) continue;
    if (place.at[d].loop == loop) {
      const int64_t stride = place.at[d].stride;
      return names_[place.buffer] + ".stride[" + std::to_string(kept) + "]" +
             (stride == 1 ? "" : " * " + std::to_string(stride));
    }
    ++kept;
  }
  return "1";
}

/// A last argument that says how far lanes are apart where rows have no gaps, if that is so little
/// that the runtime loads and stores them by whole vectors.
std::string BodyView::LikelyStride(const Place& place, LoopId loop) {
  constexpr int64_t kMost = 8;
  const Buffer& buffer = plan_[place.buffer];
  std::optional<int64_t> apart;
  for (size_t d = 0; d < place.at.size(); ++d) {
    if (!Keeps(buffer, d)) continue;
    if (place.at[d].loop == loop) {
      apart = place.at[d].stride;
    } else if (apart) {
      const int64_t extent = buffer.extents[d].Constant().value_or(kMost + 1);
      if (extent > kMost) return "";
      *apart *= extent;
    }
  }
  const bool little = apart && *apart > 1 && *apart <= kMost;
  return little ? ", Likely<" + std::to_string(*apart) + ">()" : "";
}

}  // namespace kiln::render
