#include "generator/planner/analyze/regroup.h"
#include "generator/planner/lower/lowering.h"

/// Reshapes of scratch that make one of neighbouring dimensions: in rows without gaps these are one
/// already, so that nothing is copied.
namespace kiln {
namespace {

void FindWrites(const Actions& actions, std::vector<std::pair<LocalId, RefId>>& in_order) {
  ForEachAction(actions, [&](const Action& action) {
    if (const auto* define = As<action::Define>(action))
      in_order.push_back({LocalId(define->local), RefId()});
    if (const auto* store = As<action::Store>(action); store && store->ref >= 0)
      in_order.push_back({LocalId(), RefId(store->ref)});
    if (const auto* copy = As<action::Copy>(action))
      in_order.push_back({LocalId(), RefId(copy->target.ref)});
  });
}

/// All of a dimension, its elements one after the other.
bool IsAll(const std::vector<Subscript>& subscripts, size_t d, const Size& extent) {
  if (subscripts.empty()) return true;
  const Subscript& s = subscripts[d];
  return s.range && s.stride == 1 && !s.count && s.size == extent;
}

/// Of each dimension of a window the one of the ref.
std::vector<size_t> DimensionsOf(const std::vector<Subscript>& subscripts, size_t rank) {
  std::vector<size_t> dimensions;
  for (size_t d = 0; d < rank; ++d)
    if (subscripts.empty() || subscripts[d].range) dimensions.push_back(d);
  return dimensions;
}

}  // namespace

Table<std::set<RefId>, Local> WrittenAfterLets(const Kernel& kernel) {
  std::vector<std::pair<LocalId, RefId>> in_order;
  FindWrites(kernel.body, in_order);
  FindWrites(kernel.epilogue, in_order);
  Table<std::set<RefId>, Local> written(kernel.locals.size());
  std::set<RefId> after;
  for (auto at = in_order.rbegin(); at != in_order.rend(); ++at) {
    if (at->second)
      after.insert(at->second);
    else
      written[at->first] = after;
  }
  return written;
}

/// Scratch in VMEM whose elements a body sees as rows of bytes.
bool Lowering::IsPlainScratch(RefId id) const {
  const Ref& ref = kernel_[id];
  return ref.role == Role::kScratch && ref.memory == Memory::kVmem &&
         !plan_.IsAccumulator(BufferOf(id)) && !IsPacked(ref.dtype);
}

/// Whether each dimension of the reshape is one of the scratch that it reads, or several that
/// follow each other, of which all but the first are whole.
bool Lowering::IsJoinable(const Node& reshape) const {
  const Node& read = *reshape.args[0];
  if (read.op != Op::kRead || !IsPlainScratch(RefId(read.index))) return false;
  const Shape& extents = kernel_[RefId(read.index)].view;
  const std::vector<size_t> of_ref = DimensionsOf(read.subscripts, extents.size());
  const std::vector<Group> groups = GroupsOf(read.shape, reshape.shape);
  for (const Group& group : groups) {
    if (group.to.size() != 1) return false;
    const size_t first = of_ref[group.from.front()], last = of_ref[group.from.back()];
    if (first == last) continue;
    if (!read.subscripts.empty() && read.subscripts[first].stride != 1) return false;
    for (size_t d = first + 1; d <= last; ++d)
      if (!IsAll(read.subscripts, d, extents[d])) return false;
  }
  return !groups.empty();
}

/// The element in the scratch itself, as a buffer of the joined dimensions sees it; null: it does
/// not.
ElementPtr Lowering::SeenJoined(const Node& reshape, const Point& point) {
  if (!IsJoinable(reshape)) return nullptr;
  const Node& read = *reshape.args[0];
  const Ref& ref = kernel_[RefId(read.index)];
  const std::vector<size_t> of_ref = DimensionsOf(read.subscripts, ref.view.size());
  const BufferId root = BufferOf(RefId(read.index));

  // Where the window begins, and the loops of dimensions that stay what they are.
  Point in_window(read.shape.size());
  struct Join {
    size_t first, last;  // of the ref
    size_t to;
  };
  std::vector<Join> joins;
  for (const Group& group : GroupsOf(read.shape, reshape.shape)) {
    const size_t first = of_ref[group.from.front()], last = of_ref[group.from.back()];
    if (first == last)
      in_window[group.from[0]] = point[group.to[0]];
    else if (point[group.to[0]].around)
      return nullptr;
    else
      joins.push_back({first, last, group.to[0]});
  }
  const Point whole = Subscripted(ref.name, read.subscripts, ref.view, in_window);

  Place place;
  Shape extents;
  Spaces spaces;
  size_t d = 0;
  const auto keep_until = [&](size_t end) {
    for (; d < end; ++d) {
      extents.push_back(ref.view[d]);
      spaces.push_back(plan_[root].spaces[d]);
      place.at.push_back(whole[d]);
    }
  };
  for (const Join& join : joins) {
    keep_until(join.first);
    Size inner = 1;
    for (size_t k = join.first + 1; k <= join.last; ++k) inner = inner * ref.view[k];
    extents.push_back(ref.view[join.first] * inner);
    spaces.push_back(spaces_.SpacesOf(reshape)[join.to]);
    ElementPtr start = whole[join.first].offset;
    if (start && !IsZero(*start))
      start = MakeOp(Op::kMul, DType::kIndex, {start, Scalar(*inner.ToNode())});
    place.at.push_back(InWindow(point[join.to], 1, start));
    d = join.last + 1;
  }
  keep_until(ref.view.size());

  const auto [seen, added] = joined_.try_emplace(&reshape);
  if (added) {
    plan_.buffers[root].dense = true;
    seen->second = NewTemp(ref.name, ref.dtype, extents, spaces);
    plan_.buffers[seen->second].dense = true;
    plan_.buffers[seen->second].same_as = root;
  }
  place.buffer = seen->second;
  return LoadOf(std::move(place), reshape.dtype);
}

}  // namespace kiln
