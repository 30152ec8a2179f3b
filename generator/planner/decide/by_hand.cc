#include "generator/planner/decide/by_hand.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"
#include "generator/planner/decide/pages.h"

namespace kiln {
namespace {

using stage::Copy;
using stage::Touch;

bool IsPlainScratch(const Plan& plan, BufferId buffer) {
  const Ref* ref = plan.RefOf(buffer);
  return ref && ref->role == Role::kScratch && ref->memory == Memory::kVmem &&
         !IsPacked(ref->dtype) && !plan.IsAccumulator(buffer);
}

/// Whether it is an output in HBM that has taken over no input's memory.
bool IsOutputAlone(const Plan& plan, BufferId buffer) {
  const Kernel& kernel = *plan.kernel;
  const Ref* ref = plan.RefOf(buffer);
  if (!ref || ref->role != Role::kOutput || ref->memory != Memory::kAny) return false;
  bool alone = true;
  for (const RefId r : IdsOf(kernel.refs))
    alone = alone && kernel.BorrowerOf(r.number()) != plan[buffer].ref.number();
  return alone;
}

bool SameWindow(const CopyWindow& a, const CopyWindow& b) {
  return SamePlace(a.begin, b.begin) && a.dimensions == b.dimensions;
}

/// Whether a window may be elsewhere after the stages behind it, though it says the same.
bool MayMove(const Plan& plan, const CopyWindow& window) {
  bool may = false;
  const auto look = [&](const Element& e) {
    const auto* named = std::get_if<element::Named>(&e.what);
    const auto* load = std::get_if<element::Load>(&e.what);
    const Ref* ref = load ? plan.RefOf(load->place.buffer) : nullptr;
    may = may || (named && plan[named->variable].changes) ||
          (load && !(ref && ref->role == Role::kInput));
  };
  for (const Coordinate& c : window.begin.at) ForEachElement(c.offset, look);
  return may;
}

bool StartsAlike(const ElementPtr& a, const ElementPtr& b) {
  const auto is_zero = [](const ElementPtr& e) { return !e || IsZero(*e); };
  return is_zero(a) ? is_zero(b) : SameElement(a, b);
}

/// Whether a place is in a window of its buffer for all iterations of its loops.
bool IsInside(const Plan& plan, const Place& place, const CopyWindow& window) {
  if (place.buffer != window.begin.buffer) return false;
  for (size_t d = 0; d < place.at.size(); ++d) {
    const auto& [size, point, count] = window.dimensions[d];
    const Coordinate &first = window.begin.at[d], &at = place.at[d];
    const bool whole = StartsAlike(first.offset, {}) && size == plan[place.buffer].extents[d];
    const bool plain = at.stride == 1 && !at.around && StartsAlike(at.offset, first.offset);
    const bool along = at.loop && plan.SpaceOf(at.loop).extent == size;
    if (!(point ? plain && !at.loop : !count && (whole || (plain && along)))) return false;
  }
  return true;
}

/// Whether what is in the stage is evaluated in one go, element by element.
bool IsElementwise(const Stage& stage) {
  using namespace stage;
  const auto is_other = [](const Stage& s) {
    return Is<Dot, Tap, Pack, Along, Request, If, For, While, Copy, Wait>(s);
  };
  return !AnyStage({stage}, is_other);
}

/// Calls `visit` with what is read to find a window, or a semaphore, or as a condition: nobody says
/// of it where it is.
template <class Visit>
void ForEachIndex(const Stage& stage, const Visit& visit) {
  const auto loads = [&](const ElementPtr& e) { ForEachLoad(e, visit); };
  ForEachPart(stage, Overloaded{[&](const Place& place, Access) {
                                  for (const Coordinate& c : place.at) loads(c.offset);
                                },
                                loads, Ignore()});
}

/// Another name of a buffer, whose elements a touch finds.
BufferId SeenAs(Plan& plan, BufferId buffer) {
  Buffer seen = plan[buffer];
  seen.same_as = buffer;
  seen.found = true;
  return plan.buffers.Add(std::move(seen));
}

void PutInPlace(Stage& stage, BufferId from, BufferId to) {
  Stages one{std::move(stage)};
  ChangeBuffers(one, [&](BufferId buffer) { return buffer == from ? to : buffer; });
  stage = std::move(one[0]);
}

/// Scratch that only copies from inputs set, and whose readers have a touch of what they read right
/// before them.
class Brought {
 public:
  explicit Brought(Plan& plan) : plan_(plan) {
    for (BodyPlan& body : plan.bodies) Visit(body.stages);
    for (const BufferId lost : lost_) copied_.erase(lost);
    seeing_ = true;
    for (BodyPlan& body : plan.bodies) Visit(body.stages);
  }

 private:
  void Visit(Stages& stages) {
    std::map<BufferId, Touch> touched;  // what the last touch of a buffer says
    for (Stage& stage : stages) {
      if (!IsElementwise(stage) || Is<Touch>(stage))
        ForEachIndex(stage, [&](const Place& place) { Lose(place.buffer); });
      if (auto* touch = As<Touch>(stage)) {
        VisitTouch(*touch, touched);
      } else if (const auto* copy = As<Copy>(stage)) {
        const BufferId to = copy->to.begin.buffer;
        touched.erase(to);
        if (!seeing_) (IsFromInput(plan_, *copy) ? copied_ : lost_).insert(to);
      } else if (IsElementwise(stage)) {
        VisitNest(stage, touched);
      } else if (Is<stage::If, stage::For, stage::While>(stage)) {
        ForEachList(stage, [&](Stages& list) { Visit(list); });
        touched.clear();
      } else if (!Is<stage::Wait>(stage)) {
        ForEachPlace(stage, [&](const Place& place, bool) { Lose(place.buffer); });
      }
    }
  }

  void VisitTouch(Touch& touch, std::map<BufferId, Touch>& touched) {
    const BufferId buffer = touch.window.begin.buffer;
    if (touch.writes || !IsPlainScratch(plan_, buffer)) return Lose(buffer);
    const auto former = touched.find(buffer);
    if (former != touched.end() && SameWindow(former->second.window, touch.window) &&
        !MayMove(plan_, touch.window))
      return;
    if (seeing_ && copied_.count(buffer)) touch.seen_as = SeenAs(plan_, buffer);
    touched.insert_or_assign(buffer, touch);
  }

  void VisitNest(Stage& stage, const std::map<BufferId, Touch>& touched) {
    std::set<BufferId> read;
    ForEachPlace(stage, [&](const Place& place, bool writes) {
      const BufferId root = RootOf(plan_, place.buffer);
      const auto touch = touched.find(root);
      if (writes || touch == touched.end() || !IsInside(plan_, place, touch->second.window)) {
        Lose(root);
      } else if (touch->second.seen_as) {
        read.insert(root);
      }
    });
    for (const BufferId buffer : read) PutInPlace(stage, buffer, touched.at(buffer).seen_as);
  }

  void Lose(BufferId buffer) { lost_.insert(RootOf(plan_, buffer)); }

  Plan& plan_;
  bool seeing_ = false;  // whether it is known which can be seen where copies found them
  std::set<BufferId> copied_, lost_;
};

/// Scratch that only copies read, each right behind what sets all that it moves.
class SetAhead {
 public:
  explicit SetAhead(Plan& plan) : plan_(plan) {
    for (BodyPlan& body : plan.bodies) Count(body.stages);
    for (BodyPlan& body : plan.bodies) Visit(body.stages);
  }

 private:
  /// How often a buffer is read, set or copied, and how often of these as it may be set ahead.
  struct Tally {
    int all = 0, ahead = 0;
  };

  static bool Names(const CopyWindow& window, const std::vector<VariableId>& variables) {
    return std::any_of(variables.begin(), variables.end(), [&](VariableId v) {
      return std::any_of(window.begin.at.begin(), window.begin.at.end(),
                         [&](const Coordinate& c) { return c.offset && Uses(c.offset, v); });
    });
  }

  /// Whether a copy takes something else out of scratch, to another array, and so changes nothing
  /// for one behind it to that array.
  bool IsBeside(const Copy& copy, const CopyWindow& window) const {
    const BufferId from = copy.from.begin.buffer;
    return IsPlainScratch(plan_, from) && from != window.begin.buffer &&
           IsOutputAlone(plan_, copy.to.begin.buffer);
  }

  /// The place of the copy that moves what is set behind a touch; none: the end.
  size_t CopyBehind(const Stages& stages, size_t touch) const {
    const CopyWindow& window = As<Touch>(stages[touch])->window;
    std::vector<VariableId> named;
    std::set<BufferId> others;  // arrays to which something else is copied before
    for (size_t i = touch + 1; i < stages.size(); ++i) {
      const Stage& stage = stages[i];
      if (const auto* copy = As<Copy>(stage)) {
        if (IsBeside(*copy, window)) {
          others.insert(copy->to.begin.buffer);
          continue;
        }
        const bool moves_it = SameWindow(copy->from, window) && !Names(copy->to, named) &&
                              !others.count(copy->to.begin.buffer) && !MayMove(plan_, window) &&
                              !MayMove(plan_, copy->to) &&
                              IsOutputAlone(plan_, copy->to.begin.buffer);
        return moves_it ? i : stages.size();
      }
      const auto* other = As<Touch>(stage);
      const bool again =
          other && other->writes && other->window.begin.buffer == window.begin.buffer;
      if (again || Is<stage::Assign>(stage) || !(IsElementwise(stage) || Is<stage::Wait>(stage)))
        break;
      for (const VariableId name : NamesOf(stage)) named.push_back(name);
    }
    return stages.size();
  }

  /// How often the stage sets elements of the window, each time all that its loops run over.
  int Sets(const Stage& stage, const CopyWindow& window) const {
    int sets = 0;
    ForEachStage({stage}, [&](const Stage& s) {
      const auto* store = As<stage::Store>(s);
      sets += store && !store->mask && IsInside(plan_, store->place, window);
    });
    return sets;
  }

  void Count(const Stages& stages) {
    for (size_t i = 0; i < stages.size(); ++i) {
      const Stage& stage = stages[i];
      if (!IsElementwise(stage) || Is<Touch>(stage))
        ForEachIndex(stage, [&](const Place& place) { Use(place); });
      if (const auto* copy = As<Copy>(stage)) {
        ++tallies_[copy->from.begin.buffer].all;
        ++tallies_[copy->to.begin.buffer].all;
      } else if (Is<stage::If, stage::For, stage::While>(stage)) {
        ForEachList(stage, [&](const Stages& list) { Count(list); });
      } else if (!Is<Touch, stage::Wait>(stage)) {
        ForEachPlace(stage, [&](const Place& place, bool) { Use(place); });
      }
      const auto* touch = As<Touch>(stage);
      if (touch && touch->writes) CountAhead(stages, i);
    }
  }

  void Use(const Place& place) { ++tallies_[RootOf(plan_, place.buffer)].all; }

  void CountAhead(const Stages& stages, size_t touch) {
    const CopyWindow& window = As<Touch>(stages[touch])->window;
    const size_t copy = CopyBehind(stages, touch);
    if (copy == stages.size()) return;
    int sets = 0;
    for (size_t i = touch + 1; i < copy; ++i) sets += Sets(stages[i], window);
    if (sets > 0) tallies_[window.begin.buffer].ahead += sets + 1;
  }

  void Visit(Stages& stages) {
    for (size_t i = 0; i < stages.size(); ++i) {
      auto* touch = As<Touch>(stages[i]);
      if (touch && touch->writes) {
        const BufferId buffer = touch->window.begin.buffer;
        const Tally& tally = tallies_[buffer];
        if (tally.ahead == tally.all && IsPlainScratch(plan_, buffer)) SeeAhead(stages, i);
      } else {
        ForEachList(stages[i], [&](Stages& list) { Visit(list); });
      }
    }
  }

  void SeeAhead(Stages& stages, size_t i) {
    auto& touch = *As<Touch>(stages[i]);
    const size_t copy = CopyBehind(stages, i);
    touch.seen_as = SeenAs(plan_, touch.window.begin.buffer);
    touch.ahead = As<Copy>(stages[copy])->to;
    for (size_t k = i + 1; k < copy; ++k)
      PutInPlace(stages[k], touch.window.begin.buffer, touch.seen_as);
  }

  Plan& plan_;
  std::map<BufferId, Tally> tallies_;
};

}  // namespace

void SeeCopiesWhereTheyAre(Plan& plan) {
  Brought brought(plan);
  SetAhead set(plan);
}

}  // namespace kiln
