#include "generator/planner/decide/pages.h"

#include <set>

#include "generator/plan/walk.h"

namespace kiln {

bool IsFromInput(const Plan& plan, const stage::Copy& copy) {
  const Ref* ref = plan.RefOf(copy.from.begin.buffer);
  return ref && ref->role == Role::kInput && ref->memory == Memory::kAny &&
         plan.kernel->BorrowerOf(plan[copy.from.begin.buffer].ref.number()) < 0;
}

namespace {

/// What stages do with scratch.
class UsesOfBuffers {
 public:
  explicit UsesOfBuffers(const Plan& plan) : plan_(plan) {
    for (const BodyPlan& body : plan.bodies)
      ForEachStage(body.stages, [&](const Stage& stage) { Add(stage); });
  }

  /// Buffers that have no use but copies from inputs and dots of few rows, and have both.
  std::set<BufferId> InPages() const {
    std::set<BufferId> in_pages;
    for (const BufferId buffer : copied_)
      if (multiplied_.count(buffer) && !others_.count(buffer)) in_pages.insert(buffer);
    return in_pages;
  }

 private:
  void Add(const Stage& stage) {
    const auto* copy = As<stage::Copy>(stage);
    const auto* pack = As<stage::Pack>(stage);
    const bool few_rows = pack && pack->others && plan_[pack->panels].side == Side::kB;
    const Place* const allowed = copy && IsFromInput(plan_, *copy) ? &copy->to.begin
                                 : few_rows && !pack->value        ? &pack->place
                                                                   : nullptr;
    if (allowed) (copy ? copied_ : multiplied_).insert(RootOf(plan_, allowed->buffer));
    const auto add = [&](const Place& place) {
      if (&place != allowed) others_.insert(RootOf(plan_, place.buffer));
    };
    const auto add_loads = [&](const ElementPtr& e) { ForEachLoad(e, add); };
    // Lists of statements have their turn by themselves.
    ForEachPart(stage,
                Overloaded{[&](const Place& place, Access access) {
                             if (access != Access::kNames) add(place);
                             for (const Coordinate& c : place.at) add_loads(c.offset);
                           },
                           [&](const ElementPtr& e) { add_loads(e); },
                           [&](const Prefetch& prefetch) { add(prefetch.place); }, Ignore()});
  }

  const Plan& plan_;
  std::set<BufferId> copied_, multiplied_, others_;
};

}  // namespace

void FindPages(Plan& plan) {
  for (const BufferId buffer : UsesOfBuffers(plan).InPages()) {
    const Ref* ref = plan.RefOf(buffer);
    plan.buffers[buffer].in_pages = ref && ref->role == Role::kScratch;
  }
}

}  // namespace kiln
