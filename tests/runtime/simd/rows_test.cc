#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/simd/rows_test.cc"
#include "hwy/foreach_target.h"
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

void TestRows() {
  for (const size_t columns : {1, 63, 64, 255, 256, 5000})
    Expect(Turns(false, columns, static_cast<int64_t>(columns)) == "4111", "rows in a cache");
  Expect(Turns(true, 63, 63) == "4111", "rows of less than 256 bytes");
  Expect(Turns(true, 64, 64) == "1111111", "short rows");
  Expect(Turns(true, 255, 255) == "1111111", "short rows");
  Expect(Turns(true, 100, 200) == "4111", "short rows with gaps");
  Expect(Turns(true, 256, 256) == "4 ahead 111", "long rows");
  Expect(Turns(true, 10, 256) == "4 ahead 111", "pieces of long rows");
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_rows
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_rows {
HWY_EXPORT(TestRows);

TEST_CASE("Rows to add come four at a time, or one by one where they are short and far away",
          "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestRows)(); }) == "");
}

}  // namespace kiln::lanes_testing::of_rows
#endif
