#include "kiln/host/prepare.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace kiln::inline KILN_ABI {
namespace {

constexpr int64_t kMaxI32 = 2147483647;

int64_t CeilDivide(int64_t a, int64_t b) { return a / b + (a % b != 0); }

HostArray<int32_t> Vector(const std::vector<int64_t>& values) {
  HostArray<int32_t> array;
  array.shape[0] = static_cast<int64_t>(values.size());
  for (const int64_t value : values) array.values.push_back(static_cast<int32_t>(value));
  return array;
}

// ---- group_metadata -----------------------------------------------------------------------------

struct Groups {
  internal::List<int64_t> sizes;
  std::vector<int64_t> offsets;
  int64_t m, tm, start, count;
  bool visit_empty;

  int64_t groups() const { return static_cast<int64_t>(sizes.size()); }
  int64_t row_tiles() const { return CeilDivide(m, tm); }
};

void ReadOffsets(Groups& g, Status& status) {
  g.offsets = {0};
  for (int64_t i = 0; i < g.groups(); ++i) {
    const int64_t size = g.sizes[static_cast<size_t>(i)];
    if (size < 0) {
      status.Fail(kCall, "group_metadata: group %" PRId64 " has the negative size %" PRId64, i,
                  size);
      return;
    }
    if (size > g.m - g.offsets.back()) {
      status.Fail(kCall,
                  "group_metadata: the group sizes add up to more than the %" PRId64
                  " rows there are: group %" PRId64 " has %" PRId64 " rows from row %" PRId64 " on",
                  g.m, i, size, g.offsets.back());
      return;
    }
    g.offsets.push_back(g.offsets.back() + size);
  }
}

Groups ReadGroups(internal::List<int64_t> sizes, int64_t m, int64_t tm, const GroupOptions& options,
                  Status& status) {
  Groups g{std::move(sizes), {}, m, tm, options.start, 0, options.visit_empty};
  if (tm < 1) {
    status.Fail(kCall, "group_metadata: tm is %" PRId64 ", but a tile has at least one row", tm);
  } else if (m < 0 || m > kMaxI32) {
    status.Fail(kCall, "group_metadata: m is %" PRId64 ", which is no number of rows", m);
  }
  if (!status.ok()) return g;
  ReadOffsets(g, status);
  if (g.start < 0 || g.start > g.groups()) {
    status.Fail(kCall, "group_metadata: start is %" PRId64 ", but there are %" PRId64 " groups",
                g.start, g.groups());
    return g;
  }
  g.count = options.count.value_or(g.groups() - g.start);
  if (g.count < 0 || g.count > g.groups() - g.start) {
    status.Fail(kCall,
                "group_metadata: count is %" PRId64 ", but from group %" PRId64
                " on there are %" PRId64,
                g.count, g.start, g.groups() - g.start);
  } else if (g.row_tiles() + g.groups() > kMaxHostElements) {
    status.Fail(kCall, "group_metadata: there would be %" PRId64 " row tiles, more than %" PRId64,
                g.row_tiles(), kMaxHostElements);
  }
  return g;
}

/// How many tiles each group has rows in.
std::vector<int64_t> TilesOfGroups(const Groups& g) {
  std::vector<int64_t> tiles;
  for (size_t i = 0; i < g.sizes.size(); ++i) {
    const int64_t first = g.offsets[i] / g.tm;
    const int64_t last = CeilDivide(g.offsets[i + 1], g.tm);
    const int64_t empty = g.visit_empty && g.m > 0 ? 1 : 0;
    tiles.push_back(g.sizes[i] == 0 ? empty : last - first);
  }
  return tiles;
}

/// How many steps visit each tile: the one of the group that owns its first row, and one for each
/// group that starts inside of it. An empty group that is visited counts as starting inside.
std::vector<int64_t> VisitsOfTiles(const Groups& g) {
  std::vector<int64_t> visits(static_cast<size_t>(g.row_tiles()), 1);
  for (size_t i = 0; i < g.sizes.size(); ++i) {
    const int64_t tile = g.offsets[i] / g.tm;
    const bool inside = g.sizes[i] == 0 ? g.visit_empty : g.offsets[i] % g.tm != 0;
    if (inside && tile < g.row_tiles()) ++visits[static_cast<size_t>(tile)];
  }
  return visits;
}

/// [0, 0, 1, 2, 2, …], each index as often as `counts` says, the last index again and again to fill
/// `length` entries.
std::vector<int64_t> Repeat(const std::vector<int64_t>& counts, int64_t length) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < counts.size(); ++i) {
    out.insert(out.end(), static_cast<size_t>(counts[i]), static_cast<int64_t>(i));
  }
  out.resize(static_cast<size_t>(length),
             counts.empty() ? 0 : static_cast<int64_t>(counts.size()) - 1);
  return out;
}

// ---- blocks of a matrix -------------------------------------------------------------------------

/// A matrix cut into blocks; the last of a row or column may be ragged.
struct Cut2 {
  const internal::AnyMatrix& x;
  int64_t height, width;  // of a block
  int64_t rows, cols;     // numbers of blocks

  int64_t RowEnd(int64_t i) const { return std::min((i + 1) * height, x.shape[0]); }
  int64_t ColEnd(int64_t j) const { return std::min((j + 1) * width, x.shape[1]); }
  const char* At(int64_t r, int64_t c) const { return x.data + r * x.stride[0] + c * x.stride[1]; }
};

Cut2 CutUp(const internal::AnyMatrix& x, int64_t height, int64_t width, const char* function,
           Status& status) {
  if (height < 1 || width < 1) {
    status.Fail(kCall,
                "%s: blocks of %" PRId64 " x %" PRId64 ", but a block has at least one element",
                function, height, width);
    return {x, 1, 1, 0, 0};
  }
  // Blocks larger than the matrix are as large as it: what follows cannot overflow.
  height = std::min(height, std::max<int64_t>(x.shape[0], 1));
  width = std::min(width, std::max<int64_t>(x.shape[1], 1));
  const Cut2 b{x, height, width, CeilDivide(x.shape[0], height), CeilDivide(x.shape[1], width)};
  int64_t blocks = 0;
  if (__builtin_mul_overflow(b.rows, b.cols, &blocks) || blocks > kMaxHostElements) {
    status.Fail(kCall, "%s: the blocks are too small: there would be more than %" PRId64, function,
                kMaxHostElements);
  }
  return b;
}

/// Bytes of the block with the extents in front: equal blocks give equal strings.
std::string Contents(const Cut2& b, int64_t i, int64_t j) {
  const int64_t cols = b.ColEnd(j) - j * b.width;
  std::string text = std::to_string(b.RowEnd(i) - i * b.height) + "x" + std::to_string(cols) + ":";
  for (int64_t r = i * b.height; r < b.RowEnd(i); ++r) {
    for (int64_t c = j * b.width; c < b.ColEnd(j); ++c) text.append(b.At(r, c), b.x.element);
  }
  return text;
}

bool HasNonzero(const Cut2& b, int64_t i, int64_t j) {
  for (int64_t r = i * b.height; r < b.RowEnd(i); ++r) {
    for (int64_t c = j * b.width; c < b.ColEnd(j); ++c) {
      if (!b.x.is_zero(b.At(r, c))) return true;
    }
  }
  return false;
}

}  // namespace

BlockList DistinctBlocks(const MaskMaps& maps) {
  std::vector<int64_t> rows(static_cast<size_t>(maps.blocks)), cols(rows.size());
  for (size_t b = 0; b < maps.block_mask.values.size(); ++b) {
    if (maps.block_mask.values[b] == 0) continue;
    const auto number = static_cast<size_t>(maps.prefetch_mask.values[b]);
    rows[number] = maps.prefetch_i.values[b];
    cols[number] = maps.prefetch_j.values[b];
  }
  return {Vector(rows), Vector(cols), maps.blocks};
}

namespace internal {

Status GroupMetadataOf(List<int64_t> sizes, int64_t m, int64_t tm, const GroupOptions& options,
                       GroupSteps* steps) {
  Status status;
  const Groups g = ReadGroups(std::move(sizes), m, tm, options, status);
  if (!status.ok()) return status;

  const int64_t length = std::max<int64_t>(g.row_tiles() + g.groups() - 1, 0);
  const std::vector<int64_t> group_tiles = TilesOfGroups(g);
  std::vector<int64_t> ids = Repeat(group_tiles, length);
  std::vector<int64_t> tiles = Repeat(VisitsOfTiles(g), length);

  // A shard's own steps come first, what was before them last.
  const auto skipped =
      std::count_if(ids.begin(), ids.end(), [&](int64_t i) { return i < g.start; });
  std::rotate(ids.begin(), ids.begin() + skipped, ids.end());
  std::rotate(tiles.begin(), tiles.begin() + skipped, tiles.end());

  if (g.row_tiles() + g.groups() > 0) {  // one more than Pallas has, so that specs need no `- 1`
    ids.push_back(std::max<int64_t>(g.groups() - 1, 0));
    tiles.push_back(std::max<int64_t>(g.row_tiles() - 1, 0));
  }
  int64_t visits = 0;
  for (int64_t i = g.start; i < g.start + g.count; ++i)
    visits += group_tiles[static_cast<size_t>(i)];
  *steps = {Vector(g.offsets), Vector(ids), Vector(tiles), static_cast<int32_t>(visits)};
  return status;
}

Status SparsifyMaskOf(const AnyMatrix& mask, int64_t bm, int64_t bn, MaskMaps* maps) {
  Status status;
  const Cut2 b = CutUp(mask, bm, bn, "sparsify_mask", status);
  if (!status.ok()) return status;
  HostArray<int32_t> map;
  map.rank = 2;
  map.shape = {b.rows, b.cols};
  map.values.resize(static_cast<size_t>(b.rows * b.cols));
  *maps = {map, map, map, map, 0};
  std::map<std::string, int64_t> numbers;  // of the distinct blocks, by contents
  int64_t next_mask = 0, next_i = b.rows - 1, next_j = b.cols - 1;
  for (int64_t i = b.rows - 1; i >= 0; --i) {
    for (int64_t j = b.cols - 1; j >= 0; --j) {
      const bool nonzero = HasNonzero(b, i, j);
      if (nonzero) {
        const auto number = static_cast<int64_t>(numbers.size());
        next_mask = numbers.try_emplace(Contents(b, i, j), number).first->second;
        next_i = i;
        next_j = j;
      }
      const auto at = static_cast<size_t>(i * b.cols + j);
      maps->block_mask.values[at] = nonzero;
      maps->prefetch_mask.values[at] = static_cast<int32_t>(next_mask);
      maps->prefetch_i.values[at] = static_cast<int32_t>(next_i);
      maps->prefetch_j.values[at] = static_cast<int32_t>(next_j);
    }
  }
  maps->blocks = static_cast<int32_t>(numbers.size());
  return status;
}

Status BlockCooOf(const AnyMatrix& x, int64_t bm, int64_t bk, BlockList* list) {
  Status status;
  const Cut2 b = CutUp(x, bm, bk, "block_coo", status);
  if (!status.ok()) return status;
  std::vector<int64_t> rows, cols;
  for (int64_t i = 0; i < b.rows; ++i) {
    for (int64_t j = 0; j < b.cols; ++j) {
      if (!HasNonzero(b, i, j)) continue;
      rows.push_back(i);
      cols.push_back(j);
    }
  }
  *list = {Vector(rows), Vector(cols), static_cast<int32_t>(rows.size())};
  return status;
}

Status CheckBlocks(const AnyMatrix& x, int64_t bm, int64_t bk, const BlockList& list) {
  Status status;
  if (bm < 1 || bk < 1) {
    status.Fail(kCall,
                "copy_blocks: blocks of %" PRId64 " x %" PRId64
                ", but a block has at least one element",
                bm, bk);
    return status;
  }
  const int64_t rows = CeilDivide(x.shape[0], bm), cols = CeilDivide(x.shape[1], bk);
  const auto count = static_cast<size_t>(std::max(list.count, 0));
  for (size_t t = 0; t < std::min({count, list.rows.values.size(), list.cols.values.size()}); ++t) {
    const int32_t i = list.rows.values[t], j = list.cols.values[t];
    if (i >= 0 && i < rows && j >= 0 && j < cols) continue;
    status.Fail(kCall, "copy_blocks: there is no block (%d, %d)", i, j);
    return status;
  }
  int64_t elements = 0;
  if (list.count < 0 || count > list.rows.values.size() || count > list.cols.values.size()) {
    status.Fail(kCall, "copy_blocks: the list does not have %d entries", list.count);
  } else if (__builtin_mul_overflow(bm, bk, &elements) ||
             __builtin_mul_overflow(elements, int64_t{list.count}, &elements) ||
             elements > kMaxHostElements) {
    status.Fail(kCall, "copy_blocks: there would be more than %" PRId64 " elements",
                kMaxHostElements);
  }
  return status;
}

void CopyBlocksTo(const AnyMatrix& x, int64_t bm, int64_t bk, const BlockList& list, void* to) {
  auto* block = static_cast<char*>(to);
  for (size_t t = 0; t < static_cast<size_t>(list.count); ++t) {
    const int64_t row = list.rows.values[t] * bm, col = list.cols.values[t] * bk;
    const int64_t rows = std::min(bm, x.shape[0] - row), cols = std::min(bk, x.shape[1] - col);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c) {
        const char* const from = x.data + (row + r) * x.stride[0] + (col + c) * x.stride[1];
        std::memcpy(block + static_cast<size_t>(r * bk + c) * x.element, from, x.element);
      }
    }
    block += static_cast<size_t>(bm * bk) * x.element;
  }
}

Status GroupedRowsOf(List<int64_t> rows, int64_t row_blocks, std::optional<int64_t> wanted,
                     RowSteps* steps) {
  Status status;
  const auto given = static_cast<int64_t>(rows.size());
  const int64_t count = wanted.value_or(given);
  if (count < 0 || count > given) {
    status.Fail(kCall, "grouped_rows: count is %" PRId64 ", but rows has %" PRId64 " entries",
                count, given);
  } else if (row_blocks < 0 || row_blocks > kMaxHostElements) {
    status.Fail(kCall, "grouped_rows: row_blocks is %" PRId64 ", which is no number of blocks",
                row_blocks);
  }
  if (!status.ok()) return status;
  rows.resize(static_cast<size_t>(count));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= 0 && rows[i] < row_blocks) continue;
    status.Fail(kCall,
                "grouped_rows: rows[%zu] is %" PRId64 ", but there are %" PRId64 " row blocks", i,
                rows[i], row_blocks);
    return status;
  }
  // A counting sort: the entries of row r are order[starts[r]] to order[starts[r + 1]].
  std::vector<int64_t> starts(static_cast<size_t>(row_blocks) + 1, 0);
  for (const int64_t r : rows) ++starts[static_cast<size_t>(r) + 1];
  for (size_t r = 1; r < starts.size(); ++r) starts[r] += starts[r - 1];
  std::vector<int64_t> order(rows.size());
  std::vector<int64_t> next = starts;
  for (size_t i = 0; i < rows.size(); ++i) {
    order[static_cast<size_t>(next[static_cast<size_t>(rows[i])]++)] = static_cast<int64_t>(i);
  }
  std::vector<int64_t> row, block, real;
  for (int64_t r = 0; r < row_blocks; ++r) {
    const int64_t begin = starts[static_cast<size_t>(r)];
    const int64_t end = starts[static_cast<size_t>(r) + 1];
    for (int64_t at = begin; at < std::max(end, begin + 1); ++at) {
      row.push_back(r);
      block.push_back(order.empty() ? 0 : order[static_cast<size_t>(std::min(at, count - 1))]);
      real.push_back(at < end);
    }
  }
  *steps = {Vector(row), Vector(block), Vector(real), static_cast<int32_t>(row.size())};
  return status;
}

bool CheckMade(CallCheck& check, const char* name, int rank, const int64_t* made,
               std::initializer_list<int64_t> declared, std::optional<int64_t> used) {
  if (rank != static_cast<int>(declared.size())) {
    return check.Fail(kCall, "host code makes %s of rank %d, but the spec declares rank %zu", name,
                      rank, declared.size());
  }
  int64_t count = 1;
  bool large = false;
  for (int d = 0; d < rank; ++d) {
    const int64_t extent = declared.begin()[d];
    const int64_t needed = used.value_or(made[d]);
    if (extent < needed) {
      return check.Fail(kCall,
                        "host code makes %" PRId64
                        " entries of %s that are used along dimension %d, but the spec declares "
                        "%" PRId64,
                        needed, name, d, extent);
    }
    large = large || __builtin_mul_overflow(count, extent, &count) || count > kMaxHostElements;
  }
  return !large || check.Fail(kCall, "%s is too large for what host code makes", name);
}

}  // namespace internal
}  // namespace kiln::inline KILN_ABI
