#include <algorithm>

#include "generator/bind/host.h"

namespace kiln {
namespace {

constexpr int64_t kMaxI32 = 2147483647;

std::vector<int64_t> ValuesOf(const Array& array) {
  std::vector<int64_t> values(static_cast<size_t>(array.size()));
  LoadInts(array, 0, array.size(), values.data());
  return values;
}

struct Groups {
  std::vector<int64_t> sizes;
  std::vector<int64_t> offsets;
  int64_t m, tm, start, count;
  bool visit_empty;

  int64_t groups() const { return static_cast<int64_t>(sizes.size()); }
  int64_t row_tiles() const { return m / tm + (m % tm != 0); }
};

// Empty, or what is wrong.
std::string ReadGroups(const std::vector<HostValue>& values, Groups& out) {
  out.m = *values[1].number;
  out.tm = *values[2].number;
  if (out.tm < 1) return "`tm` is " + std::to_string(out.tm) + ", but a tile has at least one row";
  if (out.m < 0) return "`m` is " + std::to_string(out.m) + ", but it cannot be negative";
  if (out.m > kMaxI32)
    return "`m` is " + std::to_string(out.m) + ", which does not fit the i32 offsets";
  out.sizes = ValuesOf(*values[0].array);
  out.offsets = {0};
  for (int64_t g = 0; g < out.groups(); ++g) {
    const int64_t size = out.sizes[static_cast<size_t>(g)];
    if (size < 0)
      return "group " + std::to_string(g) + " has the negative size " + std::to_string(size);
    if (size > out.m - out.offsets.back()) {
      return "the group sizes add up to more than the " + std::to_string(out.m) +
             " rows there are: group " + std::to_string(g) + " ends at row " +
             (size > kMaxI32 ? "2^31 or later" : std::to_string(out.offsets.back() + size));
    }
    out.offsets.push_back(out.offsets.back() + size);
  }
  out.start = values[3].number.value_or(0);
  if (out.start < 0 || out.start > out.groups()) {
    return "`start` is " + std::to_string(out.start) + ", but there are " +
           std::to_string(out.groups()) + " groups";
  }
  out.count = values[4].number.value_or(out.groups() - out.start);
  if (out.count < 0 || out.count > out.groups() - out.start) {
    return "`count` is " + std::to_string(out.count) + ", but from group " +
           std::to_string(out.start) + " on there are " + std::to_string(out.groups() - out.start);
  }
  out.visit_empty = values[5].number.value_or(0) != 0;
  if (out.row_tiles() + out.groups() > kMaxHostElements) {
    return "there would be " + std::to_string(out.row_tiles()) + " row tiles, more than " +
           std::to_string(kMaxHostElements) + ": choose a larger `tm`";
  }
  return "";
}

// How many tiles each group has rows in.
std::vector<int64_t> TilesOfGroups(const Groups& g) {
  std::vector<int64_t> tiles;
  for (size_t i = 0; i < g.sizes.size(); ++i) {
    const int64_t first = g.offsets[i] / g.tm;
    const int64_t end = g.offsets[i + 1];
    const int64_t last = end / g.tm + (end % g.tm != 0);
    const int64_t empty = g.visit_empty && g.m > 0 ? 1 : 0;
    tiles.push_back(g.sizes[i] == 0 ? empty : last - first);
  }
  return tiles;
}

// How many steps visit each tile: the one of the group that owns its first row, and one for each
// group that starts inside of it. An empty group that is visited counts as starting inside.
std::vector<int64_t> VisitsOfTiles(const Groups& g) {
  std::vector<int64_t> visits(static_cast<size_t>(g.row_tiles()), 1);
  for (size_t i = 0; i < g.sizes.size(); ++i) {
    const int64_t tile = g.offsets[i] / g.tm;
    const bool inside = g.sizes[i] == 0 ? g.visit_empty : g.offsets[i] % g.tm != 0;
    if (inside && tile < g.row_tiles()) ++visits[static_cast<size_t>(tile)];
  }
  return visits;
}

// [0, 0, 1, 2, 2, …], each index as often as `counts` says, the last index again and again to
// fill `length` entries, as jnp.repeat with total_repeat_length.
std::vector<int64_t> Repeat(const std::vector<int64_t>& counts, int64_t length) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < counts.size(); ++i) {
    out.insert(out.end(), static_cast<size_t>(counts[i]), static_cast<int64_t>(i));
  }
  out.resize(static_cast<size_t>(length),
             counts.empty() ? 0 : static_cast<int64_t>(counts.size()) - 1);
  return out;
}

}  // namespace

HostResult GroupMetadata(const std::vector<HostValue>& values) {
  Groups g;
  std::string problem = ReadGroups(values, g);
  if (!problem.empty()) return problem;

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
  return std::vector<Array>{HostVector(g.offsets), HostVector(ids), HostVector(tiles),
                            HostScalar(visits)};
}

HostResult GroupedRows(const std::vector<HostValue>& values) {
  std::vector<int64_t> rows = ValuesOf(*values[0].array);
  const int64_t row_blocks = *values[1].number;
  const auto given = static_cast<int64_t>(rows.size());
  const int64_t count = values[2].number.value_or(given);
  if (count < 0 || count > given) {
    return "`count` is " + std::to_string(count) + ", but `rows` has " + std::to_string(given) +
           " entries";
  }
  if (row_blocks < 0)
    return "`row_blocks` is " + std::to_string(row_blocks) + ", but it cannot be negative";
  if (row_blocks > kMaxHostElements) {
    return "`row_blocks` is " + std::to_string(row_blocks) + ", more than " +
           std::to_string(kMaxHostElements);
  }
  rows.resize(static_cast<size_t>(count));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= 0 && rows[i] < row_blocks) continue;
    return "`rows[" + std::to_string(i) + "]` is " + std::to_string(rows[i]) + ", but there are " +
           std::to_string(row_blocks) + " row blocks";
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
  const auto entry = [&](int64_t at) {
    return order.empty() ? 0 : order[static_cast<size_t>(std::min(at, count - 1))];
  };
  for (int64_t r = 0; r < row_blocks; ++r) {
    const int64_t begin = starts[static_cast<size_t>(r)];
    const int64_t end = starts[static_cast<size_t>(r) + 1];
    for (int64_t at = begin; at < std::max(end, begin + 1); ++at) {
      row.push_back(r);
      block.push_back(entry(at));
      real.push_back(at < end);
    }
  }
  const auto steps = static_cast<int64_t>(row.size());
  return std::vector<Array>{HostVector(row), HostVector(block), HostVector(real),
                            HostScalar(steps)};
}

}  // namespace kiln
