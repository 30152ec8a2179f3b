#include "generator/planner/analyze/joined_shapes.h"

#include <algorithm>
#include <iterator>

namespace kiln {

std::vector<std::vector<size_t>> PartsOf(const Shape& whole, const Shape& joined) {
  std::vector<std::vector<size_t>> parts;
  size_t next = 0;
  for (const Size& size : joined) {
    std::vector<size_t> of;
    Size product = 1;
    do {
      if (next == whole.size()) return {};
      product = product * whole[next];
      of.push_back(next++);
    } while (!(product == size));
    parts.push_back(std::move(of));
  }
  return next == whole.size() ? parts : std::vector<std::vector<size_t>>();
}

bool Joins(const Shape& whole, const Shape& joined) {
  return !PartsOf(whole, joined).empty() && BeyondOne(whole) != BeyondOne(joined);
}

Shape BeyondOne(const Shape& shape) {
  Shape rest;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(rest),
               [](const Size& size) { return !size.IsOne(); });
  return rest;
}

std::optional<Shape> SeenBeside(const Shape& value, const Shape& whole, const Shape& joined) {
  const auto parts = PartsOf(whole, joined);
  if (parts.empty() || value.size() > whole.size()) return std::nullopt;
  const size_t missing = whole.size() - value.size();
  const auto extent = [&](size_t d) { return d < missing ? Size(1) : value[d - missing]; };
  Shape seen;
  for (size_t p = 0; p < parts.size(); ++p) {
    const std::vector<size_t>& of = parts[p];
    if (of.back() < missing) continue;
    const bool none =
        std::all_of(of.begin(), of.end(), [&](size_t d) { return extent(d).IsOne(); });
    const bool all =
        std::all_of(of.begin(), of.end(), [&](size_t d) { return extent(d) == whole[d]; });
    if (!none && !all) return std::nullopt;
    seen.push_back(none ? Size(1) : joined[p]);
  }
  return seen;
}

namespace {

/// Whether each block has all of the array along an axis of the view.
bool IsWhole(const Ref& ref, size_t axis) {
  const BlockDim& dim = ref.DimOf(axis);
  if (dim.kind == BlockDim::Kind::kAll) return true;
  return dim.kind == BlockDim::Kind::kBlocked && dim.size == ref.ExtentOf(axis);
}

/// The dimensions of a view that make each joined one, without those of extent 1 in front of all,
/// of which blocks have one element; empty: it cannot be seen so.
std::vector<std::vector<size_t>> PartsOfView(const Ref& ref, const Shape& joined) {
  auto parts = PartsOf(ref.view, joined);
  if (parts.empty()) return parts;
  std::vector<size_t>& first = parts.front();
  const auto is_one = [&](size_t axis) {
    const BlockDim::Kind kind = ref.DimOf(axis).kind;
    return ref.view[axis].IsOne() &&
           (kind == BlockDim::Kind::kBlocked || kind == BlockDim::Kind::kAll);
  };
  while (first.size() > 1 && is_one(first.front())) first.erase(first.begin());
  return parts;
}

}  // namespace

bool CanJoin(const Ref& ref, const Shape& joined) {
  if (ref.memory != Memory::kVmem || IsPacked(ref.dtype)) return false;
  if (ref.role == Role::kScratch) return Joins(ref.view, joined);
  if (!IsPipelined(ref)) return false;
  const auto parts = PartsOfView(ref, joined);
  if (parts.empty() || parts.back().size() != 1) return false;
  bool joins = false;
  for (const std::vector<size_t>& of : parts) {
    for (size_t k = 1; k < of.size(); ++k) {
      const bool follows = ref.view_dims[of[k]] == ref.view_dims[of[k - 1]] + 1;
      if (!IsWhole(ref, of[k]) || !follows) return false;
    }
    joins = joins || of.size() > 1;
    if (of.size() > 1 && ref.DimOf(of.front()).kind == BlockDim::Kind::kBounded) return false;
  }
  return joins;
}

void JoinView(Ref& ref, const Shape& joined) {
  if (ref.role == Role::kScratch) {
    ref.view = joined;  // `array` stays what budgets count
    return;
  }
  const auto parts = PartsOfView(ref, joined);
  std::vector<size_t> dims;
  std::vector<BlockDim>& block = ref.block;
  for (size_t axis = 0; axis < parts.front().front(); ++axis)
    block[ref.view_dims[axis]].kind = BlockDim::Kind::kSqueezed;
  for (const std::vector<size_t>& of : parts) {
    dims.push_back(ref.view_dims[of.front()]);
    for (size_t k = 1; k < of.size(); ++k) ref.joined.push_back(ref.view_dims[of[k]]);
  }
  ref.view = joined;
  ref.view_dims = std::move(dims);
}

}  // namespace kiln
