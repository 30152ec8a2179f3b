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
      of.dimensions.push_back({extents[d], false});
    } else {
      const Subscript& s = window.subscripts[d];
      c.offset = Scalar(*s.start);
      of.dimensions.push_back({ReachOf(s), !s.range});
    }
    of.begin.at.push_back(c);
  }
  return of;
}

void Lowering::Copy(const action::Copy& copy) {
  stage::Copy stage;
  stage.on = {RefId(copy.semaphore), Scalar(*copy.slot)};
  stage.from = WindowOf(copy.source);
  stage.to = WindowOf(copy.target);
  Emit(std::move(stage));
}

void Lowering::Wait(const action::Wait& wait) {
  stage::Wait stage;
  stage.on = {RefId(wait.semaphore), Scalar(*wait.slot)};
  CopiedOn(kernel_.body, wait.semaphore, stage.touched);
  CopiedOn(kernel_.epilogue, wait.semaphore, stage.touched);
  Emit(std::move(stage));
}

}  // namespace kiln
