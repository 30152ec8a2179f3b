#include <algorithm>

#include "generator/planner/lower/lowering.h"

/// Manual copies.
namespace kiln {
namespace {

/// The buffers that copies on a semaphore read or write, wherever they are.
void CopiedOn(const Actions& actions, int semaphore, std::vector<int>& buffers) {
  ForEachAction(actions, [&](const Action& action) {
    const auto* copy = As<action::Copy>(action);
    if (!copy || copy->semaphore != semaphore) return;
    buffers.push_back(copy->source.ref);
    buffers.push_back(copy->target.ref);
  });
}

}  // namespace

Place Lowering::WindowOf(const Window& window, std::vector<WindowDim>* dims) {
  const Ref& ref = kernel_.refs[static_cast<size_t>(window.ref)];
  const Shape& extents = ref.memory == Memory::kAny ? ref.array : ref.view;
  Place place;
  place.buffer = window.ref;
  for (size_t d = 0; d < extents.size(); ++d) {
    Coordinate c;
    if (window.subscripts.empty()) {
      dims->push_back({extents[d], false});
    } else {
      const Subscript& s = window.subscripts[d];
      c.offset = Scalar(*s.start);
      dims->push_back({s.range ? s.size : Size(1), !s.range});
    }
    place.at.push_back(c);
  }
  return place;
}

void Lowering::Copy(const action::Copy& copy) {
  Stage stage = StageOf(Stage::Kind::kCopy, span_);
  stage.semaphore = copy.semaphore;
  stage.value = Scalar(*copy.slot);
  stage.from = WindowOf(copy.source, &stage.from_window);
  stage.place = WindowOf(copy.target, &stage.place_window);
  Emit(std::move(stage));
}

void Lowering::Wait(const action::Wait& wait) {
  Stage stage = StageOf(Stage::Kind::kWait, span_);
  stage.semaphore = wait.semaphore;
  stage.value = Scalar(*wait.slot);
  CopiedOn(kernel_.body, wait.semaphore, stage.touched);
  CopiedOn(kernel_.epilogue, wait.semaphore, stage.touched);
  Emit(std::move(stage));
}

}  // namespace kiln
