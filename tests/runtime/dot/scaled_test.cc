// What few rows of A multiply as it is stored, and more rows packed: a B of few bits an element
// with a scale of each column.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/dot/scaled_test.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
// Once per target.
#include "hwy/aligned_allocator.h"
#include "kiln/dot/matrices-inl.h"
#include "kiln/dot/panels-inl.h"
#include "kiln/dot/scaled-inl.h"
#include "tests/runtime/dot/matrices.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::scaled_test {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT
using dot_test::Matrix;

/// Small integers as elements of W, rows of which begin `shift` elements behind where the first
/// would, and no byte more.
template <typename W>
struct Stored {
  Stored(std::mt19937& random, size_t rows, size_t cols, size_t shift)
      : width(cols), bytes(BytesFor<W>(shift + (rows - 1) * (cols + shift) + cols)) {
    const hn::ScalableTag<float> d;
    W* const first = ElementsAt<W>(bytes.data()) + shift;
    const bool is_unsigned = std::is_same_v<W, u4> || std::is_same_v<W, uint8_t>;
    std::uniform_int_distribution<int> any(is_unsigned ? 0 : -8, is_unsigned ? 15 : 7);
    for (size_t i = 0; i < rows * cols; ++i) {
      values.push_back(any(random));
      ForLanes(kFloats, 1, [&](auto at, size_t) HWY_ATTR {
        const auto value = Cast<float, W>(hn::Set(d, static_cast<float>(values.back())));
        at.Store(value, first + i / cols * (cols + shift) + i % cols);
      });
    }
    tile.data = first;
    tile.stride = {static_cast<int64_t>(cols + shift), 1};
  }
  int operator()(size_t r, size_t c) const { return values[r * width + c]; }

  size_t width;
  std::vector<uint8_t> bytes;
  std::vector<int> values;
  Tile<const W, 2> tile;
};

template <typename T, typename W>
std::string Check(const char* types) {
  using D = Dot<T>;
  std::mt19937 random(7);
  for (const size_t depth : {1, 7, 8, 37, 64}) {
    for (const size_t cols : {1, 5, 75, 300, 600}) {
      const size_t shift = random() % 3;
      const Stored<W> b(random, depth, cols, shift);
      std::vector<float> scales(cols), z;
      for (float& scale : scales) scale = random() % 2 == 0 ? 0.5f : 2.0f;
      for (const size_t rows : {1, 3, 8, 9, 40}) {
        const Matrix<T> a = dot_test::Random<T>(random, rows, depth, false, 1);
        const auto memory_a = hwy::AllocateAligned<uint8_t>(PackedA<T>::Bytes(rows, depth));
        const auto memory_b = hwy::AllocateAligned<uint8_t>(PackedB<T>::Bytes(depth, cols));
        const auto view_a = PackA<T>(a.tile, rows, depth, memory_a.get());
        const auto multiply = [&](const auto& scale) HWY_ATTR {
          z.assign(rows * cols, 0);
          MultiplyComputed<D>(
              RowRange(rows), view_a,
              PackScaledB<T>(b.tile, depth, cols, RowsOfA{rows, rows}, memory_b.get(), scale),
              TileSums(), Nothing(), [&](auto at, auto sum, size_t r, size_t c) HWY_ATTR {
                at.Store(sum, &z[r * cols + c]);
              });
        };
        const auto is_wrong = [&](bool scaled) {
          for (size_t i = 0; i < z.size(); ++i) {
            double sum = 0;
            for (size_t k = 0; k < depth; ++k)
              sum += static_cast<double>(a(i / cols, k)) * b(k, i % cols);
            if (z[i] != sum * (scaled ? scales[i % cols] : 1.0f)) return true;
          }
          return false;
        };
        const auto where = [&] {
          return std::string(types) + ", " + std::to_string(rows) + " rows, " +
                 std::to_string(depth) + " by " + std::to_string(cols) + ", " +
                 std::to_string(shift) + " elements apart";
        };
        multiply([&](auto at, size_t, size_t c) HWY_ATTR { return at.Load(&scales[c]); });
        if (is_wrong(true)) return where();
        multiply(NoScale());
        if (is_wrong(false)) return where() + ", no scale";
      }
    }
  }
  return "";
}

/// Each of the 256 there are, by a row of A that has a one and zeros.
template <typename W>
std::string CheckEachByte(const char* types) {
  constexpr size_t kDepth = 8, kCols = 256;
  std::vector<uint8_t> bytes(kDepth * kCols);
  for (size_t i = 0; i < kCols; ++i) bytes[i] = static_cast<uint8_t>(i);
  Tile<const W, 2> b;
  b.data = reinterpret_cast<const W*>(bytes.data());
  b.stride = {kCols, 1};
  std::vector<float> one(kDepth), z(kCols), want(kCols);
  one[0] = 1;
  Tile<const float, 2> a;
  a.data = one.data();
  a.stride = {kDepth, 1};
  const auto memory_a = hwy::AllocateAligned<uint8_t>(PackedA<float>::Bytes(1, kDepth));
  MultiplyComputed<Dot<float>>(
      RowRange(1), PackA<float>(a, 1, kDepth, memory_a.get()),
      PackScaledB<float>(b, kDepth, kCols, RowsOfA{1, 1}, nullptr, NoScale()), TileSums(),
      Nothing(), [&](auto at, auto sum, size_t, size_t c) HWY_ATTR { at.Store(sum, &z[c]); });
  ForLanes(kFloats, kCols, [&](auto at, size_t c) HWY_ATTR {
    at.Store(Cast<W, float>(at.Load(b.At(0, c))), &want[c]);
  });
  for (size_t i = 0; i < kCols; ++i) {
    if (z[i] != want[i] && (z[i] == z[i] || want[i] == want[i]))
      return std::string(types) + ", byte " + std::to_string(i);
  }
  return "";
}

std::string CheckBytes() {
  for (const std::string& error : {CheckEachByte<f8e4m3fn>("e4m3"), CheckEachByte<f8e5m2>("e5m2"),
                                   CheckEachByte<int8_t>("i8"), CheckEachByte<uint8_t>("u8")}) {
    if (!error.empty()) return error;
  }
  return "";
}

std::string CheckFloats() {
  for (const std::string& error :
       {Check<float, i4>("f32, i4"), Check<float, int8_t>("f32, i8"),
        Check<float, f8e4m3fn>("f32, e4m3"), Check<float, u4>("f32, u4")}) {
    if (!error.empty()) return error;
  }
  return "";
}

std::string CheckBf16() {
  for (const std::string& error : {Check<bf16, i4>("bf16, i4"), Check<bf16, uint8_t>("bf16, u8"),
                                   Check<bf16, f8e5m2>("bf16, e5m2")}) {
    if (!error.empty()) return error;
  }
  return "";
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::scaled_test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tests/catch.h"
#include "tests/runtime/dot/each_target.h"

namespace kiln::scaled_test {
HWY_EXPORT(CheckFloats);
HWY_EXPORT(CheckBf16);
HWY_EXPORT(CheckBytes);

TEST_CASE("few rows multiply elements of few bits as they are stored, more rows packed ones") {
  dot_test::ForEachTargetAndAmx([&] { CHECK(KILN_DISPATCH(CheckFloats)() == ""); });
  dot_test::ForEachTargetAndAmx([&] { CHECK(KILN_DISPATCH(CheckBf16)() == ""); });
}

TEST_CASE("each element of 8 bits is multiplied as the float that it is") {
  dot_test::ForEachTarget([&] { CHECK(KILN_DISPATCH(CheckBytes)() == ""); });
}

}  // namespace kiln::scaled_test
#endif
