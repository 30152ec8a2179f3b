#include "generator/planner/decide/narrow.h"

#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// How often something reads a buffer, and how often that is a dot of bf16 as its A.
struct Reads {
  int all = 0, by_dots = 0;
};

Table<Reads, Buffer> CountReads(const Plan& plan) {
  Table<Reads, Buffer> reads(plan.buffers.size());
  for (const BodyPlan& body : plan.bodies) {
    ForEachPlace(body.stages, [&](const Place& place, bool writes) {
      if (!writes) ++reads[RootOf(plan, place.buffer)].all;
      // Another shape of a buffer has its type.
      if (RootOf(plan, place.buffer) != place.buffer) ++reads[RootOf(plan, place.buffer)].all;
    });
    ForEachStage(body.stages, [&](const Stage& stage) {
      const auto* pack = As<stage::Pack>(stage);
      if (!pack || pack->value) return;
      const Panels& panels = plan[pack->panels];
      if (panels.side == Side::kA && panels.element == DType::kBF16)
        ++reads[pack->place.buffer].by_dots;
    });
  }
  return reads;
}

}  // namespace

void NarrowValues(Plan& plan) {
  const Table<Reads, Buffer> reads = CountReads(plan);
  for (const BufferId b : plan.buffers.ids()) {
    Buffer& buffer = plan.buffers[b];
    if (!IsTemp(plan, b) || buffer.dtype != DType::kF32) continue;
    if (reads[b].all == 0 || reads[b].all != reads[b].by_dots) continue;
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
