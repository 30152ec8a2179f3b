// Blocks of a matrix against what their descriptions say, spelled out, on random arguments.
#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "tests/catch.h"
#include "tests/runtime/host/prepare_testing.h"

namespace kiln::prepare_test {
namespace {

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

}  // namespace
}  // namespace kiln::prepare_test
