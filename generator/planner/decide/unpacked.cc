#include "generator/planner/decide/unpacked.h"

#include "generator/data/dtype.h"
#include "generator/plan/walk.h"

namespace kiln {

bool IsMultipliedUnpacked(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kF64:
    case DType::kBF16:
    case DType::kI32:
    case DType::kI8:
    case DType::kU8:
      return true;
    case DType::kF16:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kF8E8M0FNU:
    case DType::kBool:
    case DType::kI4:
    case DType::kU4:
    case DType::kI16:
    case DType::kU16:
    case DType::kU32:
    case DType::kI64:
    case DType::kIndex:
    case DType::kWeakInt:
    case DType::kWeakFloat:
      return false;
  }
  __builtin_unreachable();
}

bool IsWidened(DType stored, DType element) {
  return element == DType::kF32 && IsNarrowFloat(stored);
}

bool IsStoredMeanwhile(const Plan& plan, PanelsId panels, BufferId buffer) {
  bool stored = false;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      const auto* dot = As<stage::Dot>(stage);
      if (!dot || (dot->a.panels != panels && dot->b.panels != panels)) return;
      ForEachPlace(dot->body, [&](const Place& place, bool writes) {
        stored = stored || (writes && RootOf(plan, place.buffer) == RootOf(plan, buffer));
      });
    });
  }
  return stored;
}

bool StaysAsItIs(const Plan& plan, const stage::Pack& pack) {
  const BufferId buffer = pack.place.buffer;
  const Ref* ref = plan.RefOf(buffer);
  const bool lent = ref && plan.kernel->BorrowerOf(plan[buffer].ref.number()) >= 0;
  const DType stored = plan[buffer].dtype, element = plan[pack.panels].element;
  return !pack.value && !pack.low && !pack.high && !pack.live && !lent &&
         (stored == element || IsWidened(stored, element)) &&
         !IsStoredMeanwhile(plan, pack.panels, buffer);
}

const stage::Dot* DotAfter(const Stages& stages, size_t i) {
  size_t next = i + 1;
  while (next < stages.size() && Is<stage::Pack, stage::Define>(stages[next])) ++next;
  return next < stages.size() ? As<stage::Dot>(stages[next]) : nullptr;
}

}  // namespace kiln
