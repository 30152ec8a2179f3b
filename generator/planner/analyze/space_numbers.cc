// The classes of SpaceAnalysis as spaces: which are clipped, and their numbers.
#include <algorithm>

#include "generator/planner/analyze/operands.h"
#include "generator/planner/analyze/spaces.h"

namespace kiln {

/// All operands of the class are cut at the same edge by the same index, and nothing outlives a
/// change of that index.
bool SpaceAnalysis::MayClip(ClassId root) const {
  if (classes_[root].pinned) return false;
  const auto found = members_.find(root);
  if (found == members_.end()) return false;
  const BlockDim* first = nullptr;
  Size size, array;
  for (const Member& m : found->second) {
    const Ref& ref = kernel_[m.ref];
    if (ref.memory == Memory::kAny) return false;
    const BlockDim& block = ref.DimOf(m.view_axis);
    if (block.kind != BlockDim::Kind::kBlocked) return false;
    if (!first) {
      first = &block;
      size = ref.view[m.view_axis], array = ref.ExtentOf(m.view_axis);
      continue;
    }
    if (!(array == ref.ExtentOf(m.view_axis)) || !(size == ref.view[m.view_axis]) ||
        ToString(*block.index, kernel_) != ToString(*first->index, kernel_)) {
      return false;
    }
  }
  const std::vector<RefId>& carried = classes_[root].carried;
  if (carried.empty()) return true;
  if (first->index->op != Op::kAxis) return false;
  const AxisId axis(first->index->index);
  return kernel_[axis].parallel || std::all_of(carried.begin(), carried.end(), [&](RefId scratch) {
           return BeginsAnew(kernel_, scratch, axis);
         });
}

/// Decides what is clipped and numbers the spaces.
void SpaceAnalysis::NumberAll() {
  for (const ClassId c : classes_.ids()) {
    const ClassId root = Find(c);
    if (numbers_.count(root)) continue;
    if (!MayClip(root)) {
      numbers_[root] = SpaceOf(classes_[root].extent);
      continue;
    }
    // Outputs first: their part inside the array is what counts.
    const std::vector<Member>& members = members_[root];
    const Member* best = &members[0];
    for (const Member& m : members) {
      if (kernel_[m.ref].role == Role::kOutput) best = &m;
    }
    numbers_[root] = spaces_.Add({classes_[root].extent, true, best->ref, best->view_axis});
  }
}

SpaceId SpaceAnalysis::SpaceOf(const Size& extent) {
  const auto [it, added] = by_extent_.try_emplace(extent.ToString());
  if (added) it->second = spaces_.Add({extent, false, {}, 0});
  return it->second;
}

SpaceAnalysis::Spaces SpaceAnalysis::Number(const Classes& classes) const {
  Spaces numbers;
  for (const ClassId c : classes) numbers.push_back(c ? numbers_.at(Find(c)) : SpaceId());
  return numbers;
}

SpaceAnalysis::Spaces SpaceAnalysis::SpacesOf(const Node& node) {
  const auto known = nodes_.find(&node);
  if (known != nodes_.end()) return Number(known->second);
  Spaces spaces;
  for (const Size& extent : node.shape)
    spaces.push_back(extent.IsOne() ? SpaceId() : SpaceOf(extent));
  return spaces;
}

}  // namespace kiln
