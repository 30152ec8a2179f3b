// The fast one of the two machines that a kernel's text is compiled for: copies what has to be
// rearranged, once, and nothing else.
//
// A kernel's text knows these members of both machines:
//   In       an operand that is read: CopyIn starts to bring a block, WaitIn delivers it
//   Out      one that is written: Open gives the block, CopyOut starts to write it back, WaitOut
//            finishes all; Leaves says whether a step ends the block's stay
//   Scratch  memory of the core; Forget makes it undefined again; Hold counts what is in SMEM
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "hwy/cache_control.h"
#include "kiln/core/block.h"
#include "kiln/core/blocks.h"
#include "kiln/core/core.h"
#include "kiln/core/diagnostics.h"
#include "kiln/core/record.h"
#include "kiln/core/shared.h"
#include "kiln/core/tensor.h"

namespace kiln {
namespace internal {

/// A block cut off in every dimension in which any block is, and beginning at an odd element if any
/// may: when this one may stay in place, all may.
template <int R>
Box<R> MostRagged(const Blocks<R>& blocks) {
  Box<R> box{blocks.shape(), {}, {}, {}, {}};
  for (int d = 0; d < R; ++d) {
    const BlockDim& dim = blocks.dims[d];
    const bool fits =
        dim.kind == BlockDim::Kind::kSqueezed ||
        (dim.kind == BlockDim::Kind::kBlocked && dim.size > 0 && blocks.extent[d] % dim.size == 0);
    const bool begins_anywhere =
        dim.kind == BlockDim::Kind::kElement || dim.kind == BlockDim::Kind::kBounded;
    box.start[d] = begins_anywhere ? 1 : 0;
    box.high[d] = fits ? dim.size : std::max<int64_t>(dim.size - 1, 0);
    box.clipped[d] = dim.clip == Clip::kYes;
  }
  return box;
}

/// A block that is all inside.
template <int R>
Box<R> Unragged(const Blocks<R>& blocks) {
  Box<R> box{blocks.shape(), {}, {}, {}, {}};
  for (int d = 0; d < R; ++d) box.high[d] = box.size[d];
  return box;
}

}  // namespace internal

struct Direct {
  /// Copies of this many bytes in all are kept, so that blocks that come back need not be packed
  /// again; beyond, memory traffic costs more than it saves.
  static constexpr int64_t kMostCached = int64_t{1} << 30;

  template <class Format, int R>
  class In {
   public:
    using T = typename Format::Element;
    using View = typename Format::View;

    /// `window`: how many blocks one after another come back; 0: none does. `rows`: how many a
    /// block of y is multiplied with in all, if that is known.
    In(Core& core, const Operand& operand, const Tensor<const T>& tensor,
       const std::array<BlockDim, R>& dims, const Pad<T>& pad, int /*buffers*/, int64_t window,
       int64_t rows = kUnknownRows)
        : core_(core),
          operand_(operand),
          tensor_(tensor),
          blocks_{tensor.template extents<R>(), dims},
          pad_(pad),
          rows_(rows) {
      const Box<R> ragged = internal::MostRagged(blocks_);
      always_in_place_ = Format::IsInPlace(tensor_, ragged);
      if constexpr (requires { Format::IsInPlaceFor(core.cpu(), rows, tensor_, ragged); }) {
        always_in_place_ = Format::IsInPlaceFor(core.cpu(), rows, tensor_, ragged);
      }
      in_place_ = always_in_place_;
      if (always_in_place_) return;
      bytes_ = static_cast<int64_t>(Format::Bytes(blocks_.shape()));
      // Where only blocks at an edge are copied, they are few.
      if (Format::IsInPlace(tensor_, internal::Unragged(blocks_))) window = 0;
      record_ = &core.RecordOf(operand);
      if (MayShare(window)) {
        shared_ = core.Share(blocks_.Count(), bytes_);
        record_->buffers = blocks_.Count();
        record_->memory_bytes = blocks_.Count() * bytes_;
        return;
      }
      const int64_t most =
          std::min({window, blocks_.Count(), kMostCached / std::max(bytes_, int64_t{1})});
      slots_ = std::max<int64_t>(most, 1);
      data_ = static_cast<char*>(core.Allocate(static_cast<size_t>(slots_ * bytes_)));
      tags_ = static_cast<Tag*>(core.Allocate(static_cast<size_t>(slots_) * sizeof(Tag)));
      if (tags_ != nullptr) std::fill_n(tags_, slots_, Tag{});
      record_->buffers = slots_;
      record_->memory_bytes = slots_ * bytes_;
    }

    void CopyIn(const Index<R>&) {}
    /// An output takes over the memory; the emulator watches that, too.
    void LendTo(int32_t /*output*/) {}

    /// The same view as long as the index is the same. One in place is made for every step: to copy
    /// what was just written would have to wait until that has reached the cache.
    View WaitIn(const Index<R>& index) {
      if (!held_ || index != index_) Find(index);
      if (!held_) return View();
      return in_place_ ? InPlace(blocks_.BoxAt(index)) : view_;
    }

   private:
    struct Tag {
      bool full = false;
      Index<R> index{};
    };

    void Find(const Index<R>& index) {
      held_ = core_.ok() && internal::CheckRange(core_, operand_, blocks_, index);
      if (!held_) return;
      index_ = index;
      if (!always_in_place_) Bring(index);
    }

    void Bring(const Index<R>& index) {
      const Box<R> box = blocks_.BoxAt(index);
      in_place_ = Format::IsInPlace(tensor_, box);
      if (in_place_) return;
      char* const data = shared_ != nullptr ? BringShared(index, box) : BringOwn(index, box);
      view_ = Planned(Format::ViewOf(data, box));
    }

    View InPlace(const Box<R>& box) const {
      if constexpr (requires { Format::InPlaceFor(core_.cpu(), rows_, tensor_, box); }) {
        return Planned(Format::InPlaceFor(core_.cpu(), rows_, tensor_, box));
      } else {
        return Planned(Format::InPlace(tensor_, box));
      }
    }

    /// An operand of a dot is told how much of it stays in the L2.
    View Planned(View view) const {
      if constexpr (requires { view.l2_bytes; })
        view.l2_bytes = static_cast<size_t>(core_.cpu().l2_bytes);
      return view;
    }

    char* BringOwn(const Index<R>& index, const Box<R>& box) {
      const int64_t slot = SlotOf(index);
      char* const data = data_ + slot * bytes_;
      Tag& tag = tags_[slot];
      if (!tag.full || tag.index != index) {
        Copy(box, data);
        tag = {true, index};
      }
      return data;
    }

    char* BringShared(const Index<R>& index, const Box<R>& box) {
      const int64_t block = blocks_.Linear(index);
      if (shared_->Claim(block)) {
        Copy(box, shared_->At(block));
        shared_->SayPacked(block);
      }
      return shared_->At(block);
    }

    void Copy(const Box<R>& box, char* to) {
      Format::Copy(tensor_, box, pad_, to);
      ++record_->copies;
      record_->bytes += box.inside() * static_cast<int64_t>(sizeof(T));
    }

    /// Blocks that come back do so on several cores. All cores have to agree. Copies that one core
    /// would drop again are shared as long as they stay in half of the last cache.
    bool MayShare(int64_t window) const {
      const int64_t count = blocks_.Count();
      const int64_t most = window >= count ? kMostCached : core_.cpu().last_cache_bytes / 2;
      return core_.shares() && window > 0 && blocks_.IsNumbered() &&
             count <= most / std::max(bytes_, int64_t{1});
    }

    /// The slot that has the block, or the one to take for it. Few slots are searched, so that no
    /// two blocks of a window ever compete for one; of many, the block's number picks one.
    int64_t SlotOf(const Index<R>& index) {
      if (slots_ > kMostSearched) return blocks_.Linear(index) % slots_;
      for (int64_t slot = 0; slot < slots_; ++slot) {
        if (tags_[slot].full && tags_[slot].index == index) return slot;
      }
      oldest_ = (oldest_ + 1) % slots_;
      return oldest_;
    }
    static constexpr int64_t kMostSearched = 64;

    Core& core_;
    const Operand operand_;
    const Tensor<const T> tensor_;
    const Blocks<R> blocks_;
    const Pad<T> pad_;
    const int64_t rows_;
    OperandRecord* record_ = nullptr;
    int64_t oldest_ = -1;  // the slot that was filled last; the next one is to be replaced
    int64_t bytes_ = 0;
    int64_t slots_ = 0;
    char* data_ = nullptr;
    Tag* tags_ = nullptr;             // what each slot has
    SharedBlocks* shared_ = nullptr;  // instead
    bool held_ = false;
    bool always_in_place_ = false, in_place_ = false;
    Index<R> index_{};
    View view_{};  // of what was copied
  };

  template <class Format, int R>
  class Out {
   public:
    using T = typename Format::Element;
    using View = typename Format::Written;

    Out(Core& core, const Operand& operand, const Tensor<T>& tensor,
        const std::array<BlockDim, R>& dims, const Init<T>& init, int /*buffers*/)
        : core_(core),
          operand_(operand),
          tensor_(tensor),
          blocks_{tensor.template extents<R>(), dims},
          init_(init) {
      int64_t elements = 1;
      for (int d = 0; d < R; ++d) elements *= tensor.shape[d];
      // Written past a last cache that cannot hold them, outputs need not be read first: a third
      // less traffic for a sum of two arrays.
      streams_ = elements * static_cast<int64_t>(sizeof(T)) >= core.cpu().last_cache_bytes;
      in_place_ = always_in_place_ = Format::IsInPlace(tensor_, internal::MostRagged(blocks_));
      if (always_in_place_) return;
      const size_t bytes = Format::Bytes(blocks_.shape());
      staged_ = core.Allocate(bytes);
      record_ = &core.RecordOf(operand);
      record_->is_output = true;
      record_->buffers = 1;
      record_->memory_bytes = static_cast<int64_t>(bytes);
    }

    /// Others touch the array's memory; the emulator watches that.
    void Watch() {}

    /// The same tile as long as index and run are the same; a stay begins with `init`.
    View Open(const Index<R>& index, int64_t run) {
      if (Leaves(index, run)) Begin(index, run);
      if (!open_) return View();
      return in_place_ ? InPlace(index) : Format::TileOf(static_cast<T*>(staged_), box_);
    }

    bool Leaves(const Index<R>& index, int64_t run) const {
      return !open_ || index != index_ || run != run_;
    }

    void CopyOut() {
      if (open_ && !in_place_) {
        Format::CopyBack(tensor_, box_, staged_);
        ++record_->copies;
        record_->bytes += box_.inside() * static_cast<int64_t>(sizeof(T));
      }
      open_ = false;
    }

    void WaitOut() {
      if (streams_) hwy::FlushStream();
    }

   private:
    void Begin(const Index<R>& index, int64_t run) {
      open_ = core_.ok() && internal::CheckRange(core_, operand_, blocks_, index);
      if (!open_) return;
      index_ = index;
      run_ = run;
      if (!always_in_place_) {
        box_ = blocks_.BoxAt(index);
        in_place_ = Format::IsInPlace(tensor_, box_);
      }
      if (!init_.given) return;
      if (!in_place_) {
        Format::FillBlock(box_, init_.value, staged_);
      } else if (MayOverlap()) {
        // The call has filled the array: nothing but a block that overlaps has written to it since.
        Format::FillInside(InPlace(index), init_.value);
      }
    }

    View InPlace(const Index<R>& index) const {
      View view = Format::TileInPlace(tensor_, blocks_.BoxAt(index));
      view.stream = streams_;
      return view;
    }

    bool MayOverlap() const {
      return std::any_of(blocks_.dims.begin(), blocks_.dims.end(), [](const BlockDim& dim) {
        return dim.kind == BlockDim::Kind::kElement || dim.kind == BlockDim::Kind::kBounded;
      });
    }

    Core& core_;
    const Operand operand_;
    const Tensor<T> tensor_;
    const Blocks<R> blocks_;
    const Init<T> init_;
    OperandRecord* record_ = nullptr;
    void* staged_ = nullptr;
    bool open_ = false;
    bool always_in_place_ = false, in_place_ = false;
    bool streams_ = false;
    Index<R> index_{};
    int64_t run_ = 0;
    Box<R> box_{};  // unless always in place
  };

  /// `count` elements. The extents say what a TPU would need, if that is not a row of them.
  template <typename T>
  static T* Scratch(Core& core, const Operand&, size_t count,
                    std::initializer_list<int64_t> /*extents*/ = {}) {
    return static_cast<T*>(core.Allocate(count * sizeof(T)));
  }

  /// Scratch is undefined whenever the parallel coordinates change.
  template <typename T>
  static void Forget(Core&, T*, size_t) {}

  /// Scalars and prefetch arrays, which are read in place.
  template <typename T>
  static void Hold(Core&, const Operand&, std::initializer_list<int64_t> /*extents*/) {}
};

}  // namespace kiln
