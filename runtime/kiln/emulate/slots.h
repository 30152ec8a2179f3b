// Slots of one operand in the memory of an emulated core, and what its recorder gets of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kiln/core/block.h"
#include "kiln/core/core.h"
#include "kiln/core/poison.h"
#include "kiln/core/recorder.h"
#include "kiln/core/version.h"
#include "kiln/errors/diagnostics.h"
#include "kiln/errors/touches.h"
#include "kiln/format/elements.h"

namespace kiln::inline KILN_ABI::internal {

/// What a block has of its array.
template <int R>
Window WindowOf(const Blocks<R>& blocks, const Box<R>& box) {
  Window window;
  window.rank = R;
  for (int d = 0; d < R; ++d) {
    window.extent[d] = blocks.extent[d];
    window.start[d] = box.start[d] + box.low[d];
    window.size[d] = box.high[d] - box.low[d];
  }
  return window;
}

/// What a core's recorder gets of one operand. Not inline: out of the way of calls that record
/// no events.
template <int R>
class Notes {
 public:
  Notes(Core& core, const Operand& operand, const Blocks<R>& blocks, size_t bits)
      : recorder_(core.recorder()), ordinal_(operand.ordinal), bits_(bits) {
    if (recorder_ != nullptr) places_ = blocks.Places();
  }

  void Add(Event::Kind kind, const Blocks<R>& blocks, const Index<R>& index) {
    if (recorder_ != nullptr) [[unlikely]]
      Keep(kind, blocks, index);
  }

 private:
  /// The index by value, or it would have to be in memory for calls that record nothing, too.
  [[gnu::noinline]] void Keep(Event::Kind kind, const Blocks<R>& blocks, Index<R> index) {
    recorder_->Add(
        {kind, ordinal_, blocks.PlaceOf(index, places_), blocks.BoxAt(index).bytes(bits_)});
  }

  Recorder* const recorder_;
  const int32_t ordinal_;
  const size_t bits_;  // of an element
  Index<R> places_{};
};

/// Slots of one operand in VMEM or SMEM.
constexpr int kMaxBuffers = 64;
template <int R>
class Slots {
 public:
  enum class State { kEmpty, kPending, kReady };
  struct Slot {
    void* data = nullptr;
    State state = State::kEmpty;
    Index<R> index{};
    Core::Remembered left;  // of an output: the last step of its stay
  };

  /// `hole`: what a slot is before something is written there.
  Slots(Core& core, const Operand& operand, const ElementType& element, const Shape<R>& block,
        size_t bytes, int buffers, Hole hole)
      : options_(core.options()),
        poison_(element.poison_of(hole)),
        bytes_(bytes),
        count_(std::clamp(buffers, 1, kMaxBuffers)),
        hole_(hole) {
    std::array<int64_t, R> extents{};
    const int rank = block.view_rank();
    int v = 0;
    for (int d = 0; d < R; ++d) {
      if (!block.squeezed[d]) extents[v++] = block.size[d];
    }
    // A TPU's bytes are what counts; this machine's layout may need more.
    const int64_t native = EmulatedBytes(operand.memory, element.bits, extents.data(), rank);
    if (!core.Reserve(operand, native, count_)) return;
    for (int s = 0; s < count_; ++s) {
      slots_[s].data = core.Allocate(bytes);
      if (slots_[s].data == nullptr) return;
    }
  }

  int count() const { return count_; }
  /// The slot used last, and the one that was used longest ago.
  Slot& newest() { return slots_[newest_]; }
  Slot& Advance() { return slots_[newest_ = (newest_ + 1) % count_]; }

  void Undefine(Slot& slot) { FillPoison(options_, hole_, poison_, slot.data, bytes_); }
  /// Undefines a line of every sixteen of a slot that a copy is to replace as a whole: who reads it
  /// before that will hardly miss them all, and the lines are a sixteenth of the time.
  void Spoil(Slot& slot) {
    constexpr size_t kLine = kLineBytes, kPeriod = 16 * kLine;
    for (size_t at = 0; at < bytes_; at += kPeriod) {
      FillPoison(options_, hole_, poison_, static_cast<char*>(slot.data) + at,
                 std::min(bytes_ - at, kLine));
    }
  }
  /// The slot with a block, or null.
  Slot* Find(const Index<R>& index) {
    for (int s = 0; s < count_; ++s) {
      Slot& slot = slots_[(newest_ + count_ - s) % count_];
      if (slot.state != State::kEmpty && slot.index == index) return &slot;
    }
    return nullptr;
  }

 private:
  const Options& options_;
  const Poison64 poison_;
  const size_t bytes_;
  const int count_;
  const Hole hole_;
  int newest_ = 0;
  Slot slots_[kMaxBuffers];
};

}  // namespace kiln::inline KILN_ABI::internal
