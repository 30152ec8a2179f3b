#include "generator/planner/decide/watch.h"

#include <algorithm>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

bool Overlap(const Ref& ref) {
  return std::any_of(ref.block.begin(), ref.block.end(), [](const BlockDim& dim) {
    return dim.kind == BlockDim::Kind::kElement || dim.kind == BlockDim::Kind::kBounded;
  });
}

/// Whether the grid, or a copy by hand, moves parts of an input whose memory the output takes over.
bool IsShared(const Kernel& kernel, RefId output) {
  const bool copies = std::any_of(kernel.refs.begin(), kernel.refs.end(),
                                  [](const Ref& ref) { return ref.role == Role::kSemaphore; });
  for (const RefId r : IdsOf(kernel.refs)) {
    const bool touches = IsPipelined(kernel[r]) || copies;
    if (touches && RefId(kernel.BorrowerOf(r.number())) == output) return true;
  }
  return false;
}

bool UsesVisit(const Plan& plan, End end, RefId ref) {
  bool uses = false;
  for (const BodyPlan& body : plan.bodies) {
    for (const Stage& stage : body.stages) {
      ForEachElement(stage, [&](const Element& e) {
        const auto* is = As<element::IsVisit>(e);
        uses = uses || (is && is->end == end && is->ref == ref);
      });
    }
  }
  return uses;
}

}  // namespace

void FindWatched(Plan& plan) {
  const Kernel& kernel = *plan.kernel;
  for (const RefId r : plan.operands.ids()) {
    const bool output = kernel[r].role == Role::kOutput && IsPipelined(kernel[r]);
    plan.operands[r].watched = output && (Overlap(kernel[r]) || IsShared(kernel, r));
  }
}

void FindVisits(Plan& plan) {
  for (const RefId r : plan.operands.ids()) {
    if (!IsPipelined((*plan.kernel)[r]) || StayAxes(*plan.kernel, r)) continue;
    const bool peeled = r == plan.reduction_stay && plan.IsPeeled();
    OperandPlan& operand = plan.operands[r];
    operand.knows_first = peeled || UsesVisit(plan, End::kFirst, r);
    operand.knows_last = (peeled && plan.Finishes()) || UsesVisit(plan, End::kLast, r);
  }
}

}  // namespace kiln
