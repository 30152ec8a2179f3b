#include "generator/planner/decide/edges.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/loops/turn_inside.h"

namespace kiln {
namespace {

/// The axes of an operand's view along which a block may be partly outside of its array, and loops
/// do not stop there.
std::vector<size_t> AxesBeyond(const Plan& plan, RefId r) {
  const Ref& ref = (*plan.kernel)[r];
  std::vector<size_t> axes;
  for (size_t a = 0; a < ref.view_dims.size(); ++a) {
    const BlockDim::Kind kind = ref.DimOf(a).kind;
    const bool is_whole = kind == BlockDim::Kind::kAll || kind == BlockDim::Kind::kSqueezed;
    if (!is_whole && !plan.operands[r].clipped[ref.view_dims[a]]) axes.push_back(a);
  }
  return axes;
}

/// Whether blocks of an input are windows by the element that have a value outside of their array.
bool MayHaveEdges(const Plan& plan, RefId r) {
  const Ref& ref = (*plan.kernel)[r];
  if (ref.role != Role::kInput || !IsPipelined(ref) || !ref.pad || !ref.joined.empty())
    return false;
  const OperandPlan& operand = plan.operands[r];
  if (operand.layout != OperandPlan::Layout::kRows || operand.copied || IsPacked(ref.dtype))
    return false;
  const std::vector<size_t> beyond = AxesBeyond(plan, r);
  // Lanes are all inside, or all outside.
  if (!beyond.empty() && beyond.back() + 1 == ref.view.size()) return false;
  if (ref.view_dims.empty() || ref.view_dims.back() + 1 != ref.array.size()) return false;
  return std::any_of(beyond.begin(), beyond.end(),
                     [&](size_t a) { return ref.DimOf(a).kind == BlockDim::Kind::kElement; });
}

/// Who reads a block, loop by loop.
class Readers {
 public:
  Readers(Plan& plan, RefId r) : plan_(plan), buffer_(BufferOf(r)) {
    for (BodyPlan& body : plan.bodies) Visit(body.stages);
    for (const Space& space : plan.spaces) all_ = all_ && !(space.clipped && space.ref == r);
  }

  /// Whether the loops found, none of which is within another, read all that is read of the block.
  bool HaveAll() const {
    return all_ && !parts_.empty() &&
           std::all_of(
               parts_.begin(), parts_.end(),
               [](const auto& part) { return IsSmall(part.second, LoopOf(*part.first)); }) &&
           std::none_of(parts_.begin(), parts_.end(), [&](const auto& part) {
             return AnyStage(*BodyOf(*part.first), [&](const Stage& inner) {
               return parts_.count(const_cast<Stage*>(&inner)) > 0;
             });
           });
  }

  void TakeByParts() {
    for (auto& [stage, windows] : parts_) {
      const LoopId loop = LoopOf(*stage);
      const auto along = std::find_if(windows.begin(), windows.end(),
                                      [&](const EdgeWindow& w) { return w.loop == loop; });
      stage::AtEdges parts{buffer_, {}, *along, {}};
      windows.erase(along);
      parts.around = std::move(windows);
      parts.body.push_back(std::move(*stage));
      DropPrefetches(parts.body);
      *stage = {parts.body.front().span, std::move(parts)};
    }
  }

 private:
  struct Between {
    int64_t first, last;
  };
  static bool IsSmall(const Between& values) {
    constexpr int64_t kMost = int64_t{1} << 32;
    return values.first >= -kMost && values.last <= kMost;
  }

  /// Whether the runtime has room (RowTable) for what four iterations of a loop see, or two of each
  /// of two loops, and one of the windows is along the loop.
  static bool IsSmall(const std::vector<EdgeWindow>& windows, LoopId along) {
    constexpr int64_t kMost = 128;
    int64_t rows = 1, of_along = 0;
    for (const EdgeWindow& window : windows) {
      const bool is_along = window.loop == along;
      of_along += is_along;
      if (window.step > kMost || window.last - window.first > kMost) return false;
      rows *= window.last - window.first + 1 + window.step * (is_along ? kFourRows - 1 : 1);
      if (rows > kMost) return false;
    }
    return of_along == 1;
  }

  /// Requests of what is not in a window.
  void DropPrefetches(Stages& stages) const {
    const auto drop = [&](std::vector<Prefetch>& prefetches) {
      std::erase_if(prefetches, [&](const Prefetch& p) { return IsOf(p.place); });
    };
    ChangeStages(stages, [&](Stage& stage) {
      if (auto* lanes = As<stage::Lanes>(stage)) drop(lanes->prefetches);
      if (auto* reduce = As<stage::Reduce>(stage)) drop(reduce->prefetches);
    });
  }

  void Visit(Stages& stages) {
    for (Stage& stage : stages) {
      if (Is<stage::AtEdges>(stage)) {  // of another block, and one is enough
        ForEachPlace(stage, [&](const Place& place, bool) { all_ = all_ && !IsOf(place); });
        continue;
      }
      const bool is_loop = Is<stage::Loop>(stage);
      if (is_loop) around_.push_back(&stage);
      if (const auto* turns = As<stage::For>(stage)) Enter(*turns);
      ForEachPart(
          stage, Overloaded{[&](const Place& place, Access) { Add(place); },
                            [&](ElementPtr& e) {
                              ForEachLoad(e, [&](const Place& place) { Add(place); });
                              if (e) ForEachElement(e, [&](const Element& x) { Look(x); });
                            },
                            [&](const Prefetch&) {}, [&](Stages& list) { Visit(list); }, Ignore()});
      if (is_loop) around_.pop_back();
    }
  }

  void Enter(const stage::For& turns) {
    const std::optional<int64_t> count = TurnsOf(turns);
    if (!count) return;
    const int64_t low = As<element::Constant>(turns.low)->int_value;
    turns_[turns.variable] = {low, low + *count - 1};
  }

  /// The least and the largest value of an offset of which no more than turns is unknown.
  std::optional<Between> BetweenOf(const ElementPtr& offset) const {
    if (!offset) return Between{0, 0};
    if (const auto* constant = As<element::Constant>(*offset))
      return Between{constant->int_value, constant->int_value};
    if (const auto* named = As<element::Named>(*offset)) {
      const auto turns = turns_.find(named->variable);
      return turns == turns_.end() ? std::nullopt : std::optional(turns->second);
    }
    const auto* sum = AsOp(*offset, Op::kAdd);
    const auto a = sum ? BetweenOf(sum->args[0]) : std::nullopt;
    const auto b = sum ? BetweenOf(sum->args[1]) : std::nullopt;
    if (!a || !b || !IsSmall(*a) || !IsSmall(*b)) return {};
    return Between{a->first + b->first, a->last + b->last};
  }

  bool IsOf(const Place& place) const { return RootOf(plan_, place.buffer) == buffer_; }

  void Look(const Element& e) {
    const auto* edge = As<element::Edge>(e);
    all_ = all_ && !(edge && BufferOf(edge->ref) == buffer_);
  }

  /// What loops see along each axis but that of lanes, which are side by side; nothing, if another
  /// one than a loop around says where the place is.
  std::optional<std::vector<EdgeWindow>> WindowsOf(const Place& place) const {
    std::vector<EdgeWindow> windows;
    for (size_t axis = 0; axis < place.at.size(); ++axis) {
      const Coordinate& c = place.at[axis];
      const std::optional<Between> offset = BetweenOf(c.offset);
      if (c.around || !offset || c.stride < 1) return {};
      if (axis + 1 < place.at.size())
        windows.push_back({axis, c.loop, c.stride, offset->first, offset->last});
      else if (c.loop && c.stride != 1)
        return {};
    }
    return windows;
  }

  void Add(const Place& place) {
    if (!IsOf(place)) return;
    const auto windows = place.buffer == buffer_ ? WindowsOf(place) : std::nullopt;
    Stage* const inner = windows ? InnermostOf(*windows) : nullptr;
    if (!inner) {
      all_ = false;
      return;
    }
    std::vector<EdgeWindow>& known = parts_.try_emplace(inner, *windows).first->second;
    for (size_t k = 0; k < known.size(); ++k) {
      EdgeWindow& window = known[k];
      const EdgeWindow& seen = (*windows)[k];
      all_ = all_ && window.loop == seen.loop && window.step == seen.step;
      window.first = std::min(window.first, seen.first);
      window.last = std::max(window.last, seen.last);
    }
  }

  /// The innermost loop around that one of the windows is of, if all of them are of such.
  Stage* InnermostOf(const std::vector<EdgeWindow>& windows) const {
    Stage* innermost = nullptr;
    std::set<LoopId> known = {LoopId()};
    for (Stage* const loop : around_) {
      known.insert(LoopOf(*loop));
      for (const EdgeWindow& window : windows) {
        if (window.loop == LoopOf(*loop)) innermost = loop;
      }
    }
    return std::all_of(windows.begin(), windows.end(),
                       [&](const EdgeWindow& window) { return known.count(window.loop) > 0; })
               ? innermost
               : nullptr;
  }

  Plan& plan_;
  const BufferId buffer_;
  std::map<VariableId, Between> turns_;
  std::vector<Stage*> around_;                       // loops
  std::map<Stage*, std::vector<EdgeWindow>> parts_;  // by the loop that is to be taken by parts
  bool all_ = true;
};

}  // namespace

void FindEdges(Plan& plan) {
  if (plan.kernel->HasAliases()) return;
  for (const RefId r : IdsOf(plan.kernel->refs)) {
    if (!MayHaveEdges(plan, r)) continue;
    Readers readers(plan, r);
    if (!readers.HaveAll()) continue;
    plan.operands[r].has_edges = true;
    readers.TakeByParts();
  }
}

}  // namespace kiln
