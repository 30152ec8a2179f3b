#include "generator/planner/decide/narrow.h"

#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// How often something reads a buffer, and how often that is a dot of bf16 as its A; how often
/// something sets it, and how often by elements that may have another type.
struct TimesUsed {
  int reads = 0, by_dots = 0;
  int writes = 0, by_stores = 0;

  bool AreOfOneDot() const { return reads > 0 && reads == by_dots && writes == by_stores; }
};

Table<TimesUsed, Buffer> CountUses(const Plan& plan) {
  Table<TimesUsed, Buffer> uses(plan.buffers.size());
  for (const BodyPlan& body : plan.bodies) {
    ForEachPlace(body.stages, [&](const Place& place, bool writes) {
      TimesUsed& use = uses[RootOf(plan, place.buffer)];
      ++(writes ? use.writes : use.reads);
      // Another shape of a buffer has its type.
      if (RootOf(plan, place.buffer) != place.buffer) ++use.reads;
    });
    ForEachStage(body.stages, [&](const Stage& stage) {
      if (const auto* store = As<stage::Store>(stage)) ++uses[store->place.buffer].by_stores;
      const auto* pack = As<stage::Pack>(stage);
      if (!pack || pack->value) return;
      const Panels& panels = plan[pack->panels];
      if (panels.side == Side::kA && panels.element == DType::kBF16)
        ++uses[pack->place.buffer].by_dots;
    });
  }
  return uses;
}

}  // namespace

void NarrowValues(Plan& plan) {
  const Table<TimesUsed, Buffer> uses = CountUses(plan);
  for (const BufferId b : plan.buffers.ids()) {
    Buffer& buffer = plan.buffers[b];
    if (!IsTemp(plan, b) || buffer.dtype != DType::kF32) continue;
    if (!uses[b].AreOfOneDot()) continue;
    buffer.dtype = DType::kBF16;
    for (BodyPlan& body : plan.bodies) {
      ChangeStages(body.stages, [&](Stage& stage) {
        auto* store = As<stage::Store>(stage);
        if (store && store->place.buffer == b) store->value = CastTo(store->value, DType::kBF16);
      });
    }
  }
}

}  // namespace kiln
