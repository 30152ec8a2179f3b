#include <algorithm>

#include "generator/planner/lower/lowering.h"

/// Manual copies.
namespace kiln {
namespace {

/// The buffers that copies on a semaphore read or write, wherever they are.
void CopiedOn(const std::vector<Action>& actions, int semaphore, std::vector<int>& buffers) {
  for (const Action& action : actions) {
    if (action.kind == Action::Kind::kCopy && action.ref == semaphore) {
      buffers.push_back(action.source.ref);
      buffers.push_back(action.target.ref);
    }
    CopiedOn(action.body, semaphore, buffers);
    CopiedOn(action.orelse, semaphore, buffers);
  }
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

void Lowering::Copy(const Action& action) {
  Stage stage = StageOf(Stage::Kind::kCopy, action.span);
  stage.semaphore = action.ref;
  stage.value = Scalar(*action.slot);
  stage.from = WindowOf(action.source, &stage.from_window);
  stage.place = WindowOf(action.target, &stage.place_window);
  Emit(std::move(stage));
}

void Lowering::Wait(const Action& action) {
  Stage stage = StageOf(Stage::Kind::kWait, action.span);
  stage.semaphore = action.ref;
  stage.value = Scalar(*action.slot);
  CopiedOn(kernel_.body, action.ref, stage.touched);
  CopiedOn(kernel_.epilogue, action.ref, stage.touched);
  Emit(std::move(stage));
}

}  // namespace kiln
