#include "generator/planner/rewrite/joined_shapes.h"

#include <algorithm>
#include <iterator>

#include "generator/planner/analyze/regroup.h"

namespace kiln {

std::vector<std::vector<size_t>> PartsOf(const Kernel& kernel, const Shape& whole,
                                         const Shape& joined) {
  std::vector<std::vector<size_t>> parts;
  size_t next = 0;
  for (const Size& size : joined) {
    std::vector<size_t> of;
    Size product = 1;
    do {
      if (next == whole.size()) return {};
      product = product * whole[next];
      of.push_back(next++);
    } while (!AreSame(kernel, product, size));
    parts.push_back(std::move(of));
  }
  return next == whole.size() ? parts : std::vector<std::vector<size_t>>();
}

bool Joins(const Kernel& kernel, const Shape& whole, const Shape& joined) {
  return BeyondOne(whole) != BeyondOne(joined) && !PartsOf(kernel, whole, joined).empty();
}

Shape BeyondOne(const Shape& shape) {
  Shape rest;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(rest),
               [](const Size& size) { return !size.IsOne(); });
  return rest;
}

std::optional<Shape> Undivided(const Shape& from, const Shape& to) {
  const std::vector<Group> groups = GroupsOf(from, to);
  if (groups.empty()) return std::nullopt;
  Shape shape;
  for (const Group& group : groups)
    shape.push_back(group.from.size() == 1 ? from[group.from[0]] : to[group.to[0]]);
  return shape;
}

namespace {

/// What a value that broadcasts to `whole` has of one of the parts.
enum class Has { kNone, kSome, kAll };
Has WhatItHas(const Shape& value, const Shape& whole, const std::vector<size_t>& part) {
  const size_t missing = whole.size() - value.size();
  const auto extent = [&](size_t d) { return d < missing ? Size(1) : value[d - missing]; };
  const auto is_one = [&](size_t d) { return extent(d).IsOne(); };
  const auto is_same = [&](size_t d) { return extent(d) == whole[d]; };
  if (std::all_of(part.begin(), part.end(), is_one)) return Has::kNone;
  return std::all_of(part.begin(), part.end(), is_same) ? Has::kAll : Has::kSome;
}

}  // namespace

std::optional<Shape> SeenBeside(const Kernel& kernel, const Shape& value, const Shape& whole,
                                const Shape& joined) {
  const auto parts = PartsOf(kernel, whole, joined);
  if (parts.empty() || value.size() > whole.size()) return std::nullopt;
  Shape seen;
  for (size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].back() < whole.size() - value.size()) continue;
    const Has has = WhatItHas(value, whole, parts[p]);
    if (has == Has::kSome) return std::nullopt;
    seen.push_back(has == Has::kAll ? joined[p] : Size(1));
  }
  return seen;
}

std::optional<Broadening> BroadenedBeside(const Kernel& kernel, const Shape& value,
                                          const Shape& whole, const Shape& joined) {
  const auto parts = PartsOf(kernel, whole, joined);
  if (parts.empty() || value.size() > whole.size()) return std::nullopt;
  Broadening to;
  bool is_smaller = false;
  for (size_t p = 0; p < parts.size(); ++p) {
    const bool none = WhatItHas(value, whole, parts[p]) == Has::kNone;
    is_smaller = is_smaller || (none && !joined[p].IsOne());
    for (const size_t d : parts[p]) to.whole.push_back(none ? Size(1) : whole[d]);
    to.joined.push_back(none ? Size(1) : joined[p]);
  }
  return is_smaller ? std::optional(to) : std::nullopt;
}

bool IsWhole(const Ref& ref, size_t axis) {
  const BlockDim& dim = ref.DimOf(axis);
  if (dim.kind == BlockDim::Kind::kAll) return true;
  return dim.kind == BlockDim::Kind::kBlocked && dim.size == ref.ExtentOf(axis);
}

namespace {

/// The dimensions of a view that make each joined one, without those of extent 1 in front of all,
/// of which blocks have one element; empty: it cannot be seen so.
std::vector<std::vector<size_t>> PartsOfView(const Kernel& kernel, const Ref& ref,
                                             const Shape& joined) {
  auto parts = PartsOf(kernel, ref.view, joined);
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

bool CanJoin(const Kernel& kernel, const Ref& ref, const Shape& joined) {
  if (ref.memory != Memory::kVmem || IsPacked(ref.dtype)) return false;
  if (ref.role == Role::kScratch) return Joins(kernel, ref.view, joined);
  if (!IsPipelined(ref)) return false;
  const auto parts = PartsOfView(kernel, ref, joined);
  if (parts.empty()) return false;
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

void JoinView(const Kernel& kernel, Ref& ref, const Shape& joined) {
  if (ref.role == Role::kScratch) {
    ref.view = joined;  // `array` stays what budgets count
    return;
  }
  const auto parts = PartsOfView(kernel, ref, joined);
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
