#include "generator/plan/scaled.h"

#include <set>

namespace kiln {
namespace {

/// Whether the type has no values but those that the shortest float of a dot, bf16, has too.
bool IsOfFewBits(DType dtype) {
  switch (dtype) {
    case DType::kI4:
    case DType::kU4:
    case DType::kI8:
    case DType::kU8:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
      return true;
    case DType::kBool:
    case DType::kF8E8M0FNU:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
    case DType::kI16:
    case DType::kU16:
    case DType::kI32:
    case DType::kU32:
    case DType::kI64:
    case DType::kIndex:
    case DType::kWeakInt:
    case DType::kWeakFloat:
      return false;
  }
  __builtin_unreachable();
}

bool KeepsFewBits(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kI32;
}

bool Walks(const Coordinate& c, LoopId loop) {
  return c.loop == loop || (c.offset && DependsOn(*c.offset, loop));
}

/// Whether the coordinate goes up with a loop of a pack, and has nothing to do with the other one.
bool GoesUpWith(const Coordinate& c, LoopId loop, LoopId other) {
  const bool fixed = !c.offset || !(DependsOn(*c.offset, loop) || DependsOn(*c.offset, other));
  return c.loop == loop && c.stride == 1 && !c.around && fixed;
}

/// Whether a pack's columns are neighbours in the place, and its rows those of one dimension.
bool IsMatrix(const Place& place, LoopId row, LoopId col) {
  int rows = 0;
  for (const Coordinate& c : place.at) {
    if (&c == &place.at.back()) return rows == 1 && GoesUpWith(c, col, row);
    if (Walks(c, col) || (Walks(c, row) && !GoesUpWith(c, row, col))) return false;
    rows += Walks(c, row);
  }
  return false;
}

/// The place whose elements the value is, through casts that change none of them.
const Place* StoredIn(const Plan& plan, const stage::Pack& pack, const Element& value) {
  if (const auto* cast = AsOp(value, Op::kCast))
    return KeepsFewBits(value.dtype) ? StoredIn(plan, pack, *cast->args[0]) : nullptr;
  const Place* place = LoadedBy(value);
  const Ref* ref = place ? plan.RefOf(place->buffer) : nullptr;
  const bool stored = ref && ref->role == Role::kInput && IsOfFewBits(value.dtype);
  return stored && IsMatrix(*place, pack.row, pack.col) ? place : nullptr;
}

/// Rows between which the scale does not change: 0: all of them; none: it is another in each.
std::optional<int64_t> RunOf(const Element& scale, LoopId row) {
  if (!DependsOn(scale, row)) return 0;
  if (const auto* quotient = AsOp(scale, Op::kFloorDiv)) {
    const auto* of = As<element::Iteration>(quotient->args[0]);
    const auto* by = As<element::Constant>(quotient->args[1]);
    if (of && by && of->loop == row && by->int_value > 0) return by->int_value;
  }
  const Place* loaded = LoadedBy(scale);
  for (size_t d = 0; loaded && d < loaded->at.size(); ++d) {
    if (loaded->at[d].loop == row) return std::nullopt;
  }
  std::set<int64_t> runs;
  bool constant = true;
  ForEachPart(scale, [&](const ElementPtr& part) {
    const std::optional<int64_t> run = RunOf(*part, row);
    constant = constant && run;
    if (run && *run != 0) runs.insert(*run);
  });
  return constant && runs.size() == 1 ? std::optional(*runs.begin()) : std::nullopt;
}

/// Through what rounds the value for the dot.
const Element& BeforeRounding(const Element& value, DType element) {
  const auto* cast = AsOp(value, Op::kCast);
  return cast && value.dtype == element ? BeforeRounding(*cast->args[0], element) : value;
}

}  // namespace

std::optional<Scaled> ScaledBy(const Plan& plan, const stage::Pack& pack) {
  const Panels& panels = plan[pack.panels];
  const bool floats = panels.element == DType::kF32 || panels.element == DType::kBF16;
  if (!pack.value || pack.by_columns || !pack.body.empty() || panels.side != Side::kB || !floats)
    return {};
  if (const Place* stored = StoredIn(plan, pack, *pack.value)) return Scaled{*stored, nullptr, 0};
  const Element& value = BeforeRounding(*pack.value, panels.element);
  const auto* product = AsOp(value, Op::kMul);
  if (!product || (value.dtype != DType::kF32 && value.dtype != panels.element)) return {};
  for (const size_t side : {0, 1}) {
    const Place* stored = StoredIn(plan, pack, *product->args[side]);
    const ElementPtr& scale = product->args[1 - side];
    const std::optional<int64_t> run = RunOf(*scale, pack.row);
    if (stored && run) return Scaled{*stored, scale, *run};
  }
  return {};
}

}  // namespace kiln
