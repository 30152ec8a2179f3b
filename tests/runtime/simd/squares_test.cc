// Transposes by squares are what they are element by element, streamed or not, and nothing beside
// them changes.
#include <cstring>

#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/simd/squares_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/simd/across-inl.h"
#include "kiln/simd/convert-inl.h"
#include "kiln/simd/squares-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing::of_squares {
namespace HWY_NAMESPACE {
using namespace kiln::HWY_NAMESPACE;  // NOLINT

// More than a block has of each.
constexpr size_t kMostRows = 150, kMostColumns = 300, kStride = 320;

/// An output of some rows, and what stays in the caches.
template <typename T>
struct Output {
  alignas(64) T to[kMostRows * kStride];
  T cached[kMostRows * kStride];

  Output() { std::memset(static_cast<void*>(this), 0x5A, sizeof(*this)); }
  bool operator==(const Output& other) const {
    return std::memcmp(this, &other, sizeof(*this)) == 0;
  }
};

template <typename T>
struct Input {
  T x[kMostColumns * kMostRows];  // an output's column is a row

  Input() {
    for (size_t i = 0; i < kMostColumns * kMostRows; ++i)
      x[i] = Element<T>(static_cast<double>(i * 7 % 251) / 2 - 60);
  }
};

template <typename T>
void TestOne(const char* type, const Input<T>& in, size_t begin, size_t rows, size_t columns) {
  const auto expected = std::make_unique<Output<T>>(), found = std::make_unique<Output<T>>();
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      const T value = in.x[c * kMostRows + r];
      expected->to[begin + r * kStride + c] = expected->cached[r * kStride + c] = value;
    }
  }
  const Tile<T, 2> z{found->to + begin, {kStride, 1}, {}, {rows, columns}, {}, /*stream=*/true};
  ForSquares(kFloats, rows, columns, z, z.At(0, 0),
             [&](auto some, size_t first, auto at, size_t i) KILN_INLINE_ATTR {
               const T* x = in.x + i * kMostRows + first;
               PrefetchAcross(at, x, kMostRows, i, columns);
               const Across x_columns(at, some, x, kMostRows);
               for (size_t r = first; r < first + some(); ++r) {
                 const auto value = x_columns.Column(r - first);
                 at.Cached().Store(value, found->cached + r * kStride + i);
                 at.Store(value, z.At(r, i));
               }
             });
  Expect(*found == *expected, std::to_string(rows) + " x " + std::to_string(columns) + " " + type +
                                  " from element " + std::to_string(begin));
}

template <typename T>
void TestSquares(const char* type) {
  const auto in = std::make_unique<Input<T>>();
  for (const size_t rows : {0, 1, 3, 8, 9, 16, 63, 64, 65, 128, 141}) {
    for (const size_t columns : {0, 1, 7, 15, 16, 17, 64, 127, 128, 129, 293})
      TestOne(type, *in, 0, rows, columns);
  }
  for (size_t begin = 1; begin <= 16; ++begin) TestOne(type, *in, begin, 70, 200);
}

void TestAll() {
  TestSquares<float>("f32");
  TestSquares<int32_t>("i32");
  TestSquares<bf16>("bf16");
  TestSquares<int8_t>("i8");
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_squares
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_squares {
HWY_EXPORT(TestAll);

TEST_CASE("Squares that are streamed are what elements are", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestAll)(); }) == "");
}

}  // namespace kiln::lanes_testing::of_squares
#endif  // HWY_ONCE
