// Host functions against what their descriptions say, spelled out, on random arguments.
#include "kiln/host/prepare.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "tests/catch.h"

namespace kiln {
namespace {

using Values = std::vector<int32_t>;
using Random = std::mt19937;

int64_t Draw(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

template <typename T>
Tensor<const T> Vector(const std::vector<T>& values) {
  return {values.data(), {static_cast<int64_t>(values.size())}};
}

std::string MessageOf(const Status& status) {
  return status.ok() ? "" : std::string(NameOf(status.code)) + ": " + status.message;
}

// ---- group_metadata -----------------------------------------------------------------------------

struct Visit {
  int64_t group, tile;
  bool operator==(const Visit& other) const { return group == other.group && tile == other.tile; }
};

/// Group by group, tile by tile.
std::vector<Visit> VisitsOf(const Values& sizes, int64_t m, int64_t tm, int64_t start,
                            int64_t count, bool visit_empty) {
  std::vector<Visit> visits;
  const int64_t tiles = DivUp(m, tm);
  int64_t begin = 0;
  for (int64_t g = 0; g < static_cast<int64_t>(sizes.size()); ++g) {
    const int64_t end = begin + sizes[static_cast<size_t>(g)];
    const bool mine = start <= g && g < start + count;
    for (int64_t t = 0; mine && t < tiles; ++t) {
      if (std::max(begin, t * tm) < std::min(end, (t + 1) * tm)) visits.push_back({g, t});
    }
    if (mine && begin == end && visit_empty && tiles > 0)
      visits.push_back({g, std::min(begin / tm, tiles - 1)});
    begin = end;
  }
  return visits;
}

Values RandomSizes(Random& random, int64_t groups, int64_t m, int64_t tm) {
  Values sizes;
  int64_t left = m;
  for (int64_t g = 0; g < groups; ++g) {
    int64_t size = 0;
    switch (Draw(random, 0, 4)) {
      case 0:
        break;
      case 1:
        size = 1;
        break;
      case 2:
        size = tm * Draw(random, 0, 2);
        break;
      case 3:
        size = Draw(random, 0, 3 * tm);
        break;
      default:
        size = g + 1 == groups ? left : Draw(random, 0, left);
    }
    sizes.push_back(static_cast<int32_t>(std::min(size, left)));
    left -= sizes.back();
  }
  return sizes;
}

TEST_CASE("Group metadata visits each group's tiles, and no others") {
  Random random(1);
  int shared = 0, empty = 0, sharded = 0;
  for (int round = 0; round < 3000; ++round) {
    const int64_t tm = Draw(random, 1, 8);
    const int64_t m = Draw(random, 0, 40);
    const int64_t groups = Draw(random, 1, 9);
    const Values sizes = RandomSizes(random, groups, m, tm);
    GroupOptions options;
    options.visit_empty = Draw(random, 0, 1) == 1;
    if (Draw(random, 0, 2) == 0) {
      options.start = Draw(random, 0, groups);
      options.count = Draw(random, 0, groups - options.start);
      ++sharded;
    }
    CAPTURE(round, tm, m, sizes, options.start, options.visit_empty);
    GroupSteps steps;
    REQUIRE(MessageOf(GroupMetadata(Vector(sizes), m, tm, options, &steps)) == "");

    const auto want = VisitsOf(sizes, m, tm, options.start,
                               options.count.value_or(groups - options.start), options.visit_empty);
    REQUIRE(steps.visits == static_cast<int32_t>(want.size()));
    REQUIRE(steps.ids.values.size() == steps.tiles.values.size());
    std::vector<Visit> got;
    for (size_t i = 0; i < want.size(); ++i)
      got.push_back({steps.ids.values[i], steps.tiles.values[i]});
    CHECK((got == want));
    int64_t offset = 0;
    REQUIRE(steps.offsets.values.size() == sizes.size() + 1);
    for (size_t g = 0; g < sizes.size(); ++g) {
      CHECK(steps.offsets.values[g] == offset);
      offset += sizes[g];
      empty += sizes[g] == 0 && options.visit_empty;
    }
    CHECK(steps.offsets.values.back() == offset);
    // What follows is in range, as index maps may look one step ahead.
    for (const int32_t id : steps.ids.values) CHECK((id >= 0 && id < groups));
    for (const int32_t tile : steps.tiles.values)
      CHECK((tile >= 0 && tile < std::max<int64_t>(DivUp(m, tm), 1)));
    for (size_t i = 1; i < got.size(); ++i) {
      CHECK(got[i].tile >= got[i - 1].tile);  // a tile's visits follow each other
      shared += got[i].tile == got[i - 1].tile && got[i].group != got[i - 1].group;
    }
  }
  CHECK(shared > 500);
  CHECK(empty > 500);
  CHECK(sharded > 500);
}

TEST_CASE("Groups that do not fit are refused") {
  GroupSteps steps;
  const auto problem = [&](const Values& sizes, int64_t m, int64_t tm, GroupOptions options = {}) {
    return MessageOf(GroupMetadata(Vector(sizes), m, tm, options, &steps));
  };
  CHECK(problem({3, -1, 4}, 8, 4) == "call: group_metadata: group 1 has the negative size -1");
  CHECK(problem({3, 4, 2}, 8, 4) ==
        "call: group_metadata: the group sizes add up to more than the 8 rows there are: group 2 "
        "has 2 rows from row 7 on");
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  CHECK(problem({kMost, kMost, kMost}, kMost, 4).find("more than") != std::string::npos);
  CHECK(problem({3}, 8, 0) == "call: group_metadata: tm is 0, but a tile has at least one row");
  CHECK(problem({3}, -8, 4) == "call: group_metadata: m is -8, which is no number of rows");
  CHECK(problem({3, 5}, 8, 4, {.start = -1}) ==
        "call: group_metadata: start is -1, but there are 2 groups");
  CHECK(problem({3, 5}, 8, 4, {.start = 3}) ==
        "call: group_metadata: start is 3, but there are 2 groups");
  CHECK(problem({3, 5}, 8, 4, {.start = 1, .count = 2}) ==
        "call: group_metadata: count is 2, but from group 1 on there are 1");
}

// ---- blocks of a matrix -------------------------------------------------------------------------

template <typename T>
struct Matrix {
  int64_t rows, cols;
  std::vector<T> values;

  /// Blocks of zeros, blocks of ones, and blocks with a few of either.
  Matrix(Random& random, int64_t m, int64_t n, int64_t bm, int64_t bn)
      : rows(m), cols(n), values(static_cast<size_t>(m * n)) {
    std::map<int64_t, int64_t> kinds;
    for (int64_t r = 0; r < m; ++r) {
      for (int64_t c = 0; c < n; ++c) {
        const int64_t block = r / bm * (n + 1) + c / bn;
        const int64_t kind = kinds.try_emplace(block, Draw(random, 0, 3)).first->second;
        const bool set =
            kind == 1 || (kind == 2 && r % bm <= c % bn) || (kind == 3 && Draw(random, 0, 5) == 0);
        values[static_cast<size_t>(r * n + c)] = static_cast<T>(set ? 1 : 0);
      }
    }
  }
  T At(int64_t r, int64_t c) const { return values[static_cast<size_t>(r * cols + c)]; }
  Tensor<const T> tensor() const { return {values.data(), {rows, cols}}; }

  std::vector<T> Block(int64_t i, int64_t j, int64_t bm, int64_t bn) const {
    std::vector<T> block;
    for (int64_t r = i * bm; r < std::min((i + 1) * bm, rows); ++r) {
      for (int64_t c = j * bn; c < std::min((j + 1) * bn, cols); ++c) block.push_back(At(r, c));
    }
    block.push_back(
        static_cast<T>(std::min(bm, rows - i * bm)));  // so that 2 x 3 differs from 3 x 2
    return block;
  }
};

template <typename T>
bool HasNonzero(const std::vector<T>& block) {
  return std::any_of(block.begin(), block.end() - 1, [](T value) { return value != T{}; });
}

TEST_CASE("Maps of a mask name the block that is needed now or next") {
  Random random(2);
  int repeated = 0;
  for (int round = 0; round < 500; ++round) {
    const int64_t bm = Draw(random, 1, 4), bn = Draw(random, 1, 4);
    const Matrix<int32_t> mask(random, Draw(random, 1, 14), Draw(random, 1, 14), bm, bn);
    const int64_t rows = DivUp(mask.rows, bm), cols = DivUp(mask.cols, bn);
    CAPTURE(round, bm, bn, mask.rows, mask.cols);
    MaskMaps maps;
    REQUIRE(MessageOf(SparsifyMask(mask.tensor(), bm, bn, &maps)) == "");

    // Distinct blocks are numbered from the last to the first.
    std::map<std::vector<int32_t>, int32_t> numbers;
    for (int64_t b = rows * cols; b-- > 0;) {
      const auto block = mask.Block(b / cols, b % cols, bm, bn);
      if (!HasNonzero(block)) continue;
      repeated += !numbers.try_emplace(block, static_cast<int32_t>(numbers.size())).second;
    }
    CHECK(maps.blocks == static_cast<int32_t>(numbers.size()));
    for (int64_t b = 0; b < rows * cols; ++b) {
      int64_t next = b;
      while (next < rows * cols && !HasNonzero(mask.Block(next / cols, next % cols, bm, bn)))
        ++next;
      const auto at = static_cast<size_t>(b);
      CHECK(maps.block_mask.values[at] == (next == b ? 1 : 0));
      if (next == rows * cols) {
        CHECK(maps.prefetch_mask.values[at] == 0);
        CHECK(maps.prefetch_i.values[at] == rows - 1);
        CHECK(maps.prefetch_j.values[at] == cols - 1);
      } else {
        CHECK(maps.prefetch_mask.values[at] ==
              numbers.at(mask.Block(next / cols, next % cols, bm, bn)));
        CHECK(maps.prefetch_i.values[at] == next / cols);
        CHECK(maps.prefetch_j.values[at] == next % cols);
      }
    }
  }
  CHECK(repeated > 500);
}

TEST_CASE("The list of blocks has those with a nonzero, row by row") {
  Random random(3);
  for (int round = 0; round < 500; ++round) {
    const int64_t bm = Draw(random, 1, 4), bk = Draw(random, 1, 4);
    Matrix<float> x(random, Draw(random, 1, 14), Draw(random, 1, 14), bm, bk);
    for (float& value : x.values) {
      if (value == 0 && Draw(random, 0, 3) == 0) value = -0.0f;  // is a zero
      if (value == 1 && Draw(random, 0, 3) == 0) value = std::numeric_limits<float>::quiet_NaN();
    }
    Values rows, cols;
    for (int64_t i = 0; i < DivUp(x.rows, bm); ++i) {
      for (int64_t j = 0; j < DivUp(x.cols, bk); ++j) {
        if (!HasNonzero(x.Block(i, j, bm, bk))) continue;
        rows.push_back(static_cast<int32_t>(i));
        cols.push_back(static_cast<int32_t>(j));
      }
    }
    BlockList list;
    REQUIRE(MessageOf(BlockCoo(x.tensor(), bm, bk, &list)) == "");
    CHECK(list.rows.values == rows);
    CHECK(list.cols.values == cols);
    CHECK(list.count == static_cast<int32_t>(rows.size()));
  }
}

TEST_CASE("Blocks of a list are copied, and the distinct ones of a mask") {
  Random random(6);
  for (int round = 0; round < 300; ++round) {
    const int64_t bm = Draw(random, 1, 4), bn = Draw(random, 1, 4);
    const Matrix<int8_t> mask(random, Draw(random, 1, 14), Draw(random, 1, 14), bm, bn);
    MaskMaps maps;
    REQUIRE(MessageOf(SparsifyMask(mask.tensor(), bm, bn, &maps)) == "");
    const BlockList distinct = DistinctBlocks(maps);
    REQUIRE(distinct.count == maps.blocks);
    HostArray<int8_t> blocks;
    REQUIRE(MessageOf(CopyBlocks(mask.tensor(), bm, bn, distinct, &blocks)) == "");
    REQUIRE(blocks.rank == 3);
    CHECK(blocks.shape[0] == maps.blocks);
    // Every element of the mask is that of the block its step names, or of a block without any.
    const int64_t cols = DivUp(mask.cols, bn);
    int64_t wrong = 0;
    for (int64_t r = 0; r < DivUp(mask.rows, bm) * bm; ++r) {
      for (int64_t c = 0; c < cols * bn; ++c) {
        const auto step = static_cast<size_t>(r / bm * cols + c / bn);
        const bool inside = r < mask.rows && c < mask.cols;
        const int8_t want = inside ? mask.At(r, c) : int8_t{0};
        const int64_t number = maps.prefetch_mask.values[step];
        const auto at = static_cast<size_t>((number * bm + r % bm) * bn + c % bn);
        const int8_t got = maps.block_mask.values[step] ? blocks.values[at] : int8_t{0};
        // A ragged block equals no whole one, so that what is past the edge is always zeros.
        wrong += got != want;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("Blocks that are not there are not copied") {
  Random random(7);
  const Matrix<float> x(random, 5, 4, 2, 2);
  HostArray<float> blocks;
  const auto problem = [&](const Values& rows, const Values& cols, int32_t count) {
    BlockList list;
    list.rows.values = rows;
    list.cols.values = cols;
    list.count = count;
    return MessageOf(CopyBlocks(x.tensor(), 2, 2, list, &blocks));
  };
  CHECK(problem({2, 0}, {1, 1}, 2) == "");
  CHECK(problem({2, 3}, {1, 1}, 2) == "call: copy_blocks: there is no block (3, 1)");
  CHECK(problem({2, 0}, {1, -1}, 2) == "call: copy_blocks: there is no block (0, -1)");
  CHECK(problem({2, 0}, {1}, 2) == "call: copy_blocks: the list does not have 2 entries");
  CHECK(problem({}, {}, -1) == "call: copy_blocks: the list does not have -1 entries");
}

TEST_CASE("Blocks of nothing are refused") {
  Random random(4);
  const Matrix<int32_t> x(random, 4, 4, 2, 2);
  MaskMaps maps;
  BlockList list;
  CHECK(MessageOf(SparsifyMask(x.tensor(), 0, 2, &maps)) ==
        "call: sparsify_mask: blocks of 0 x 2, but a block has at least one element");
  CHECK(MessageOf(BlockCoo(x.tensor(), 2, -1, &list)) ==
        "call: block_coo: blocks of 2 x -1, but a block has at least one element");
}

// ---- grouped_rows -------------------------------------------------------------------------------

TEST_CASE("Grouped rows visit every row in one stay, and fetch nothing for empty ones") {
  Random random(5);
  int without = 0;
  for (int round = 0; round < 1000; ++round) {
    const int64_t row_blocks = Draw(random, 1, 8);
    Values rows(static_cast<size_t>(Draw(random, 0, 12)));
    for (int32_t& r : rows) r = static_cast<int32_t>(Draw(random, 0, row_blocks - 1));
    const int64_t count = Draw(random, 0, static_cast<int64_t>(rows.size()));
    const bool all = Draw(random, 0, 1) == 0;
    const int64_t used = all ? static_cast<int64_t>(rows.size()) : count;
    Values row, block, real;
    for (int32_t r = 0; r < row_blocks; ++r) {
      const size_t before = row.size();
      for (int32_t i = 0; i < used; ++i) {
        if (rows[static_cast<size_t>(i)] != r) continue;
        row.push_back(r);
        block.push_back(i);
        real.push_back(1);
      }
      if (row.size() > before) continue;
      ++without;
      row.push_back(r);
      block.push_back(-1);
      real.push_back(0);
    }
    for (size_t t = 0; t < row.size(); ++t) {  // the next entry, or the last, or 0
      if (real[t]) continue;
      const auto next = std::find(real.begin() + static_cast<long>(t), real.end(), 1);
      if (next != real.end())
        block[t] = block[static_cast<size_t>(next - real.begin())];
      else
        block[t] = t > 0 ? block[t - 1] : 0;
    }
    CAPTURE(round, rows, used, row_blocks);
    RowSteps steps;
    const std::optional<int64_t> wanted = all ? std::nullopt : std::optional<int64_t>(count);
    REQUIRE(MessageOf(GroupedRows(Vector(rows), row_blocks, wanted, &steps)) == "");
    CHECK(steps.row.values == row);
    CHECK(steps.block.values == block);
    CHECK(steps.real.values == real);
    CHECK(steps.steps == static_cast<int32_t>(row.size()));
  }
  CHECK(without > 500);
}

TEST_CASE("Rows that are not there are refused") {
  RowSteps steps;
  const auto problem = [&](const Values& rows, int64_t row_blocks, std::optional<int64_t> count) {
    return MessageOf(GroupedRows(Vector(rows), row_blocks, count, &steps));
  };
  CHECK(problem({0, 3}, 3, {}) == "call: grouped_rows: rows[1] is 3, but there are 3 row blocks");
  CHECK(problem({0, -1}, 3, 2) == "call: grouped_rows: rows[1] is -1, but there are 3 row blocks");
  CHECK(problem({0, -1}, 3, 1) == "");  // past the used part
  CHECK(problem({0}, 3, 2) == "call: grouped_rows: count is 2, but rows has 1 entries");
}

// ---- what a kernel's call does with them --------------------------------------------------------

TEST_CASE("What is made is continued or refused, as the spec declares it") {
  HostArray<int32_t> made;
  made.shape[0] = 2;
  made.values = {4, 7};
  CallCheck check("k");
  const auto values = [&](std::initializer_list<int64_t> declared, PastEnd end) {
    HostArray<int32_t> copy = made;
    const Tensor<const int32_t> tensor = Made(check, "ids", copy, declared, end);
    REQUIRE(check.ok());
    return Values(tensor.data, tensor.data + tensor.shape[0]);
  };
  CHECK(values({2}, PastEnd::kRepeat) == Values{4, 7});
  CHECK(values({4}, PastEnd::kRepeat) == Values{4, 7, 7, 7});
  CHECK(values({4}, PastEnd::kZero) == Values{4, 7, 0, 0});
  HostArray<int32_t> copy = made;
  Made(check, "ids", copy, {1}, PastEnd::kRepeat, /*used=*/1);
  CHECK(check.ok());
  Made(check, "ids", made, {1}, PastEnd::kRepeat);
  CHECK(check.status().code == kCall);
}

TEST_CASE("Nothing that host code throws leaves a call") {
  CHECK(MessageOf(Guarded("mine", []() -> Status { throw std::bad_alloc(); })) ==
        "memory: mine: there is no memory");
  CHECK(MessageOf(Guarded("mine", []() -> Status { throw 3; })) == "call: mine threw an exception");
}

}  // namespace
}  // namespace kiln
