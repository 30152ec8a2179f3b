// Operands of Direct, whatever their type: what a step of a block in place does is inline; all else
// is compiled once for each rank, into the library. direct.h gives them formats and views.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kiln/core/block.h"
#include "kiln/core/core.h"
#include "kiln/core/packed_later.h"
#include "kiln/core/record.h"
#include "kiln/core/version.h"
#include "kiln/errors/diagnostics.h"
#include "kiln/format/dot_format.h"
#include "kiln/format/rows.h"

namespace kiln::inline KILN_ABI::internal {

/// A block cut off in every dimension in which any block is, and beginning at an odd element if any
/// may: when this one may stay in place, all may.
template <int R>
Box<R> MostRagged(const Blocks<R>& blocks);
/// A block that is all inside.
template <int R>
Box<R> Unragged(const Blocks<R>& blocks);

/// Copies of this many bytes in all are kept, so that blocks that come back need not be packed
/// again; beyond, memory traffic costs more than it saves.
constexpr int64_t kMostCached = int64_t{1} << 30;

/// Copies of blocks that are read.
template <int R>
class BlockCopies {
 public:
  BlockCopies(const BlockCopies&) = delete;
  BlockCopies& operator=(const BlockCopies&) = delete;

 protected:
  BlockCopies(Core& core, const Operand& operand, const Blocks<R>& blocks, size_t bits)
      : core_(core), operand_(operand), blocks_(blocks), bits_(bits) {}
  ~BlockCopies() = default;

  /// Room for copies of `bytes` each, of which `window` one after another come back (0: none does).
  void Reserve(int64_t bytes, int64_t window);
  /// The copy of a block: made now, or before.
  char* Bring(const Index<R>& index, const Box<R>& box);
  /// The same of panels, which are packed in turn unless other cores read them as well.
  PanelsInTurn BringInTurn(const Index<R>& index, const Box<R>& box);
  /// Whether it has been made, as far as this core knows.
  bool Has(const Index<R>& index) const;
  /// Makes it.
  virtual void Copy(const Box<R>& box, void* to) const = 0;

  bool IsInRange(const Index<R>& index) const {
    return core_.ok() && CheckRange(core_, operand_, blocks_, index);
  }
  int64_t ArrayBytes() const;

  Core& core_;
  const Operand operand_;
  const Blocks<R> blocks_;

 private:
  struct Tag {
    bool full = false;
    Index<R> index{};
    PackedPart packed{};
  };

  /// The slot of a block, and whether that is there already.
  struct Found {
    int64_t slot;
    bool is_there;
  };
  Found Take(const Index<R>& index);
  char* BringOwn(const Index<R>& index, const Box<R>& box);
  char* BringShared(const Index<R>& index, const Box<R>& box);
  void CopyNow(const Box<R>& box, char* to);
  void Record(const Box<R>& box);
  bool MayShare(int64_t window) const;
  /// The slot that has the block, or -1.
  int64_t FoundSlot(const Index<R>& index) const;
  int64_t SlotOf(const Index<R>& index);

  const size_t bits_;  // of an element
  OperandRecord* record_ = nullptr;
  bool used_once_ = false;  // the last block that was replaced
  int64_t oldest_ = -1;     // the slot that was filled last; the next one is to be replaced
  int64_t bytes_ = 0;
  int64_t slots_ = 0;
  char* data_ = nullptr;
  Tag* tags_ = nullptr;             // what each slot has
  SharedBlocks* shared_ = nullptr;  // instead
};

/// Copies of blocks of an operand of a dot. `tensor` and `pad` are a derived class's, which calls
/// Begin when they are there.
template <int R>
class DotCopies : private BlockCopies<R>, private PackedLater {
 public:
  void CopyIn(const Index<R>&) {}
  /// An output takes over the memory: blocks are copied before a step stores anything.
  void LendTo(int32_t /*output*/) { is_lent_ = true; }
  /// Nothing, if the core is not ok.
  DotView WaitIn(const Index<R>& index);

 protected:
  /// `others`: the rows that a block of B is multiplied with in all, or the columns that one of A
  /// is, if that is known, or kLiveRows.
  DotCopies(Core& core, const Operand& operand, const Blocks<R>& blocks, const DotFormat<R>& format,
            const void* tensor, const void* pad, int64_t others);
  ~DotCopies() = default;

  void Begin(int64_t window);

 private:
  void Find(const Index<R>& index);
  void Copy(const Box<R>& box, void* to) const override;
  PanelsInTurn CopyOfBlock();
  PanelsInTurn Panels() override;
  bool HasPanels() const override;
  void PackPiece(const PanelPiece& piece, void* to) override;

  const DotFormat<R>& format_;
  const void* const tensor_;
  const void* const pad_;
  const int64_t others_;
  const int64_t array_bytes_;
  bool held_ = false, is_lent_ = false;
  bool always_in_place_ = false, packs_later_ = false;
  Index<R> index_{};
  Box<R> box_{};
  PanelsInTurn copy_;  // none: in place
};

/// An output's blocks, of which those that cannot be written in place are staged.
template <int R>
class StagedBlocks {
 public:
  StagedBlocks(const StagedBlocks&) = delete;
  StagedBlocks& operator=(const StagedBlocks&) = delete;

  /// Others touch the array's memory; the emulator watches that.
  void Watch() {}
  bool Leaves(const Index<R>& index, int64_t run) const {
    return !open_ || index != index_ || run != run_;
  }
  void CopyOut() {
    if (open_ && !in_place_) CopyBack();
    open_ = false;
  }
  void WaitOut();

 protected:
  /// `is_in_place`: whether all blocks are; `bytes`: of one that is not; `may_stay`: whether
  /// elements that no step visits are right as they are.
  StagedBlocks(Core& core, const Operand& operand, const AnyArray& array, const Blocks<R>& blocks,
               bool is_in_place, size_t bytes, bool may_stay);
  ~StagedBlocks() = default;

  /// Begins a stay; false: there is no such block, or the core is not ok.
  bool Begin(const Index<R>& index, int64_t run) {
    open_ = core_.ok() && CheckRange(core_, operand_, blocks_, index);
    CopyEach(index, &index_);
    run_ = run;
    return open_;
  }
  /// Whether blocks overlap, so that the call has not filled the array for all of them.
  bool MayOverlap() const;

  Core& core_;
  const Operand operand_;
  const Blocks<R> blocks_;
  bool open_ = false;
  const bool always_in_place_;
  bool in_place_;
  bool streams_ = false;
  Index<R> index_{};
  int64_t run_ = 0;
  Box<R> box_{};  // unless always in place
  void* staged_ = nullptr;

 private:
  void CopyBack();

  const AnyArray array_;
  OperandRecord* record_ = nullptr;
};

}  // namespace kiln::inline KILN_ABI::internal
