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

/// Outputs of some rows, and what stays in the caches.
template <typename T>
struct Outputs {
  alignas(64) T to[2][kMostRows * kStride];
  T cached[kMostRows * kStride];

  Outputs() { std::memset(static_cast<void*>(this), 0x5A, sizeof(*this)); }
  bool operator==(const Outputs& other) const {
    return std::memcmp(this, &other, sizeof(*this)) == 0;
  }
  Tile<T, 2> TileOf(size_t output, size_t begin, size_t rows, size_t columns) {
    Tile<T, 2> tile{to[output] + begin, {kStride, 1}, {}, {rows, columns}, {}, /*stream=*/true};
    return tile;
  }
};

template <typename T>
struct Inputs {
  T x[kMostColumns * kMostRows];  // an output's column is a row

  Inputs() {
    for (size_t i = 0; i < kMostColumns * kMostRows; ++i)
      x[i] = Element<T>(static_cast<double>(i * 7 % 251) / 2 - 60);
  }
};

template <size_t kStreams, typename T>
void Expect(const char* type, const Inputs<T>& in, size_t begin, size_t rows, size_t columns) {
  const auto expected = std::make_unique<Outputs<T>>(), found = std::make_unique<Outputs<T>>();
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      for (size_t k = 0; k < kStreams; ++k)
        expected->to[k][begin + r * kStride + c] = in.x[c * kMostRows + r];
      expected->cached[r * kStride + c] = in.x[c * kMostRows + r];
    }
  }
  const Tile<T, 2> first = found->TileOf(0, begin, rows, columns);
  const Tile<T, 2> second = found->TileOf(kStreams - 1, begin, rows, columns);
  const bool streams =
      kStreams == 1 ? StreamsSquares(kFloats, first) : StreamsSquares(kFloats, first, second);
  ForSquares<kStreams>(kFloats, rows, columns, streams, first.At(0, 0),
                       [&](auto some, size_t from, auto at, size_t i) KILN_INLINE_ATTR {
                         const T* x = in.x + i * kMostRows + from;
                         PrefetchAcross(at, x, kMostRows, i, columns);
                         const Across column(at, some, x, kMostRows);
                         for (size_t r = from; r < from + some(); ++r) {
                           const auto value = column.Column(r - from);
                           at.Cached().Store(value, found->cached + r * kStride + i);
                           at.Store(value, first.At(r, i));
                           if (kStreams == 2) at.Store(value, second.At(r, i));
                         }
                       });
  lanes_testing::Expect(*found == *expected, std::to_string(kStreams) + " outputs of " +
                                                 std::to_string(rows) + " x " +
                                                 std::to_string(columns) + " " + type +
                                                 " from element " + std::to_string(begin));
}

template <typename T>
void TestSquares(const char* type) {
  const auto in = std::make_unique<Inputs<T>>();
  for (const size_t rows : {0, 1, 3, 8, 9, 16, 63, 64, 65, 128, 141}) {
    for (const size_t columns : {0, 1, 7, 15, 16, 17, 64, 127, 128, 129, 293}) {
      Expect<1>(type, *in, 0, rows, columns);
      Expect<2>(type, *in, 0, rows, columns);
    }
  }
  for (size_t begin = 1; begin <= 16; ++begin) Expect<1>(type, *in, begin, 70, 200);
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
