#include "kiln/direct/operands.h"

#include <algorithm>

#include "hwy/cache_control.h"
#include "kiln/core/blocks.h"
#include "kiln/core/shared.h"
#include "kiln/format/each_rank.h"

namespace kiln::inline KILN_ABI::internal {

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

template <int R>
Box<R> Unragged(const Blocks<R>& blocks) {
  Box<R> box{blocks.shape(), {}, {}, {}, {}};
  for (int d = 0; d < R; ++d) box.high[d] = box.size[d];
  return box;
}

template <int R>
void BlockCopies<R>::Reserve(int64_t bytes, int64_t window) {
  bytes_ = bytes;
  record_ = &core_.RecordOf(operand_);
  if (MayShare(window)) {
    shared_ = core_.Share(blocks_.Count(), bytes_);
    record_->buffers = blocks_.Count();
    record_->memory_bytes = blocks_.Count() * bytes_;
    return;
  }
  const int64_t most =
      std::min({window, blocks_.Count(), kMostCached / std::max(bytes_, int64_t{1})});
  slots_ = std::max<int64_t>(most, 1);
  data_ = static_cast<char*>(core_.Allocate(static_cast<size_t>(slots_ * bytes_)));
  tags_ = static_cast<Tag*>(core_.Allocate(static_cast<size_t>(slots_) * sizeof(Tag)));
  if (tags_ != nullptr) std::fill_n(tags_, slots_, Tag{});
  record_->buffers = slots_;
  record_->memory_bytes = slots_ * bytes_;
}

template <int R>
char* BlockCopies<R>::Bring(const Index<R>& index, const Box<R>& box) {
  return shared_ != nullptr ? BringShared(index, box) : BringOwn(index, box);
}

template <int R>
bool BlockCopies<R>::Has(const Index<R>& index) const {
  const int64_t slot = shared_ == nullptr ? FoundSlot(index) : -1;
  return slot >= 0 && !tags_[slot].packed.wraps;
}

template <int R>
PanelsInTurn BlockCopies<R>::BringInTurn(const Index<R>& index, const Box<R>& box) {
  if (shared_ != nullptr) return {BringShared(index, box)};
  const auto [slot, is_there] = Take(index);
  Tag& tag = tags_[slot];
  if (!is_there) {
    tag.packed.is_last = used_once_;
    Record(box);
  }
  return {data_ + slot * bytes_, &tag.packed};
}

template <int R>
typename BlockCopies<R>::Found BlockCopies<R>::Take(const Index<R>& index) {
  const int64_t slot = SlotOf(index);
  Tag& tag = tags_[slot];
  const bool is_there = tag.full && tag.index == index;
  if (tag.full && !is_there) used_once_ = tag.packed.steps == 1;
  if (!is_there) tag = {true, index};
  return {slot, is_there};
}

template <int R>
char* BlockCopies<R>::BringOwn(const Index<R>& index, const Box<R>& box) {
  const auto [slot, is_there] = Take(index);
  char* const data = data_ + slot * bytes_;
  if (!is_there) CopyNow(box, data);
  return data;
}

template <int R>
char* BlockCopies<R>::BringShared(const Index<R>& index, const Box<R>& box) {
  const int64_t block = blocks_.Linear(index);
  if (shared_->Claim(block)) {
    CopyNow(box, shared_->At(block));
    shared_->SayPacked(block);
  }
  return shared_->At(block);
}

template <int R>
void BlockCopies<R>::CopyNow(const Box<R>& box, char* to) {
  Copy(box, to);
  Record(box);
}

template <int R>
void BlockCopies<R>::Record(const Box<R>& box) {
  ++record_->copies;
  record_->bytes += box.bytes(bits_);
}

template <int R>
int64_t BlockCopies<R>::ArrayBytes() const {
  int64_t elements = 1;
  for (int d = 0; d < R; ++d) elements *= blocks_.extent[d];
  return Signed(BytesOf(Unsigned(elements), bits_));
}

/// Blocks that come back do so on several cores. All cores have to agree. Copies that one core
/// would drop again are shared as long as they stay in half of the last cache.
template <int R>
bool BlockCopies<R>::MayShare(int64_t window) const {
  const int64_t count = blocks_.Count();
  const int64_t most = window >= count ? kMostCached : core_.cpu().last_cache_bytes / 2;
  return core_.shares() && window > 0 && blocks_.IsNumbered() &&
         count <= most / std::max(bytes_, int64_t{1});
}

/// Few slots are searched, so that no two blocks of a window ever compete for one; of many, the
/// block's number picks one.
constexpr int64_t kMostSearched = 64;

template <int R>
int64_t BlockCopies<R>::FoundSlot(const Index<R>& index) const {
  const bool picked = slots_ > kMostSearched;
  const int64_t first = picked ? blocks_.Linear(index) % slots_ : 0;
  for (int64_t slot = first; slot < (picked ? first + 1 : slots_); ++slot) {
    if (tags_[slot].full && tags_[slot].index == index) return slot;
  }
  return -1;
}

/// The slot that has the block, or the one to take for it.
template <int R>
int64_t BlockCopies<R>::SlotOf(const Index<R>& index) {
  const int64_t found = FoundSlot(index);
  if (found >= 0) return found;
  if (slots_ > kMostSearched) return blocks_.Linear(index) % slots_;
  oldest_ = (oldest_ + 1) % slots_;
  return oldest_;
}

template <int R>
DotCopies<R>::DotCopies(Core& core, const Operand& operand, const Blocks<R>& blocks,
                        const DotFormat<R>& format, const void* tensor, const void* pad,
                        int64_t others)
    : BlockCopies<R>(core, operand, blocks, format.bits),
      format_(format),
      tensor_(tensor),
      pad_(pad),
      others_(others == kLiveRows ? 1 : others),
      array_bytes_(this->ArrayBytes()),
      packs_later_(others == kLiveRows) {}

template <int R>
void DotCopies<R>::Begin(int64_t window) {
  const Box<R> ragged = MostRagged(this->blocks_);
  always_in_place_ = format_.is_in_place_for != nullptr
                         ? format_.is_in_place_for(this->core_.cpu(), others_, tensor_, ragged)
                         : format_.is_in_place(tensor_, ragged);
  packs_later_ = packs_later_ && always_in_place_;
  if (always_in_place_ && !packs_later_) return;
  // Where only blocks at an edge are copied, they are few.
  if (format_.is_in_place(tensor_, Unragged(this->blocks_))) window = 0;
  this->Reserve(Signed(format_.bytes(tensor_, this->blocks_.shape())), window);
}

template <int R>
DotView DotCopies<R>::WaitIn(const Index<R>& index) {
  DotView view;
  if (!held_ || index != index_) Find(index);
  if (!held_) return view;
  if (copy_.packed != nullptr) ++copy_.packed->steps;
  PackedLater* const later = packs_later_ || copy_.packed != nullptr ? this : nullptr;
  format_.set_view(
      {tensor_, box_, copy_.panels, this->core_.cpu(), others_, array_bytes_, later, copy_.packed},
      &view);
  return view;
}

template <int R>
void DotCopies<R>::Find(const Index<R>& index) {
  held_ = this->IsInRange(index);
  if (!held_) return;
  CopyEach(index, &index_);
  box_ = this->blocks_.BoxAt(index);
  const bool in_place = always_in_place_ || format_.is_in_place(tensor_, box_);
  copy_ = in_place ? PanelsInTurn() : CopyOfBlock();
}

template <int R>
void DotCopies<R>::Copy(const Box<R>& box, void* to) const {
  format_.copy(tensor_, box, pad_, to);
}

template <int R>
PanelsInTurn DotCopies<R>::Panels() {
  const PanelsInTurn taken = CopyOfBlock();
  if (taken.packed != nullptr) ++taken.packed->steps;
  return taken;
}

template <int R>
PanelsInTurn DotCopies<R>::CopyOfBlock() {
  if (format_.copy_piece != nullptr && !is_lent_) return this->BringInTurn(index_, box_);
  return {this->Bring(index_, box_)};
}

template <int R>
void DotCopies<R>::PackPiece(const PanelPiece& piece, void* to) {
  format_.copy_piece(tensor_, box_, pad_, piece, to);
}

template <int R>
bool DotCopies<R>::HasPanels() const {
  return this->Has(index_);
}

/// Outputs that are written past a last cache which cannot hold them need not be read first: a
/// third less traffic for a sum of two arrays. So are those of calls that use more than it holds:
/// nothing of them would be left for whoever reads them next, and the inputs stay. (Sums of two
/// arrays of 11 to 16 MiB are 1.3 to 1.5 times as fast with a cache of 32 MiB, and 1.1 to 1.35 in
/// turns with one that reads them. Small ones stay, as the arrays need not be used as a whole.)
static bool IsWrittenPast(const Core& core, int64_t bytes) {
  const int64_t cache = core.cpu().last_cache_bytes;
  return bytes >= cache || (core.call_bytes() >= cache && bytes >= cache / 4);
}

template <int R>
StagedBlocks<R>::StagedBlocks(Core& core, const Operand& operand, const AnyArray& array,
                              const Blocks<R>& blocks, bool is_in_place, size_t bytes,
                              bool may_stay)
    : core_(core),
      operand_(operand),
      blocks_(blocks),
      always_in_place_(is_in_place),
      in_place_(is_in_place),
      array_(array) {
  int64_t elements = 1;
  for (int d = 0; d < R; ++d) elements *= blocks.extent[d];
  if (!may_stay) core.CheckWalked(operand, elements);
  streams_ = IsWrittenPast(core, Signed(BytesOf(Unsigned(elements), array.bits)));
  if (is_in_place) return;
  staged_ = core.Allocate(bytes);
  record_ = &core.RecordOf(operand);
  record_->is_output = true;
  record_->buffers = 1;
  record_->memory_bytes = Signed(bytes);
}

template <int R>
void StagedBlocks<R>::CopyBack() {
  CopyRowsBack(array_, box_, staged_);
  ++record_->copies;
  record_->bytes += box_.bytes(array_.bits);
}

template <int R>
void StagedBlocks<R>::WaitOut() {
  if (streams_) hwy::FlushStream();
}

template <int R>
bool StagedBlocks<R>::MayOverlap() const {
  return std::any_of(blocks_.dims.begin(), blocks_.dims.end(), [](const BlockDim& dim) {
    return dim.kind == BlockDim::Kind::kElement || dim.kind == BlockDim::Kind::kBounded;
  });
}

#define KILN_RANK(R)                                      \
  template Box<R> MostRagged<R>(const Blocks<R>& blocks); \
  template Box<R> Unragged<R>(const Blocks<R>& blocks);   \
  template class BlockCopies<R>;                          \
  template class DotCopies<R>;                            \
  template class StagedBlocks<R>
KILN_FOR_EACH_RANK(KILN_RANK);
#undef KILN_RANK

}  // namespace kiln::inline KILN_ABI::internal
