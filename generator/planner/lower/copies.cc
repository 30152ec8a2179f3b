#include <algorithm>

#include "generator/planner/lower/lowering.h"

/// Manual copies.
namespace kiln {
namespace {

/// The buffers that copies on a semaphore read or write, wherever they are.
void CopiedOn(const Actions& actions, int semaphore, std::vector<BufferId>& buffers) {
  ForEachAction(actions, [&](const Action& action) {
    const auto* copy = As<action::Copy>(action);
    if (!copy || copy->semaphore != semaphore) return;
    buffers.push_back(BufferOf(RefId(copy->source.ref)));
    buffers.push_back(BufferOf(RefId(copy->target.ref)));
  });
}

}  // namespace

CopyWindow Lowering::WindowOf(const Window& window) {
  const RefId ref(window.ref);
  const Shape& extents =
      kernel_[ref].memory == Memory::kAny ? kernel_[ref].array : kernel_[ref].view;
  CopyWindow of{{BufferOf(ref), {}}, {}};
  for (size_t d = 0; d < extents.size(); ++d) {
    Coordinate c;
    if (window.subscripts.empty()) {
      of.dimensions.push_back({extents[d], false, nullptr});
    } else {
      const Subscript& s = window.subscripts[d];
      c.offset = Scalar(*s.start);
      of.dimensions.push_back({ReachOf(s), !s.range, s.count ? Scalar(*s.count) : nullptr});
    }
    of.begin.at.push_back(c);
  }
  return of;
}

SemaphoreSlot Lowering::SlotOf(int semaphore, const std::vector<NodePtr>& slot) {
  SemaphoreSlot on{RefId(semaphore), {}};
  for (const NodePtr& at : slot) on.at.push_back(Scalar(*at));
  return on;
}

void Lowering::Copy(const action::Copy& copy) {
  stage::Copy stage;
  stage.on = SlotOf(copy.semaphore, copy.slot);
  stage.from = WindowOf(copy.source);
  stage.to = WindowOf(copy.target);
  Emit(std::move(stage));
}

void Lowering::Wait(const action::Wait& wait) {
  stage::Wait stage;
  stage.on = SlotOf(wait.semaphore, wait.slot);
  if (wait.window) stage.window = WindowOf(*wait.window);
  CopiedOn(kernel_.body, wait.semaphore, stage.touched);
  CopiedOn(kernel_.epilogue, wait.semaphore, stage.touched);
  Emit(std::move(stage));
}

}  // namespace kiln
