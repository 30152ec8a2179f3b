// Operands of an emulated core, whatever their type: compiled once for each rank, into the library.
// emulated.h gives them formats and views.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kiln/core/block.h"
#include "kiln/core/core.h"
#include "kiln/core/record.h"
#include "kiln/core/version.h"
#include "kiln/emulate/slots.h"
#include "kiln/format/dot_format.h"
#include "kiln/format/elements.h"
#include "kiln/format/rows.h"

namespace kiln::inline KILN_ABI::internal {

/// An operand that is read.
template <int R>
class EmulatedIn {
 public:
  EmulatedIn(const EmulatedIn&) = delete;
  EmulatedIn& operator=(const EmulatedIn&) = delete;

  /// Starts a copy, unless this block was requested last. Until WaitIn moves the
  /// bytes the slot holds poison: a text that forgets to wait computes NaN.
  void CopyIn(const Index<R>& index);
  /// The output of this ordinal takes over the memory.
  void LendTo(int32_t output) { borrower_ = output; }

 protected:
  /// `bytes`: of a slot. `hole`: what it is before the copy has ended.
  EmulatedIn(Core& core, const Operand& operand, const void* array, const Blocks<R>& blocks,
             const ElementType& element, size_t bytes, int buffers, Hole hole);
  ~EmulatedIn() = default;

  /// The slot of a block after its copy, and what the block is; null: the core is not ok.
  const void* Wait(const Index<R>& index, Box<R>* box);
  /// Copies a block of the array into a slot.
  virtual void Copy(const Box<R>& box, void* slot) const = 0;

  Core& core() const { return core_; }

 private:
  using Slot = typename Slots<R>::Slot;
  using State = typename Slots<R>::State;

  BlockName Name(const Index<R>& index) const;
  void CheckLent(const Index<R>& index, const Box<R>& box);
  void CheckMove(const Index<R>& index, const Box<R>& box);
  void Start(const Index<R>& index, Event::Kind kind);
  void Finish(Slot& slot, const Box<R>& box);

  Core& core_;
  const Operand operand_;
  const void* const array_;
  const Blocks<R> blocks_;
  const size_t bits_;  // of an element
  Slots<R> slots_;
  OperandRecord& record_;
  Notes<R> notes_;
  int32_t borrower_ = -1;
  int64_t run_ = -1;
  Index<R> last_{};  // waited for, in run_
  Index<R> last_moved_{};
};

/// An operand of a dot that is read.
template <int R>
class EmulatedDotIn : private EmulatedIn<R> {
 public:
  using EmulatedIn<R>::CopyIn, EmulatedIn<R>::LendTo;
  /// Nothing, if the core is not ok.
  DotView WaitIn(const Index<R>& index);

 protected:
  /// `array`: the address of the first element of `tensor`, which like `pad` may be made later.
  EmulatedDotIn(Core& core, const Operand& operand, const void* array, const Blocks<R>& blocks,
                const ElementType& element, const DotFormat<R>& format, size_t bytes,
                const void* tensor, const void* pad, int buffers, Hole hole);
  ~EmulatedDotIn() = default;

 private:
  void Copy(const Box<R>& box, void* slot) const override;

  const DotFormat<R>& format_;
  const void* const tensor_;
  const void* const pad_;
};

/// What an output block begins with.
struct AnyInit : InitKind {
  uint64_t value = 0;  // its first bytes
};

/// An operand that is written, in rows.
template <int R>
class EmulatedOut {
 public:
  EmulatedOut(const EmulatedOut&) = delete;
  EmulatedOut& operator=(const EmulatedOut&) = delete;

  /// The array's memory is an input's, too, or manual copies touch it, or its blocks overlap.
  void Watch() { watched_ = record_.watched = true; }
  bool Leaves(const Index<R>& index, int64_t run) const {
    return !open_ || index != index_ || run != run_;
  }
  void CopyOut();
  void WaitOut();

 protected:
  EmulatedOut(Core& core, const Operand& operand, const AnyArray& array, const Blocks<R>& blocks,
              const ElementType& element, size_t bytes, const AnyInit& init, int buffers);
  ~EmulatedOut() = default;

  /// The slot of a block about to be computed, and what the block is: undefined until the body
  /// writes it, or `init`. The slot's former block is copied out now at the latest. Null: the core
  /// is not ok.
  void* Begin(const Index<R>& index, int64_t run, Box<R>* box);

 private:
  using Slot = typename Slots<R>::Slot;
  using State = typename Slots<R>::State;

  BlockName Name(const Index<R>& index) const;
  void CheckVisit(const Index<R>& index, const Box<R>& box, int64_t run);
  void CheckDefined(const Slot& slot);
  void Finish(Slot& slot);

  Core& core_;
  const Operand operand_;
  const AnyArray array_;
  const Blocks<R> blocks_;
  const ElementType& element_;
  const AnyInit init_;
  Slots<R> slots_;
  OperandRecord& record_;
  Notes<R> notes_;
  bool watched_ = false;
  bool open_ = false;
  Index<R> index_{};
  int64_t run_ = 0;
};

}  // namespace kiln::inline KILN_ABI::internal
