// How large Direct makes blocks whose size changes no result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kiln/types.h"

namespace kiln {

/// Rows of a product for which memory alone counts.
constexpr int64_t kFewestRows = 2;

/// A y of this size stays in the L2.
constexpr int64_t kInL2 = int64_t{1} << 20;

/// Rows that a y meets, if that is not known, or it must be packed.
constexpr int64_t kUnknownRows = std::numeric_limits<int64_t>::max();

/// How a dot reads y.
enum class RightWay {
  kPanels,  // packed
  kTiles,   // where it lies, by register tiles, down its columns
  kAlong,   // where it lies, along its rows, for few rows of x
};

/// A y, for so many rows of x: `depth` rows that are `row_bytes` apart.
struct LyingRight {
  int64_t rows, depth, row_bytes;

  int64_t bytes() const { return depth * row_bytes; }
  /// Few such rows fit into a cache, as they compete for its sets.
  bool IsSpread() const { return row_bytes % 2048 == 0; }
};

constexpr int64_t kInLastCache = int64_t{32} << 20;

/// Whether tiles of eight rows read it as fast as panels, which take as long to pack as to multiply
/// with some 30 rows. Pieces of 200 bytes from each row of y are slow to come from memory, or if
/// they begin within lines.
inline bool TallTilesPay(const LyingRight& y) {
  constexpr int64_t kLine = 64, kFew = 16, kMany = 192;
  if (y.bytes() <= kInL2 && y.row_bytes % kLine == 0) return true;
  return y.rows <= kMany && (y.bytes() <= kInL2 || (y.rows > kFew && y.bytes() <= kInLastCache));
}

/// Those of four rows, which read it twice as often: it has to be in the L1 soon.
inline bool LowTilesPay(const LyingRight& y) {
  constexpr int64_t kClose = int64_t{8} << 20, kFew = 12, kSome = 32, kMany = 64;
  if (y.IsSpread()) return y.rows <= kSome && y.bytes() <= kInL2;
  return y.rows <= kMany && (y.bytes() <= kClose || (y.rows > kFew && y.bytes() <= kInLastCache));
}

/// How a dot reads y.
inline RightWay RightWayFor(const LyingRight& y, bool may_go_along, bool tiles_may, bool tall) {
  constexpr int64_t kVeryFew = 3;
  const int64_t along = tall ? 64 : 32;
  if (y.rows == kUnknownRows) return RightWay::kPanels;
  if (tiles_may && y.row_bytes > 0 && y.rows > kVeryFew &&
      (tall ? TallTilesPay(y) : LowTilesPay(y)))
    return RightWay::kTiles;
  return may_go_along && y.rows <= along ? RightWay::kAlong : RightWay::kPanels;
}

/// Of an elementwise kernel: as long as may be, since memory and its prefetchers like long rows,
/// but no longer than what a core's L2 holds of a few operands. `inner` elements go with each
/// index.
inline int64_t PassSize(int64_t extent, int64_t inner = 1) {
  constexpr int64_t kElements = int64_t{64} << 10;
  return std::clamp(kElements / std::max(inner, int64_t{1}), int64_t{1},
                    std::max(extent, int64_t{1}));
}

/// Of columns that a kernel works on side by side, row by row: what it keeps of each of them stays
/// in L1, and the rows are long pieces of memory.
inline int64_t StripSize(int64_t extent) {
  return std::clamp<int64_t>(extent, 1, int64_t{8} << 10);
}

/// Rows of a dot's left operand: as many as stay in L2 while the panels of the right one pass by.
/// Several cores get smaller blocks, to be able to help each other out. A block that few columns
/// are multiplied with is soon done with: it is to be in the L2 still, where it was packed.
inline int64_t RowBlock(int64_t rows, int64_t cores, int64_t columns = INT64_MAX,
                        int64_t depth = 1) {
  constexpr int64_t kFew = 128, kElements = int64_t{64} << 10;
  int64_t most = cores == 1 ? 512 : std::clamp<int64_t>(RoundUp(DivUp(rows, 8), 8), 64, 512);
  if (columns <= kFew) {
    const int64_t fit = kElements / std::max(depth, int64_t{1});
    most = std::min(most, std::max<int64_t>(RoundUp(fit, 8), 64));
  }
  return std::clamp<int64_t>(RoundUp(rows, 8), 8, most);
}

/// Columns of its right operand: no more than a core's share, so that small products have work for
/// all, in whole panels of any vector length. Where the operand lies, few rows walk along long
/// pieces of its rows, as memory likes it.
inline int64_t ColumnBlock(int64_t columns, int64_t cores, int64_t rows = INT64_MAX) {
  constexpr int64_t kPanel = 64;
  const int64_t most = rows <= kFewestRows ? 4096 : 512;
  return std::clamp<int64_t>(RoundUp(DivUp(columns, cores), kPanel), kPanel, most);
}

/// Bytes of a column of a y that lies, for tiles. Each row lies in a page of its own; of rows a
/// power of two apart few fit into the L2, as they compete for its sets.
inline int64_t LyingDepthBytes(int64_t depth, int64_t row_bytes, int64_t most_bytes) {
  constexpr int64_t kHalfPage = 2048;
  if (depth * row_bytes <= kInL2) return most_bytes;
  return std::min<int64_t>(most_bytes, row_bytes % kHalfPage == 0 ? 1024 : 4096);
}

/// The depth of both: the sums of a tile stay in registers for so long. Blocks are alike, and cut
/// no word of several elements. For few rows they are shallow, as row blocks are short for few
/// columns. Of a column, for many rows: `most_bytes`, or `only_bytes` if that is all.
inline int64_t DepthBlock(int64_t depth, int64_t packed_bytes, int64_t most_bytes,
                          int64_t only_bytes, int64_t rows) {
  constexpr int64_t kFew = 32;
  if (depth * packed_bytes <= only_bytes) most_bytes = only_bytes;
  const int64_t bytes = rows <= kFew ? 512 : most_bytes;
  const int64_t most = std::max<int64_t>(bytes / packed_bytes, 8);
  const int64_t blocks = std::max<int64_t>(DivUp(depth, most), 1);
  return std::max<int64_t>(RoundUp(DivUp(depth, blocks), 8), 8);
}

}  // namespace kiln
