#include <algorithm>
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
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_rows
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_rows {
HWY_EXPORT(TestRows);

TEST_CASE("Rows come in the order that is best where they are, and elements are moved as they are",
          "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestRows)(); }) == "");
}

}  // namespace kiln::lanes_testing::of_rows
#endif
