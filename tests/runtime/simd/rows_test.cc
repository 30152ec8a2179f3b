#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/simd/rows_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/rows-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing::of_rows {
namespace HWY_NAMESPACE {
using namespace kiln::HWY_NAMESPACE;  // NOLINT

/// How many of seven rows of `columns` floats, `apart` from each other, are taken at a time, one
/// turn after the other, and whether later ones are asked for.
std::string Turns(bool is_far, size_t columns, int64_t apart) {
  const std::vector<float> memory(static_cast<size_t>(apart) * 7 + columns);
  const Tile<const float, 2> x{memory.data(), {apart, 1}, {}, {7, columns}, {}, is_far};
  std::string turns;
  size_t next = 0;
  ForRows(7, RowsToAdd(x, x.stride[0], columns), [&](auto rows, size_t first) {
    Expect(first == next, "row " + std::to_string(next));
    next = first + rows();
    turns += std::to_string(rows());
    if (std::is_same_v<decltype(rows), FourRowsAhead>) turns += " ahead ";
    PrefetchRowsToAdd(rows, x.At(first, 0), x.stride[0]);
  });
  Expect(next == 7, "all rows");
  return turns;
}

/// The order in which the rows of two loops are taken, of `inner` rows that are `apart` floats
/// apart.
std::string Order(bool is_far, size_t inner, int64_t apart) {
  const float memory = 0;
  const Tile<const float, 2> x{&memory, {apart, 1}, {}, {inner, 1}, {}, is_far};
  std::string order;
  ForBoth(2, inner, ReadOrder(x, x.stride[0]),
          [&](size_t i, size_t j) { order += "ab"[i] + std::to_string(j); });
  return order;
}

void TestOrder() {
  Expect(Order(false, 3, 5) == "a0a1a2b0b1b2", "rows in a cache");
  Expect(Order(true, 3, 5) == "a0b0a1b1a2b2", "rows in memory");
  Expect(Order(true, 3, 5000) == "a0a1a2b0b1b2", "few long pieces in memory");
  Expect(Order(true, 9, 5000) == "a0a1a2a3a4a5a6a7b0b1b2b3b4b5b6b7a8b8", "long pieces in memory");
  for (const bool is_far : {false, true}) Expect(Order(is_far, 0, 5).empty(), "no rows");
}

/// Elements of 16 bits that are moved, NaNs of all kinds and subnormals too.
void TestCopy() {
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  const auto* const from = reinterpret_cast<const bf16*>(bits.data());
  for (const size_t count : {size_t{1}, size_t{15}, size_t{40}, bits.size()}) {
    std::vector<uint16_t> to(bits.size() + 1, 7);
    ForLanes(kFloats, count,
             [&](auto at, size_t i) { at.Copy(from + i, reinterpret_cast<bf16*>(to.data()) + i); });
    Expect(std::equal(to.begin(), to.begin() + static_cast<ptrdiff_t>(count), bits.begin()) &&
               to[count] == 7,
           std::to_string(count) + " elements moved");
  }
}

/// All rows of some number, once each, or with some again at the end.
void TestPairs() {
  std::string order;
  const auto four = [&](size_t a, size_t b, size_t c, size_t d) {
    Expect(b == a + 1 && c == a + 2 && d == a + 3, "rows side by side");
    order += "4:" + std::to_string(a) + " ";
  };
  const auto two = [&](size_t a, size_t b) {
    Expect(b == a + 1, "rows side by side");
    order += "2:" + std::to_string(a) + " ";
  };
  const auto one = [&](size_t a) { order += std::to_string(a) + " "; };
  const auto expect = [&](const std::string& want) {
    Expect(order == want, "the rows " + want + "and not " + order);
    order.clear();
  };
  ForFourRows(2, 9, four, one), expect("4:2 6 7 8 ");
  CoverFourRows(2, 9, four, one), expect("4:2 4:5 ");
  CoverFourRows(2, 5, four, one), expect("2 3 4 ");
  CoverFourRows(5, four), expect("4:0 4:1 ");
  ForRowPairs(1, 6, two, one), expect("2:1 2:3 5 ");
  ForRowPairs(4, two), expect("2:0 2:2 ");
  CoverRowPairs(1, 6, two, one), expect("2:1 2:3 2:4 ");
  CoverRowPairs(5, two), expect("2:0 2:2 2:3 ");
  CoverRowPairs(3, 4, two, one), expect("3 ");
  CoverRowPairs(0, two, one), CoverFourRows(0, four, one), ForFourRows(3, 3, four, one), expect("");
}

/// A block of 6 x 9 rows, of which those from `low` to `high` are inside of its array.
struct Edged {
  Edged(size_t low, size_t high) {
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
    static_cast<Tile<const float, 3>&>(tile) = {
        memory.data(), {18, 2, 1}, {1, low, 0}, {5, high, 2}};
    tile.pad = pad.data();
  }
  float At(size_t i, size_t j, size_t k) const {
    const bool inside = i >= 1 && i < 5 && j >= tile.low[1] && j < tile.high[1];
    return inside ? memory[i * 18 + j * 2 + k] : pad[k];
  }

  std::array<float, 6 * 9 * 2> memory;
  std::array<float, 2> pad{-1, -2};
  EdgedTile<const float, 3> tile;
};

/// Each iteration once and in order, with all that its window has.
void TestParts(const Edged& block, const EdgeRows& around, const EdgeWindow& window, size_t count) {
  size_t next = 0, in_place = 0;
  ForParts(block.tile, {around}, window, count, [&](const auto& x, size_t low, size_t high) {
    Expect(low == next && low < high, "iterations in order");
    next = high;
    if (std::is_same_v<decltype(x), const Tile<const float, 3>&>) in_place += high - low;
    for (size_t w = low; w < high; ++w) {
      for (size_t i = around.first; i <= around.last; ++i) {
        for (int64_t j = window.first; j <= window.last; ++j) {
          const auto column = static_cast<size_t>(static_cast<int64_t>(w) * window.step + j);
          for (size_t k = 0; k < 2; ++k)
            Expect(*x.At(i, column, k) == block.At(i, column, k), "an element of a window");
        }
      }
    }
  });
  Expect(next == count, "all iterations");
  const bool any_outside = around.first < 1 || around.last >= 5;
  if (any_outside) Expect(in_place == 0, "rows that are outside");
  if (!any_outside && block.tile.low[1] == 0 && block.tile.high[1] == 9)
    Expect(in_place == count - count % window.together, "rows that are all inside");
}

void TestParts() {
  for (const size_t low : {0, 1, 3, 9}) {
    for (const size_t high : {9, 8, 5, 3}) {
      const Edged block(low, std::max(low, high));
      for (const EdgeRows& around : {EdgeRows{0, 0, 2}, EdgeRows{0, 1, 4}, EdgeRows{0, 3, 5}}) {
        for (const size_t together : {2, 4}) {
          for (const size_t count : {0, 1, 2, 5, 7})
            TestParts(block, around, {1, 1, 0, 2, together}, count);
          TestParts(block, around, {1, 2, 1, 2, together}, 4);
          TestParts(block, around, {1, 1, 4, 4, together}, 5);
        }
      }
    }
  }
  Edged whole(0, 9);
  whole.tile.pad = nullptr;  // a copy
  size_t parts = 0;
  ForParts(whole.tile, {EdgeRows{0, 0, 2}}, {1, 1, 0, 2, 4}, 7,
           [&](const auto& x, size_t low, size_t high) {
             ++parts;
             Expect(low == 0 && high == 7 && x.At(0, 0, 0) == whole.memory.data(), "a copy");
           });
  Expect(parts == 1, "all of a copy at once");
}

void TestRows() {
  for (const size_t columns : {1, 63, 64, 255, 256, 5000})
    Expect(Turns(false, columns, static_cast<int64_t>(columns)) == "4111", "rows in a cache");
  Expect(Turns(true, 63, 63) == "4111", "rows of less than 256 bytes");
  Expect(Turns(true, 64, 64) == "1111111", "short rows");
  Expect(Turns(true, 255, 255) == "1111111", "short rows");
  Expect(Turns(true, 100, 200) == "4111", "short rows with gaps");
  Expect(Turns(true, 256, 256) == "4 ahead 111", "long rows");
  Expect(Turns(true, 10, 256) == "4 ahead 111", "pieces of long rows");
  TestOrder();
  TestCopy();
  TestPairs();
  TestParts();
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_rows
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_rows {
HWY_EXPORT(TestRows);

TEST_CASE("Rows come in the order that is best where they are, each with all that it sees",
          "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestRows)(); }) == "");
}

}  // namespace kiln::lanes_testing::of_rows
#endif
