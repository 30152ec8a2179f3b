#include "kiln/emulate/operands.h"

#include "kiln/emulate/dma.h"
#include "kiln/errors/diagnostics.h"
#include "kiln/errors/touches.h"
#include "kiln/errors/visits.h"
#include "kiln/format/each_rank.h"

namespace kiln::inline KILN_ABI::internal {

template <int R>
EmulatedIn<R>::EmulatedIn(Core& core, const Operand& operand, const void* array,
                          const Blocks<R>& blocks, const ElementType& element, size_t bytes,
                          int buffers, Hole hole)
    : core_(core),
      operand_(operand),
      array_(array),
      blocks_(blocks),
      bits_(element.bits),
      slots_(core, operand, element, blocks.shape(), bytes, buffers, hole),
      record_(core.RecordOf(operand)),
      notes_(core, operand, blocks, element.bits) {}

template <int R>
void EmulatedIn<R>::CopyIn(const Index<R>& index) {
  // A single slot still has the block of the step that runs now: its copy starts at the wait.
  if (slots_.count() > 1) Start(index, Event::Kind::kCopyInNext);
}

template <int R>
const void* EmulatedIn<R>::Wait(const Index<R>& index, Box<R>* box) {
  if (slots_.count() == 1) Start(index, Event::Kind::kCopyIn);
  if (!core_.ok()) return nullptr;
  Slot* const slot = slots_.Find(index);
  if (slot == nullptr) {
    FailSync(core_, Name(index), "a wait for a block that no copy brings");
    return nullptr;
  }
  *box = blocks_.BoxAt(index);
  if (slot->state == State::kPending || last_moved_ != index) CheckMove(index, *box);
  CheckLent(index, *box);
  Finish(*slot, *box);
  return slot->data;
}

template <int R>
BlockName EmulatedIn<R>::Name(const Index<R>& index) const {
  return {operand_, index.data(), blocks_.dims.data(), R};
}

/// A block that comes in for this step must not have been visited by a former one, nor be written
/// by one that is parallel to it.
template <int R>
void EmulatedIn<R>::CheckLent(const Index<R>& index, const Box<R>& box) {
  if (borrower_ < 0 || core_.touches() == nullptr) return;
  const bool moves = run_ < 0 || last_ != index;
  if (!moves && core_.run() == run_) return;
  run_ = core_.run();
  last_ = index;
  const Clash clash =
      core_.touches()->Read(borrower_, WindowOf(blocks_, box), TouchOf(core_, operand_), moves);
  FailClash(core_, Name(index), clash, /*reads=*/true);
}

/// Checks a block that comes for this step against the manual copies in flight.
template <int R>
void EmulatedIn<R>::CheckMove(const Index<R>& index, const Box<R>& box) {
  last_moved_ = index;
  if (core_.copies() == nullptr) return;
  core_.copies()->CheckMove(operand_, array_, WindowOf(blocks_, box), /*writes=*/false);
}

template <int R>
void EmulatedIn<R>::Start(const Index<R>& index, Event::Kind kind) {
  if (!core_.ok()) return;
  if (slots_.newest().state != State::kEmpty && slots_.newest().index == index) {
    ++record_.skipped;
    return;
  }
  if (!CheckRange(core_, operand_, blocks_, index)) return;
  Slot& slot = slots_.Advance();
  if (slot.state == State::kPending) {
    FailSync(core_, Name(slot.index), "its copy is never waited for");
    return;
  }
  const Box<R> box = blocks_.BoxAt(index);
  if (box.IsWhole())
    slots_.Spoil(slot);
  else
    slots_.Undefine(slot);
  slot.index = index;
  slot.state = State::kPending;
  notes_.Add(kind, blocks_, index);
  if (core_.options().dma == Dma::kEager) Finish(slot, box);
}

template <int R>
void EmulatedIn<R>::Finish(Slot& slot, const Box<R>& box) {
  if (slot.state != State::kPending) return;
  Copy(box, slot.data);
  slot.state = State::kReady;
  ++record_.copies;
  record_.bytes += box.bytes(bits_);
}

template <int R>
EmulatedDotIn<R>::EmulatedDotIn(Core& core, const Operand& operand, const void* array,
                                const Blocks<R>& blocks, const ElementType& element,
                                const DotFormat<R>& format, size_t bytes, const void* tensor,
                                const void* pad, int buffers, Hole hole)
    : EmulatedIn<R>(core, operand, array, blocks, element, bytes, buffers, hole),
      format_(format),
      tensor_(tensor),
      pad_(pad) {}

template <int R>
DotView EmulatedDotIn<R>::WaitIn(const Index<R>& index) {
  DotView view;
  Box<R> box;
  const void* const slot = this->Wait(index, &box);
  if (slot != nullptr)
    format_.set_view({.tensor = tensor_, .box = box, .copy = slot, .cpu = kTypicalCpu}, &view);
  return view;
}

template <int R>
void EmulatedDotIn<R>::Copy(const Box<R>& box, void* slot) const {
  format_.copy(tensor_, box, pad_, slot);
}

template <int R>
EmulatedOut<R>::EmulatedOut(Core& core, const Operand& operand, const AnyArray& array,
                            const Blocks<R>& blocks, const ElementType& element, size_t bytes,
                            const AnyInit& init, int buffers)
    : core_(core),
      operand_(operand),
      array_(array),
      blocks_(blocks),
      element_(element),
      init_(init),
      slots_(core, operand, element, blocks.shape(), bytes, buffers, Hole::kUnstored),
      record_(core.RecordOf(operand)),
      notes_(core, operand, blocks, element.bits) {
  record_.is_output = true;
  if (init.MayStay()) return;
  record_.due = 1;
  for (int d = 0; d < R; ++d) record_.due *= blocks.extent[d];
}

template <int R>
void* EmulatedOut<R>::Begin(const Index<R>& index, int64_t run, Box<R>* box) {
  if (!core_.ok()) return nullptr;
  if (!Leaves(index, run)) {
    ++record_.skipped;
    *box = blocks_.BoxAt(index);
    return slots_.newest().data;
  }
  if (open_) FailSync(core_, Name(index_), "it is left without a copy");
  if (!CheckRange(core_, operand_, blocks_, index)) return nullptr;
  Slot& slot = slots_.Advance();
  Finish(slot);
  *box = blocks_.BoxAt(index);
  CheckVisit(index, *box, run);
  if (!core_.ok()) return nullptr;
  slots_.Undefine(slot);
  if (init_.given) FillRows(*box, &init_.value, element_.bits, slot.data);
  index_ = slot.index = index;
  record_.visited += box->inside();
  run_ = run;
  open_ = true;
  return slot.data;
}

template <int R>
void EmulatedOut<R>::CopyOut() {
  if (!open_) return;
  if (core_.copies() != nullptr) {
    core_.copies()->CheckMove(operand_, array_.data, WindowOf(blocks_, blocks_.BoxAt(index_)),
                              /*writes=*/true);
  }
  core_.Remember(&slots_.newest().left);
  slots_.newest().state = State::kPending;
  open_ = false;
  notes_.Add(Event::Kind::kCopyOut, blocks_, index_);
  if (core_.options().dma == Dma::kEager) Finish(slots_.newest());
}

template <int R>
void EmulatedOut<R>::WaitOut() {
  for (int s = 0; s < slots_.count(); ++s) Finish(slots_.Advance());
}

template <int R>
BlockName EmulatedOut<R>::Name(const Index<R>& index) const {
  return {operand_, index.data(), blocks_.dims.data(), R};
}

template <int R>
void EmulatedOut<R>::CheckVisit(const Index<R>& index, const Box<R>& box, int64_t run) {
  if (core_.visits() == nullptr || box.inside() == 0) return;
  if (watched_) {
    const Clash clash =
        core_.touches()->Write(operand_.ordinal, WindowOf(blocks_, box), TouchOf(core_, operand_));
    return FailClash(core_, Name(index), clash, /*reads=*/false);
  }
  int other = 0;
  const Code code =
      core_.visits()->Begin({operand_.ordinal, core_.index(), blocks_.NumberOf(box), run}, &other);
  if (code != kOk) FailVisit(core_, Name(index), code, other);
}

/// What the last step of a stay has left behind.
template <int R>
void EmulatedOut<R>::CheckDefined(const Slot& slot) {
  if (!element_.marks_undefined || init_.may_stay_undefined || !HasPoison(core_.options()) ||
      !core_.late().ok())
    return;
  Index<R> at{};
  const void* const first =
      FindPoisonInRows(blocks_.BoxAt(slot.index), slot.data, element_, at.data());
  if (first == nullptr) return;
  core_.FailLate(slot.left, [&] {
    FailUndefined(core_, Name(slot.index), at.data(), element_.hole_of(first));
  });
}

template <int R>
void EmulatedOut<R>::Finish(Slot& slot) {
  if (slot.state != State::kPending || !core_.ok()) return;
  slot.state = State::kEmpty;
  const Box<R> box = blocks_.BoxAt(slot.index);
  CopyRowsBack(array_, box, slot.data);
  ++record_.copies;
  record_.bytes += box.bytes(element_.bits);
  CheckDefined(slot);
}

#define KILN_RANK(R)               \
  template class EmulatedIn<R>;    \
  template class EmulatedDotIn<R>; \
  template class EmulatedOut<R>
KILN_FOR_EACH_RANK(KILN_RANK);
#undef KILN_RANK

}  // namespace kiln::inline KILN_ABI::internal
