// How large Direct makes blocks whose size changes no result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kiln/core/machine.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// Columns of a B that a product of few rows streams or computes at a time. Memory is fastest along
/// long pieces of rows, but the sums of all rows of A, 64 KiB of them, are to stay close to the L1.
constexpr int64_t StreamedCols(int64_t rows) {
  return rows <= 4 ? 4096 : rows <= 8 ? 2048 : rows <= 16 ? 1024 : 512;
}
/// The same where sums are waited for in the L1: 16 KiB.
constexpr int64_t NarrowCols(int64_t rows) {
  constexpr int64_t kPanel = 64, kSums = 4096;
  return std::max<int64_t>(kSums / kPanel / std::max<int64_t>(rows, 1) * kPanel, 512);
}
/// Columns of a block of B, which is packed, or which strips of fewer columns pass through.
constexpr int64_t BlockCols(int64_t rows) { return std::max<int64_t>(StreamedCols(rows), 2048); }
/// The same of a B that is multiplied as it is stored, in so few bits that the hardware would see
/// pieces of 4096 columns end before it has asked for what follows.
constexpr int64_t StoredCols(int64_t rows) {
  return rows <= 1 ? 16384 : rows <= 2 ? 8192 : BlockCols(rows);
}

/// M where it is not known, or where B must be packed.
constexpr int64_t kUnknownRows = std::numeric_limits<int64_t>::max();
/// In place of a number of rows: those that a dot turns out to need.
constexpr int64_t kLiveRows = -1;

/// How a dot reads B.
enum class BAccess {
  kPacked,
  kUnpackedTiles,  // in place, by register tiles, down its columns
  kUnpackedRows,   // in place, row by row as for a matrix and few vectors, for a small M
};

/// An unpacked B, for a product of M rows: K rows that are `row_bytes` apart, maybe a part of an
/// array.
struct UnpackedB {
  int64_t rows, depth, row_bytes;
  int64_t array_bytes = 0;

  int64_t bytes() const { return std::max(depth * row_bytes, array_bytes); }
  /// Rows so far apart share few sets of a cache.
  bool IsSpread() const { return row_bytes % 2048 == 0; }
};

/// Whether tiles of eight rows read B unpacked as fast as packed; packing takes as long as
/// multiplying with some 30 rows, and with 60 from memory. Pieces of 200 bytes of each row of B are
/// slow to read where they begin within a line, and from memory on some cores, of which the one
/// that is known has an L2 of 2 MiB (Emerald Rapids: 0.74 to 0.97 of the speed of packing; Zen 4:
/// 1.05 to 1.28). With a B in the L2 packing pays from some 1500 rows on, by 1.02 to 1.08.
inline bool UnpackedPaysFor8Rows(const Cpu& cpu, const UnpackedB& b) {
  constexpr int64_t kLargeL2 = int64_t{3} << 19, kMostInL2 = 1536;
  const bool in_l2 = b.bytes() <= cpu.l2_bytes, of_lines = b.row_bytes % kLineBytes == 0;
  if (in_l2 && of_lines) return b.rows <= kMostInL2;
  const bool in_last_cache = b.bytes() <= cpu.last_cache_bytes;
  const bool slow_memory = cpu.l2_bytes > kLargeL2;
  if (slow_memory && !in_last_cache) return false;
  const int64_t least = in_l2 ? 1 : in_last_cache ? 17 : of_lines ? 48 : 64;
  const int64_t most = slow_memory ? 192 : b.IsSpread() ? 320 : 768;
  return least <= b.rows && b.rows <= most;
}

/// The same of tiles of four rows, which read B twice as often, so that it has to be near.
inline bool UnpackedPaysFor4Rows(const Cpu& cpu, const UnpackedB& b) {
  constexpr int64_t kMinRowsFromLastCache = 12, kMaxRowsSpread = 32, kMaxRows = 64;
  if (b.IsSpread()) return b.rows <= kMaxRowsSpread && b.bytes() <= cpu.l2_bytes;
  if (b.rows > kMaxRows) return false;
  return b.bytes() <= cpu.last_cache_bytes / 4 ||
         (b.rows > kMinRowsFromLastCache && b.bytes() <= cpu.last_cache_bytes);
}

/// So few rows multiply a B that is read row by row as fast as register tiles multiply panels.
constexpr int64_t kMaxRowsBelowTiles = 3;

/// Rows of a block that ends where its array of so many does.
constexpr int64_t RowsOfBlock(int64_t block, int64_t array) { return std::min(block, array); }

/// Rows of products for which a B is packed once, as it stays for `steps` steps of `rows` each: all
/// of them, unless each step has so few that its panels would not be faster.
constexpr int64_t RowsOfStay(int64_t rows, int64_t steps) {
  return rows <= kMaxRowsBelowTiles ? rows : rows * steps;
}

/// `few_rows`, `can_read_unpacked`: what the dot's types allow. `tiles_of_8_rows`: else
/// of 4.
inline BAccess ChooseBAccess(const Cpu& cpu, const UnpackedB& b, int64_t few_rows,
                             bool can_read_unpacked, bool tiles_of_8_rows) {
  if (b.rows == kUnknownRows) return BAccess::kPacked;
  const bool pays = tiles_of_8_rows ? UnpackedPaysFor8Rows(cpu, b) : UnpackedPaysFor4Rows(cpu, b);
  if (can_read_unpacked && b.row_bytes > 0 && b.rows > kMaxRowsBelowTiles && pays)
    return BAccess::kUnpackedTiles;
  return b.rows <= few_rows ? BAccess::kUnpackedRows : BAccess::kPacked;
}

/// Of an elementwise kernel: as long as may be, since memory and its prefetchers like long rows,
/// but no longer than what a core's L2 holds of a few operands. `inner` elements go with each
/// index. It is even, so that the blocks of an output share no byte, whatever its type.
inline int64_t PassSize(const Cpu& cpu, int64_t extent, int64_t inner = 1) {
  const int64_t elements = cpu.l2_bytes / 16;
  const int64_t most = std::max(RoundUp(elements / std::max(inner, int64_t{1}), 2), int64_t{2});
  return std::min(most, std::max(extent, int64_t{1}));
}

/// Of columns that a kernel works on side by side, row by row: what it keeps of each of them stays
/// in L1, and the rows are long pieces of memory.
inline int64_t StripSize(const Cpu& cpu, int64_t extent) {
  return std::clamp<int64_t>(extent, 1, cpu.l1_bytes / 4);
}

/// MC, the rows of A that stay in the L2 while the panels of B pass by. Several cores get smaller
/// blocks, so that they can share the last ones. With few columns a block of A is used once,
/// and is small enough to be in the L2 still when it is; unless they are so few that it is not
/// packed.
inline int64_t ChooseMC(const Cpu& cpu, int64_t rows, int64_t cores, int64_t columns = INT64_MAX,
                        int64_t depth = 1) {
  constexpr int64_t kFewColumns = 128, kFewInPlace = 8;  // FewColumns
  int64_t most = cores == 1 ? 512 : std::clamp<int64_t>(RoundUp(DivUp(rows, 8), 8), 64, 512);
  if (kFewInPlace < columns && columns <= kFewColumns) {
    const int64_t fit = cpu.l2_bytes / 16 / std::max(depth, int64_t{1});
    most = std::min(most, std::max<int64_t>(RoundUp(fit, 8), 64));
  }
  return std::clamp<int64_t>(RoundUp(rows, 8), 8, most);
}

/// NC, the columns of B: no more than a core's share, so that all cores have work in a small
/// product, in whole panels of any vector length. A product of few rows has as many as `most` lets
/// it stream.
inline int64_t ChooseNC(int64_t columns, int64_t cores, int64_t rows = INT64_MAX,
                        int64_t (*most)(int64_t rows) = BlockCols) {
  constexpr int64_t kPanel = 64;
  return std::clamp<int64_t>(RoundUp(DivUp(columns, cores), kPanel), kPanel, most(rows));
}

/// Bytes of a column of an unpacked B, for register tiles. Each row is in a page of its own, and
/// rows a power of two apart share few sets of the L2.
inline int64_t UnpackedKCBytes(const Cpu& cpu, int64_t depth, int64_t row_bytes,
                               int64_t most_bytes) {
  constexpr int64_t kHalfPage = 2048;
  if (depth * row_bytes <= cpu.l2_bytes) return most_bytes;
  return std::min<int64_t>(most_bytes, row_bytes % kHalfPage == 0 ? 1024 : 4096);
}

/// KC in bytes of a column of B.
struct KCBytes {
  int64_t most, single;  // of one of several blocks, and of the only one
};

/// Tiles of eight rows take so long that B may come from the L2; an unpacked A is to stay in the
/// L1. Tiles of four read B from the L1. A second block in K makes them load and store their sums,
/// which costs more than a block somewhat larger than an L1 of 32 KiB (f32 of 384 and 512 4 to 7 %
/// faster in one). Panels of 1536 bytes a column are 36 KiB: with an L1 of 32 KiB f32 of 512 and
/// more are 13 % faster than with 6 KiB a column, with one of 48 KiB 8 to 15 % faster than with
/// 2304, of which nothing is left for A, and 512 in two blocks 6 % faster than in one. `long_rows`:
/// whether pieces of A's rows are rather to be so long that none has to be packed.
inline KCBytes KCBytesFor(const Cpu& cpu, bool tiles_of_8_rows, bool long_rows) {
  constexpr int64_t kOfPanels = 1536;
  if (tiles_of_8_rows) return {cpu.l2_bytes * 6 / 1024, cpu.l2_bytes * 6 / 1024};
  if (!long_rows && cpu.l1_bytes * 3 / 64 > kOfPanels) return {kOfPanels, kOfPanels};
  return {cpu.l1_bytes * 3 / 64, cpu.l1_bytes / 16};
}

/// KC, the depth of both: a tile's sums stay in registers for so long. Blocks have the same size,
/// and none ends within a k-group. A small M has a small KC, as few columns have a small MC. A
/// column takes `most_bytes`, or `single_bytes` if K fits into one block of them.
inline int64_t ChooseKC(int64_t depth, int64_t packed_bytes, int64_t most_bytes,
                        int64_t single_bytes, int64_t rows) {
  constexpr int64_t kFewRows = 32;
  if (depth * packed_bytes <= single_bytes) most_bytes = single_bytes;
  const int64_t bytes = rows <= kFewRows ? 512 : most_bytes;
  const int64_t most = std::max<int64_t>(bytes / packed_bytes, 8);
  const int64_t blocks = std::max<int64_t>(DivUp(depth, most), 1);
  return std::max<int64_t>(RoundUp(DivUp(depth, blocks), 8), 8);
}

}  // namespace kiln::inline KILN_ABI
