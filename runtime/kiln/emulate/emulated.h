// The faithful one of the two machines that a kernel's text is compiled for: every block is copied,
// as late as its wait allows, into memory of the machine's size that holds poison until then. See
// direct.h for what the members are for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "kiln/core/block.h"
#include "kiln/core/core.h"
#include "kiln/core/diagnostics.h"
#include "kiln/core/poison.h"
#include "kiln/core/record.h"
#include "kiln/core/tensor.h"
#include "kiln/core/touches.h"
#include "kiln/core/visits.h"
#include "kiln/emulate/dma.h"

namespace kiln {
namespace internal {

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

/// The pad; without one, elements past an edge are undefined in the way that the options say.
template <typename T>
Pad<T> PadOf(const Options& options, Pad<T> pad) {
  if (!pad.given) pad.value = UndefinedEdge<T>(options);
  return pad;
}

/// What a core's recorder is told of one operand. Not inline: out of the way of calls that record
/// no events.
template <typename T, int R>
class Notes {
 public:
  Notes(Core& core, const Operand& operand, const Blocks<R>& blocks)
      : recorder_(core.recorder()), ordinal_(operand.ordinal) {
    if (recorder_ != nullptr) places_ = blocks.Places();
  }

  void Add(Event::Kind kind, const Blocks<R>& blocks, const Index<R>& index) {
    if (recorder_ != nullptr) [[unlikely]]
      Keep(kind, blocks, index);
  }

 private:
  /// The index by value, or it would have to be in memory for calls that record nothing, too.
  [[gnu::noinline]] void Keep(Event::Kind kind, const Blocks<R>& blocks, Index<R> index) {
    recorder_->Add({kind, ordinal_, blocks.PlaceOf(index, places_),
                    blocks.BoxAt(index).inside() * static_cast<int64_t>(sizeof(T))});
  }

  Recorder* const recorder_;
  const int32_t ordinal_;
  Index<R> places_{};
};

/// Slots of one operand in VMEM or SMEM.
constexpr int kMaxBuffers = 64;
template <typename T, int R>
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
  Slots(Core& core, const Operand& operand, const Shape<R>& block, size_t bytes, int buffers,
        Hole hole)
      : options_(core.options()),
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
    const int64_t native = EmulatedBytes(operand.memory, sizeof(T), extents.data(), rank);
    if (!core.Reserve(operand, native, count_)) return;
    for (int s = 0; s < count_; ++s) {
      slots_[s].data = core.Allocate(bytes);
      if (slots_[s].data == nullptr) return;
    }
  }

  int count() const { return count_; }
  Slot& operator[](int s) { return slots_[s]; }
  /// The slot used last, and the one that was used longest ago.
  Slot& newest() { return slots_[newest_]; }
  Slot& Advance() { return slots_[newest_ = (newest_ + 1) % count_]; }

  void Undefine(Slot& slot) { FillPoison(options_, hole_, PoisonOf<T>(hole_), slot.data, bytes_); }
  /// Undefines a line of every sixteen of a slot that a copy is to replace as a whole: who reads it
  /// before that will hardly miss them all, and the lines are a sixteenth of the time.
  void Spoil(Slot& slot) {
    constexpr size_t kLine = kLineBytes, kPeriod = 16 * kLine;
    for (size_t at = 0; at < bytes_; at += kPeriod) {
      FillPoison(options_, hole_, PoisonOf<T>(hole_), static_cast<char*>(slot.data) + at,
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
  const size_t bytes_;
  const int count_;
  const Hole hole_;
  int newest_ = 0;
  Slot slots_[kMaxBuffers];
};

}  // namespace internal

struct Emulated {
  template <class Format, int R>
  class In {
   public:
    using T = typename Format::Element;
    using View = typename Format::View;

    In(Core& core, const Operand& operand, const Tensor<const T>& tensor,
       const std::array<BlockDim, R>& dims, const Pad<T>& pad, int buffers, int64_t /*window*/,
       int64_t /*rows*/ = 0)
        : core_(core),
          operand_(operand),
          tensor_(tensor),
          blocks_{tensor.template extents<R>(), dims},
          pad_(internal::PadOf(core.options(), pad)),
          slots_(core, operand, blocks_.shape(), Format::Bytes(blocks_.shape()), buffers,
                 pad.reduced ? internal::Hole::kEdge : internal::Hole::kUnset),
          record_(core.RecordOf(operand)),
          notes_(core, operand, blocks_) {}

    /// Starts a copy, unless this block was requested last. Until WaitIn moves the
    /// bytes the slot holds poison: a text that forgets to wait computes NaN.
    void CopyIn(const Index<R>& index) {
      // A single slot still has the block of the step that runs now: its copy starts at the wait.
      if (slots_.count() > 1) Start(index, Event::Kind::kCopyInNext);
    }

    View WaitIn(const Index<R>& index) {
      if (slots_.count() == 1) Start(index, Event::Kind::kCopyIn);
      if (!core_.ok()) return {};
      Slot* const slot = slots_.Find(index);
      if (slot == nullptr) {
        internal::FailSync(core_, Name(index), "a wait for a block that no copy brings");
        return {};
      }
      const Box<R> box = blocks_.BoxAt(index);
      if (slot->state == State::kPending || last_moved_ != index) CheckMove(index, box);
      CheckLent(index, box);
      Finish(*slot, box);
      return Format::ViewOf(slot->data, box);
    }

    /// The output of this ordinal takes over the memory.
    void LendTo(int32_t output) { borrower_ = output; }

   private:
    using Slot = typename internal::Slots<T, R>::Slot;
    using State = typename internal::Slots<T, R>::State;

    internal::BlockName Name(const Index<R>& index) const {
      return {operand_, index.data(), blocks_.dims.data(), R};
    }

    /// A block that comes in for this step must not have been visited by a former one, nor be
    /// written by one that is parallel to it.
    void CheckLent(const Index<R>& index, const Box<R>& box) {
      if (borrower_ < 0 || core_.touches() == nullptr) return;
      const bool moves = run_ < 0 || last_ != index;
      if (!moves && core_.run() == run_) return;
      run_ = core_.run();
      last_ = index;
      const Clash clash = core_.touches()->Read(borrower_, internal::WindowOf(blocks_, box),
                                                internal::TouchOf(core_, operand_), moves);
      internal::FailClash(core_, Name(index), clash, /*reads=*/true);
    }

    /// Checks a block that comes for this step against the manual copies in flight.
    void CheckMove(const Index<R>& index, const Box<R>& box) {
      last_moved_ = index;
      if (core_.copies() == nullptr) return;
      core_.copies()->CheckMove(operand_, tensor_.data, internal::WindowOf(blocks_, box),
                                /*writes=*/false);
    }

    void Start(const Index<R>& index, Event::Kind kind) {
      if (!core_.ok()) return;
      if (slots_.newest().state != State::kEmpty && slots_.newest().index == index) {
        ++record_.skipped;
        return;
      }
      if (!internal::CheckRange(core_, operand_, blocks_, index)) return;
      Slot& slot = slots_.Advance();
      if (slot.state == State::kPending) {
        internal::FailSync(core_, Name(slot.index), "its copy is never waited for");
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

    void Finish(Slot& slot, const Box<R>& box) {
      if (slot.state != State::kPending) return;
      Format::Copy(tensor_, box, pad_, slot.data);
      slot.state = State::kReady;
      ++record_.copies;
      record_.bytes += box.inside() * static_cast<int64_t>(sizeof(T));
    }

    Core& core_;
    const Operand operand_;
    const Tensor<const T> tensor_;
    const Blocks<R> blocks_;
    const Pad<T> pad_;
    internal::Slots<T, R> slots_;
    OperandRecord& record_;
    internal::Notes<T, R> notes_;
    int32_t borrower_ = -1;
    int64_t run_ = -1;
    Index<R> last_{};  // waited for, in run_
    Index<R> last_moved_{};
  };

  template <class Format, int R>
  class Out {
   public:
    using T = typename Format::Element;
    using View = typename Format::Written;

    Out(Core& core, const Operand& operand, const Tensor<T>& tensor,
        const std::array<BlockDim, R>& dims, const Init<T>& init, int buffers)
        : core_(core),
          operand_(operand),
          tensor_(tensor),
          blocks_{tensor.template extents<R>(), dims},
          init_(init),
          slots_(core, operand, blocks_.shape(), Format::Bytes(blocks_.shape()), buffers,
                 internal::Hole::kUnstored),
          record_(core.RecordOf(operand)),
          notes_(core, operand, blocks_) {
      record_.is_output = true;
      if (init.given || init.may_stay_undefined || init.is_alias) return;
      record_.due = 1;
      for (int d = 0; d < R; ++d) record_.due *= tensor.shape[d];
    }

    /// The array's memory is an input's, too, or manual copies touch it, or its blocks overlap.
    void Watch() { watched_ = record_.watched = true; }

    /// A block about to be computed: undefined until the body writes it, or `init`. The slot's
    /// former block is copied out now at the latest.
    View Open(const Index<R>& index, int64_t run) {
      if (!core_.ok()) return {};
      if (!Leaves(index, run)) {
        ++record_.skipped;
        return view_;
      }
      if (open_) internal::FailSync(core_, Name(index_), "it is left without a copy");
      if (!internal::CheckRange(core_, operand_, blocks_, index)) return {};
      Slot& slot = slots_.Advance();
      Finish(slot);
      const Box<R> box = blocks_.BoxAt(index);
      CheckVisit(index, box, run);
      if (!core_.ok()) return {};
      slots_.Undefine(slot);
      if (init_.given) Format::FillBlock(box, init_.value, slot.data);
      index_ = slot.index = index;
      record_.visited += box.inside();
      run_ = run;
      open_ = true;
      return view_ = Format::TileOf(static_cast<T*>(slot.data), box);
    }

    bool Leaves(const Index<R>& index, int64_t run) const {
      return !open_ || index != index_ || run != run_;
    }

    void CopyOut() {
      if (!open_) return;
      if (core_.copies() != nullptr) {
        core_.copies()->CheckMove(operand_, tensor_.data,
                                  internal::WindowOf(blocks_, blocks_.BoxAt(index_)),
                                  /*writes=*/true);
      }
      core_.Remember(&slots_.newest().left);
      slots_.newest().state = State::kPending;
      open_ = false;
      notes_.Add(Event::Kind::kCopyOut, blocks_, index_);
      if (core_.options().dma == Dma::kEager) Finish(slots_.newest());
    }

    void WaitOut() {
      for (int s = 0; s < slots_.count(); ++s) Finish(slots_.Advance());
    }

   private:
    using Slot = typename internal::Slots<T, R>::Slot;
    using State = typename internal::Slots<T, R>::State;

    internal::BlockName Name(const Index<R>& index) const {
      return {operand_, index.data(), blocks_.dims.data(), R};
    }

    void CheckVisit(const Index<R>& index, const Box<R>& box, int64_t run) {
      if (core_.visits() == nullptr || box.inside() == 0) return;
      if (watched_) {
        const Clash clash = core_.touches()->Write(
            operand_.ordinal, internal::WindowOf(blocks_, box), internal::TouchOf(core_, operand_));
        return internal::FailClash(core_, Name(index), clash, /*reads=*/false);
      }
      int other = 0;
      const Code code = core_.visits()->Begin(
          {operand_.ordinal, core_.index(), blocks_.NumberOf(box), run}, &other);
      if (code != kOk) internal::FailVisit(core_, Name(index), code, other);
    }

    /// What the last step of a stay has left behind.
    void CheckDefined(const Slot& slot) {
      if (!kIsFloating<T> || init_.may_stay_undefined || !internal::HasPoison(core_.options()) ||
          !core_.late().ok())
        return;
      Index<R> at{};
      const auto is_poison = [](T value) { return internal::PoisonMask(value); };
      const T* const first =
          Format::FindInside(blocks_.BoxAt(slot.index), slot.data, is_poison, &at);
      if (first == nullptr) return;
      core_.FailLate(slot.left, [&] {
        internal::FailUndefined(core_, Name(slot.index), at.data(), internal::HoleOf(*first));
      });
    }

    void Finish(Slot& slot) {
      if (slot.state != State::kPending || !core_.ok()) return;
      slot.state = State::kEmpty;
      const Box<R> box = blocks_.BoxAt(slot.index);
      Format::CopyBack(tensor_, box, slot.data);
      ++record_.copies;
      record_.bytes += box.inside() * static_cast<int64_t>(sizeof(T));
      CheckDefined(slot);
    }

    Core& core_;
    const Operand operand_;
    const Tensor<T> tensor_;
    const Blocks<R> blocks_;
    const Init<T> init_;
    internal::Slots<T, R> slots_;
    OperandRecord& record_;
    internal::Notes<T, R> notes_;
    bool watched_ = false;
    bool open_ = false;
    Index<R> index_{};
    int64_t run_ = 0;
    View view_{};
  };

  template <typename T>
  static T* Scratch(Core& core, const Operand& operand, size_t count,
                    std::initializer_list<int64_t> extents = {}) {
    const int64_t row = static_cast<int64_t>(count);
    const bool given = extents.size() > 0;
    const int64_t bytes = EmulatedBytes(operand.memory, sizeof(T), given ? extents.begin() : &row,
                                        given ? static_cast<int>(extents.size()) : 1);
    if (!core.Reserve(operand, bytes, 1)) return nullptr;
    T* const data = static_cast<T*>(core.Allocate(count * sizeof(T)));
    Forget(core, data, count);
    return data;
  }

  template <typename T>
  static void Forget(Core& core, T* data, size_t count) {
    if (data == nullptr) return;
    internal::FillPoison(core.options(), internal::Hole::kUnset,
                         internal::PoisonOf<T>(internal::Hole::kUnset), data, count * sizeof(T));
  }

  template <typename T>
  static void Hold(Core& core, const Operand& operand, std::initializer_list<int64_t> extents) {
    core.Reserve(
        operand,
        EmulatedBytes(operand.memory, sizeof(T), extents.begin(), static_cast<int>(extents.size())),
        1);
  }
};

}  // namespace kiln
