#include <utility>

#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/simd/store_rows_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/simd/across-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing::of_store_rows {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT

/// Rows of an element of each of some columns, with and without gaps behind them.
template <typename T, size_t... kColumn, class D>
void CheckStored(std::index_sequence<kColumn...>, D d) {
  constexpr size_t kColumns = sizeof...(kColumn);
  const std::vector<T> values = Elements<T>();
  const auto value = [&](size_t row, size_t column) {
    return values[(column * 17 + row) % values.size()];
  };
  const size_t lanes = hn::Lanes(d);
  for (const size_t count : {lanes - 1, lanes, lanes + 1, 2 * lanes}) {
    for (const size_t stride : {kColumns, kColumns + 1}) {
      const size_t n = stride * (count + 1);
      std::vector<T> rows(n), columns[kColumns];
      for (size_t i = 0; i < n; ++i) rows[i] = values[i % values.size()];
      for (size_t c = 0; c < kColumns; ++c)
        for (size_t i = 0; i < count; ++i) columns[c].push_back(value(i, c));
      ForLanes(d, count, [&](auto at, size_t i) HWY_ATTR {
        StoreRows(at, rows.data() + stride * i, static_cast<ptrdiff_t>(stride),
                  at.Load(columns[kColumn].data() + i)...);
      });
      size_t same = 0;
      for (size_t i = 0; i < n; ++i) {
        const bool stays = i % stride >= kColumns || i / stride >= count;
        same += Same(rows[i], stays ? values[i % values.size()] : value(i / stride, i % stride));
      }
      Expect(same == n, std::to_string(count) + " rows of " + std::to_string(kColumns) + " " +
                            std::string(Name(kDTypeOf<T>)));
    }
  }
}

void TestStoreRows() {
  ForEachType([](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_same_v<T, bool>) {
      const auto check = [](auto d) {
        CheckStored<T>(std::make_index_sequence<2>(), d);
        CheckStored<T>(std::make_index_sequence<3>(), d);
        CheckStored<T>(std::make_index_sequence<8>(), d);
      };
      if constexpr (sizeof(T) < 8) check(kFloats);
      check(kDoubles);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_store_rows
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_store_rows {
HWY_EXPORT(TestStoreRows);

TEST_CASE("Lanes that are short rows store all of their elements, and nothing between them",
          "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestStoreRows)(); }) == "");
}

}  // namespace kiln::lanes_testing::of_store_rows
#endif
