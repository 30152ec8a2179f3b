// The fast one of the two machines that a kernel's text is compiled for: copies what has to be
// rearranged, once, and nothing else.
//
// A kernel's text knows these members of both machines:
//   In       an operand that is read: CopyIn starts to bring a block, WaitIn delivers it
//   DotIn    the same of a dot
//   Out      one that is written: Open gives the block, CopyOut starts to write it back, WaitOut
//            finishes all; Leaves says whether a step ends the block's stay
//   Scratch  memory of the core; Forget makes it undefined again; Hold counts what is in SMEM
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "kiln/core/block.h"
#include "kiln/core/blocks.h"
#include "kiln/core/core.h"
#include "kiln/core/tensor.h"
#include "kiln/core/version.h"
#include "kiln/direct/operands.h"

namespace kiln::inline KILN_ABI {

struct Direct {
  /// `window`: how many blocks one after another come back; 0: none does.
  template <class Format, int R>
  class In final : public internal::BlockCopies<R> {
    using Base = internal::BlockCopies<R>;

   public:
    using T = typename Format::Element;
    using View = typename Format::View;

    [[gnu::noinline]] In(Core& core, const Operand& operand, const Tensor<const T>& tensor,
                         const std::array<BlockDim, R>& dims, const Pad<T>& pad = NoPad(),
                         int /*buffers*/ = 2, int64_t window = 0)
        : Base(core, operand, {tensor.template extents<R>(), dims}, kBitsOf<T>),
          tensor_(tensor),
          pad_(pad),
          is_far_(this->ArrayBytes() > 8 * core.cpu().l2_bytes) {
      always_in_place_ = Format::IsInPlace(tensor_, internal::MostRagged(this->blocks_));
      in_place_ = always_in_place_;
      if (always_in_place_) return;
      if constexpr (kHasEdges) {
        SetPadRow();
        return;
      }
      // Where only blocks at an edge are copied, they are few.
      if (Format::IsInPlace(tensor_, internal::Unragged(this->blocks_))) window = 0;
      this->Reserve(Signed(Format::Bytes(ShapeOf<R>(dims))), window);
    }

    void CopyIn(const Index<R>&) {}
    /// An output takes over the memory; the emulator watches that, too.
    void LendTo(int32_t /*output*/) {}

    /// The same view as long as the index is the same. One in place is made for every step: to copy
    /// what was just written would have to wait until that has reached the cache.
    View WaitIn(const Index<R>& index) {
      if (!held_ || index != index_) Find(index);
      if (!held_) return View();
      return in_place_ ? InPlace(this->blocks_.BoxAt(index)) : view_;
    }

   private:
    void Find(const Index<R>& index) {
      held_ = this->IsInRange(index);
      if (!held_) return;
      internal::CopyEach(index, &index_);
      if (always_in_place_) return;
      const Box<R> box = this->blocks_.BoxAt(index);
      in_place_ = pad_row_ != nullptr || Format::IsInPlace(tensor_, box);
      if (!in_place_) view_ = Format::ViewOf(this->Bring(index, box), box);
    }

    View InPlace(const Box<R>& box) const {
      View view = Format::InPlace(tensor_, box);
      view.stream = is_far_;
      if constexpr (kHasEdges) {
        if (!Format::IsInPlace(tensor_, box)) view.pad = pad_row_;
      }
      return view;
    }

    static constexpr bool kHasEdges = requires(View view) { view.pad; };

    /// Blocks beyond the array's edges stay where they are, too.
    void SetPadRow() {
      const int64_t elements = RowStride<T>(this->blocks_.dims[R - 1].size);
      auto* const row = ElementsAt<T>(this->core_.Allocate(BytesFor<T>(Unsigned(elements))));
      if (row != nullptr) internal::FillElements(row, elements, &pad_.value, kBitsOf<T>);
      pad_row_ = row;
    }

    void Copy(const Box<R>& box, void* to) const override { Format::Copy(tensor_, box, pad_, to); }

    const Tensor<const T> tensor_;
    const Pad<T> pad_;
    const T* pad_row_ = nullptr;  // of blocks in place of which some elements are outside
    const bool is_far_;  // so much larger than the L2 that its elements come from memory, or may
    bool held_ = false;
    bool always_in_place_ = false, in_place_ = false;
    Index<R> index_{};
    View view_{};  // of what was copied
  };

  /// Of a dot, in a format of the instruction set. `others`: the rows that a block of B is
  /// multiplied with in all, or the columns that one of A is, if that is known, or kLiveRows.
  template <typename T, int R>
  class DotIn final : public internal::DotCopies<R> {
   public:
    [[gnu::noinline]] DotIn(Core& core, const Operand& operand, const DotFormat<R>& format,
                            const Tensor<const T>& tensor, const std::array<BlockDim, R>& dims,
                            const Pad<T>& pad = NoPad(), int /*buffers*/ = 2, int64_t window = 0,
                            int64_t others = kUnknownRows)
        : internal::DotCopies<R>(core, operand, {tensor.template extents<R>(), dims}, format,
                                 &tensor_, &pad_, others),
          tensor_(tensor),
          pad_(pad) {
      this->Begin(window);
    }

   private:
    const Tensor<const T> tensor_;
    const Pad<T> pad_;
  };

  template <class Format, int R>
  class Out final : public internal::StagedBlocks<R> {
    using Base = internal::StagedBlocks<R>;

   public:
    using T = typename Format::Element;
    using View = typename Format::Written;

    [[gnu::noinline]] Out(Core& core, const Operand& operand, const Tensor<T>& tensor,
                          const std::array<BlockDim, R>& dims, const Init<T>& init = NoInit(),
                          int /*buffers*/ = 2)
        : Base(core, operand, tensor, {tensor.template extents<R>(), dims},
               Format::IsInPlace(
                   tensor, internal::MostRagged(Blocks<R>{tensor.template extents<R>(), dims})),
               Format::Bytes(ShapeOf<R>(dims)), /*may_stay=*/init.MayStay()),
          tensor_(tensor),
          init_(init) {}

    /// The same tile as long as index and run are the same; a stay begins with `init`.
    View Open(const Index<R>& index, int64_t run) {
      if (this->Leaves(index, run)) Begin(index, run);
      if (!this->open_) return View();
      return this->in_place_ ? InPlace(index)
                             : Format::TileOf(ElementsAt<T>(this->staged_), this->box_);
    }

   private:
    void Begin(const Index<R>& index, int64_t run) {
      if (!Base::Begin(index, run)) return;
      if (!this->always_in_place_) {
        this->box_ = this->blocks_.BoxAt(index);
        this->in_place_ = Format::IsInPlace(tensor_, this->box_);
      }
      if (!init_.given) return;
      if (!this->in_place_) {
        internal::FillRows(this->box_, &init_.value, kBitsOf<T>, this->staged_);
      } else if (this->MayOverlap()) {
        // The call has filled the array: nothing but a block that overlaps has written to it since.
        Format::FillInside(InPlace(index), init_.value);
      }
    }

    View InPlace(const Index<R>& index) const {
      View view = Format::TileInPlace(tensor_, this->blocks_.BoxAt(index));
      view.stream = this->streams_;
      return view;
    }

    const Tensor<T> tensor_;
    const Init<T> init_;
  };

  /// `count` elements. The extents say what a TPU would need, if that is not a row of them.
  template <typename T>
  static T* Scratch(Core& core, const Operand&, size_t count,
                    std::initializer_list<int64_t> /*extents*/ = {}) {
    return ElementsAt<T>(core.Allocate(BytesFor<T>(count)));
  }

  /// Scratch is undefined whenever the parallel coordinates change.
  template <typename T>
  static void Forget(Core&, T*, size_t) {}

  /// Scalars and prefetch arrays, which are read in place.
  template <typename T>
  static void Hold(Core&, const Operand&, std::initializer_list<int64_t> /*extents*/) {}
};

}  // namespace kiln::inline KILN_ABI
