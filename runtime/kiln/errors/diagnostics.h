// The messages of diagnostics, and the bytes that blocks take on a TPU. Not templates: text is
// compiled once.
#pragma once

#include <array>
#include <cstdint>

#include "kiln/core/block.h"
#include "kiln/core/core.h"
#include "kiln/core/poison.h"
#include "kiln/core/version.h"
#include "kiln/errors/touches.h"

namespace kiln::inline KILN_ABI {

/// Bytes of an array in whole native tiles of its last two dimensions: (8, 128) elements of 32
/// bits, (16, 128) of 16, (32, 128) of 8, (64, 128) of 4; 64-bit elements are two of 32. One
/// dimension is dense.
int64_t NativeBytes(size_t bits, const int64_t* extents, int rank);
/// Bytes of an array in SMEM, where every element takes at least a word.
int64_t WordBytes(size_t bits, const int64_t* extents, int rank);
inline int64_t EmulatedBytes(Memory memory, size_t bits, const int64_t* extents, int rank) {
  return memory == Memory::kVmem ? NativeBytes(bits, extents, rank)
                                 : WordBytes(bits, extents, rank);
}

namespace internal {

struct BlockName {
  const Operand& operand;
  const int64_t* index;
  const BlockDim* dims;
  int rank;
};

void FailRange(Core& core, const BlockName& block, int dimension, int64_t count, int64_t extent);
void FailSync(Core& core, const BlockName& block, const char* what);
void FailVisit(Core& core, const BlockName& block, Code code, int other_core);

/// What `operand` does in the step that the core is at.
Touch TouchOf(const Core& core, const Operand& operand, bool by_hand = false);
/// Of a block, or of a manual copy of a part of `operand`, that reads or writes its array.
void FailClash(Core& core, const BlockName& block, const Clash& clash, bool reads);
void FailClash(Core& core, const Operand& operand, const Window& window, const Clash& clash,
               bool reads);
/// `at`: the array's coordinates of the first undefined element, and why it is that.
void FailUndefined(Core& core, const BlockName& block, const int64_t* at, Hole hole);
/// What is copied by hand.
void FailUndefined(Core& core, const char* name, int32_t line, Hole hole);

template <int R>
[[gnu::noinline, gnu::cold]] void FailRange(Core& core, const Operand& operand,
                                            const Blocks<R>& blocks, const Index<R> index) {
  const int d = blocks.FirstOutside(index);
  FailRange(core, {operand, index.data(), blocks.dims.data(), R}, d, blocks.Count(d),
            blocks.extent[d]);
}

/// Whether the array has the block, else a diagnostic. (Which gets a copy of the index: nothing
/// that every step does may ask for its address, or it would live in memory.)
template <int R>
inline bool CheckRange(Core& core, const Operand& operand, const Blocks<R>& blocks,
                       const Index<R>& index) {
  if (blocks.FirstOutside(index) == R) [[likely]]
    return true;
  FailRange(core, operand, blocks, Index<R>(index));
  return false;
}

}  // namespace internal
}  // namespace kiln::inline KILN_ABI
