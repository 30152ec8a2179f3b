// Products of tiles of VMEM, for every pair of types, on every target of this machine: packing from
// any strides, the register tiles and the loop over them. Values are small integers, or integers
// that wrap, so every answer is exact.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/dot/dot_test.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
// Once per target.
#include "hwy/aligned_allocator.h"
#include "hwy/cache_control.h"
#include "kiln/dot/matrices-inl.h"
#include "kiln/dot/panels-inl.h"
#include "tests/runtime/dot/matrices.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::dot_test {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT

/// What a generated kernel does.
template <class D, class ViewA, class ViewB>
std::vector<typename D::Acc> Multiply(const ViewA& a, const ViewB& b) {
  std::vector<typename D::Acc> z(a.rows * b.cols);
  MultiplyTiles<D>(a.rows, a, b, TileSums(), Nothing(),
                   [&](auto at, auto sum, size_t r, size_t c)
                       HWY_ATTR { at.Store(sum, &z[r * b.cols + c]); });
  return z;
}

/// The same in two steps, of which the second goes on with accumulators that begin as `start`, or
/// as zero.
template <class D, class ViewA, class ViewB>
std::string CheckSums(const ViewA& a, const ViewB& b) {
  using Acc = typename D::Acc;
  const hn::ScalableTag<Acc> d;
  const std::vector<Acc> once = Multiply<D>(a, b);
  const size_t count = AccumulatorSize(a.rows, b.cols);
  const auto sums = hwy::AllocateAligned<Acc>(count);
  for (const bool zero : {false, true}) {
    std::fill_n(sums.get(), count, Acc{77});  // what a step before left
    if (zero) {
      MultiplyTiles<D>(a.rows, a, b, Accumulators(sums.get(), a.rows, /*from_zero=*/true));
    } else {
      MultiplyTiles<D>(a.rows, a, b, Accumulators(sums.get(), a.rows, /*from_zero=*/true),
                       [&](auto, size_t r, size_t c)
                           HWY_ATTR { return hn::Set(d, static_cast<Acc>(r + c)); });
    }
    std::vector<Acc> z(a.rows * b.cols);
    MultiplyTiles<D>(a.rows, a, b, Accumulators(sums.get(), a.rows, /*from_zero=*/false), Nothing(),
                     [&](auto at, auto sum, size_t r, size_t c)
                         HWY_ATTR { at.Store(sum, &z[r * b.cols + c]); });
    for (size_t r = 0; r < a.rows; ++r) {
      const size_t lanes = hn::Lanes(d);
      for (size_t c = 0; c < b.cols; ++c) {
        const size_t first = r + c / lanes * lanes;  // `start` gives one value a vector
        const Acc expected = static_cast<Acc>(zero ? 0 : first) + 2 * once[r * b.cols + c];
        if (z[r * b.cols + c] != expected)
          return "sums of (" + std::to_string(r) + ", " + std::to_string(c) +
                 "): " + std::to_string(z[r * b.cols + c]) + ", not " + std::to_string(expected);
      }
    }
  }
  return "";
}

/// Integers wrap around.
template <typename Acc>
Acc Twice(Acc sum) {
  if constexpr (std::is_integral_v<Acc>) {
    return static_cast<Acc>(2 * static_cast<uint64_t>(sum));
  } else {
    return 2 * sum;
  }
}

/// Sums in rows of a block, from zero and then from what is there. What is between rows stays.
template <class D, class ViewA, class ViewB>
std::string CheckSumsInRows(const ViewA& a, const ViewB& b) {
  using Acc = typename D::Acc;
  const std::vector<Acc> once = Multiply<D>(a, b);
  const size_t stride = b.cols + 5;
  std::vector<Acc> z(a.rows * stride + 1, Acc{77});
  Acc* const first = z.data() + 1;  // no multiple of a vector
  for (const int times : {1, 2}) {
    MultiplyTiles<D>(a.rows, a, b,
                     SumsInRows(first, static_cast<int64_t>(stride), /*from_zero=*/times == 1));
    for (size_t i = 0; i < a.rows * stride; ++i) {
      const size_t r = i / stride, c = i % stride;
      const Acc sum = c < b.cols ? once[r * b.cols + c] : Acc{77};
      const Acc expected = times == 2 && c < b.cols ? Twice(sum) : sum;
      if (first[i] != expected)
        return "sums in rows, (" + std::to_string(r) + ", " + std::to_string(c) +
               "): " + std::to_string(first[i]) + ", not " + std::to_string(expected);
    }
  }
  return "";
}

/// The same without panels of B.
template <class D, class ViewA>
std::vector<typename D::Acc> MultiplyStreamed(const ViewA& a, const Tile<const typename D::B, 2>& b,
                                              size_t b_rows, size_t cols,
                                              typename D::Acc start = {}) {
  using Acc = typename D::Acc;
  const hn::ScalableTag<Acc> d;
  std::vector<Acc> z(a.rows * cols);
  const auto view = ViewOfB<typename D::KGroup>::StreamedRows(b.data, a.depth, b_rows, cols,
                                                              static_cast<size_t>(b.stride[0]));
  MultiplyStreamed<D>(
      d, 0, a.rows, a, view, [&](auto, size_t, size_t) HWY_ATTR { return hn::Set(d, start); },
      [&](auto at, auto sum, size_t r, size_t c) HWY_ATTR { at.Store(sum, &z[r * cols + c]); });
  return z;
}

/// The same with register tiles that read B unpacked: with what is no element of it between
/// its rows, and with nothing there, nor behind the last one.
template <class D, typename A, typename B, class ViewA>
std::string CheckUnpacked(const Matrix<A>& a, const ViewA& a_view, const Matrix<B>& b, size_t m,
                          size_t k, size_t n) {
  using View = ViewOfB<B, /*kUnpacked=*/true>;
  const auto stride = static_cast<size_t>(b.tile.stride[0]);
  const auto apart = View::OfRows(b.tile.data, k, n, stride, /*apart=*/true);
  const std::string error = FirstError(a, b, Multiply<D>(a_view, apart), m, k, n);
  if (!error.empty()) return "apart: " + error;
  std::vector<B> close(b.values.size());  // exactly as long as needed
  std::transform(b.values.begin(), b.values.end(), close.begin(), MakeElement<B>);
  const auto dense = View::OfRows(close.data(), k, n, n, /*apart=*/false);
  return FirstError(a, b, Multiply<D>(a_view, dense), m, k, n);
}

/// The same of dense matrices, which are multiplied where they are if they are small.
template <typename T>
std::string CheckSmall(const Matrix<T>& a, const Matrix<T>& b, size_t m, size_t k, size_t n) {
  const auto dense = [](const Matrix<T>& matrix) {
    std::vector<T> elements(matrix.values.size());  // exactly as long as needed
    std::transform(matrix.values.begin(), matrix.values.end(), elements.begin(), MakeElement<T>);
    return elements;
  };
  const std::vector<T> a_elements = dense(a), b_elements = dense(b);
  const Tile<const T, 2> a_tile{a_elements.data(), {static_cast<int64_t>(k), 1}};
  const Tile<const T, 2> b_tile{b_elements.data(), {static_cast<int64_t>(n), 1}};
  const auto a_buffer = hwy::AllocateAligned<uint8_t>(PackedA<T>::Bytes(m, k));
  const auto b_buffer = hwy::AllocateAligned<uint8_t>(PackedB<T>::Bytes(k, n));
  const auto a_view = SmallA<T>(a_tile, m, k, a_buffer.get());
  const auto b_view = SmallB<T>(b_tile, k, n, b_buffer.get());
  const std::string error = FirstError(a, b, Multiply<Dot<T>>(a_view, b_view), m, k, n);
  return error.empty() ? "" : "small: " + error;
}

template <typename A, typename B>
std::string CheckPair(const char* name) {
  using D = Dot<A, B>;
  std::mt19937 random(1);
  constexpr size_t kSizes[][3] = {{1, 1, 1},     {4, 16, 32},  {8, 64, 64},  {7, 33, 5},
                                  {13, 100, 77}, {3, 300, 40}, {19, 9, 33},  {70, 67, 131},
                                  {5, 11, 600},  {20, 6, 300}, {16, 16, 16}, {40, 12, 32},
                                  {33, 7, 48}};
  for (const auto& [m, k, n] : kSizes) {
    for (int variant = 0; variant < 8; ++variant) {
      const bool a_transposed = (variant & 1) != 0, b_transposed = (variant & 2) != 0;
      const int64_t step = (variant & 4) != 0 ? 2 : 1;
      const auto a = Random<A>(random, m, k, a_transposed, step);
      const auto b = Random<B>(random, k, n, b_transposed, step);
      const auto a_buffer = hwy::AllocateAligned<uint8_t>(PackedA<A, D>::Bytes(m, k));
      const auto b_buffer = hwy::AllocateAligned<uint8_t>(PackedB<B, D>::Bytes(k, n));
      const auto a_view = a_transposed ? PackAT<D>(a.tile, m, k, a_buffer.get())
                                       : PackA<D>(a.tile, m, k, a_buffer.get());
      const auto b_view = b_transposed ? PackBT<D>(b.tile, k, n, b_buffer.get())
                                       : PackB<D>(b.tile, k, n, b_buffer.get());
      std::string error = FirstError(a, b, Multiply<D>(a_view, b_view), m, k, n);
      if (error.empty() && std::is_same_v<typename D::Acc, float>)
        error = CheckSums<D>(a_view, b_view);
      if (error.empty()) error = CheckSumsInRows<D>(a_view, b_view);
      if constexpr (std::is_same_v<A, typename D::KGroup>) {
        if (error.empty() && !a_transposed && step == 1) {
          const auto rows = ViewOfA<A, AnySteps>::OfRows(a.tile.data, m, k, a.tile.stride[0]);
          error = FirstError(a, b, Multiply<D>(rows, b_view), m, k, n);
          if (error.empty() && !b_transposed)
            error = FirstError(a, b, MultiplyStreamed<D>(rows, b.tile, k, n), m, k, n);
        }
      }
      if constexpr (std::is_same_v<B, typename D::B>) {
        if (error.empty() && !b_transposed && step == 1)
          error = FirstError(a, b, MultiplyStreamed<D>(a_view, b.tile, k, n), m, k, n);
      }
      if constexpr (kCanReadUnpackedB<D, B>) {
        if (error.empty() && !b_transposed && step == 1)
          error = CheckUnpacked<D>(a, a_view, b, m, k, n);
      }
      if constexpr (std::is_same_v<A, B> && !std::is_same_v<A, f16>) {
        if (error.empty() && variant == 0) error = CheckSmall(a, b, m, k, n);
      }
      if (!error.empty()) {
        return std::string(name) + " on " + hwy::TargetName(HWY_TARGET) + ", variant " +
               std::to_string(variant) + ": " + error;
      }
    }
  }
  return "";
}

/// No term is added that does not exist: -0 plus a product of zeros that fill up would be 0.
template <typename T>
std::string CheckNegativeZeros() {
  const std::vector<T> zeros(16), ones(16 * 40, T{-1});
  for (size_t depth = 1; depth <= 16; ++depth) {
    const Tile<const T, 2> a{zeros.data(), {16, 1}}, b{ones.data(), {40, 1}};
    const auto buffer = hwy::AllocateAligned<uint8_t>(PackedA<T>::Bytes(1, depth));
    const auto a_view = PackA<T>(a, 1, depth, buffer.get());
    for (const T sum : MultiplyStreamed<Dot<T>>(a_view, b, depth, 40, T{-0.0})) {
      if (!std::signbit(sum)) return "depth " + std::to_string(depth);
    }
  }
  return "";
}

/// Outputs that do not fit into the caches are written past them in whole lines, and nothing else
/// is.
std::string CheckStreamed() {
  constexpr size_t kStride = 208;  // 13 lines
  const size_t width = kTileVectors * hn::Lanes(hn::ScalableTag<float>());
  const bool lines = width * sizeof(float) % 64 == 0;
  const auto memory = hwy::AllocateAligned<float>(20 * kStride + 1);
  // Element (r, c) of the product is 1000 r + c.
  std::vector<float> a_elements, b_elements(2 * kStride, 1.0f);
  for (int r = 0; r < 19; ++r) a_elements.insert(a_elements.end(), {1000.0f * r, 1.0f});
  std::iota(b_elements.begin() + kStride, b_elements.end(), 0.0f);
  const Tile<const float, 2> a_tile{a_elements.data(), {2, 1}};
  const Tile<const float, 2> b_tile{b_elements.data(), {int64_t{kStride}, 1}};
  const auto a_memory = hwy::AllocateAligned<uint8_t>(PackedA<float>::Bytes(19, 2));
  const auto b_memory = hwy::AllocateAligned<uint8_t>(PackedB<float>::Bytes(2, kStride));
  for (const size_t beyond : {0, 1}) {
    for (const size_t stride : {kStride, kStride - 1}) {
      for (const bool stream : {false, true}) {
        for (const size_t cols : {size_t{200}, 2 * width, size_t{5}}) {
          std::fill_n(memory.get(), 20 * kStride + 1, -1.0f);
          Tile<float, 2> z{memory.get() + beyond, {static_cast<int64_t>(stride), 1}};
          z.stream = stream;
          size_t streamed = 0;
          const auto a = PackA<float>(a_tile, 19, 2, a_memory.get());
          const auto b = PackB<float>(b_tile, 2, cols, b_memory.get());
          MultiplyTiles<Dot<float>>(
              size_t{19}, a, b, TileSums(), Nothing(),
              [&](auto at, auto sum, size_t r, size_t c) HWY_ATTR {
                streamed += std::is_same_v<decltype(at), Streamed<hn::ScalableTag<float>>>;
                at.Store(sum, z.At(r, c));
              },
              z);
          hwy::FlushStream();
          const bool streams = stream && lines && beyond == 0 && stride == kStride;
          const std::string what = std::to_string(cols) + " columns, " + std::to_string(stride) +
                                   " apart, " + std::to_string(beyond) + " beyond a line";
          if ((streamed > 0) != (streams && cols >= width)) return what + ": not as expected";
          for (size_t r = 0; r < 19; ++r) {
            for (size_t c = 0; c < stride; ++c) {
              const auto expected = static_cast<float>(1000 * r + c);
              if (*z.At(r, c) != (c < cols ? expected : -1.0f)) return what + ": wrong";
            }
          }
        }
      }
    }
  }
  return "";
}

std::string CheckFloats() {
  for (const std::string& error :
       {CheckPair<float, float>("f32 f32"), CheckPair<bf16, bf16>("bf16 bf16"),
        CheckPair<f16, f16>("f16 f16"), CheckPair<bf16, float>("bf16 f32"),
        CheckPair<f16, bf16>("f16 bf16"), CheckPair<double, double>("f64 f64"),
        CheckNegativeZeros<float>(), CheckNegativeZeros<double>()}) {
    if (!error.empty()) return error;
  }
  return "";
}

/// Sums that depend on the order of their terms, out of panels and then out of B itself. Elements
/// are of up to `scale`.
std::vector<float> SumsOfBf16(size_t rows, float scale) {
  constexpr size_t kDepth = 67, kCols = 75;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> any(-scale, scale);
  std::vector<bf16> a(rows * kDepth), b(kDepth * kCols);
  for (bf16& each : a) each = MakeBf16(any(random));
  for (bf16& each : b) each = MakeBf16(any(random));
  const Tile<const bf16, 2> a_tile{a.data(), {int64_t{kDepth}, 1}};
  const Tile<const bf16, 2> b_tile{b.data(), {int64_t{kCols}, 1}};
  const auto a_buffer = hwy::AllocateAligned<uint8_t>(PackedA<bf16>::Bytes(rows, kDepth));
  const auto b_buffer = hwy::AllocateAligned<uint8_t>(PackedB<bf16>::Bytes(kDepth, kCols));
  const auto a_view = PackA<bf16>(a_tile, rows, kDepth, a_buffer.get());
  const auto b_view = PackB<bf16>(b_tile, kDepth, kCols, b_buffer.get());
  std::vector<float> sums = Multiply<Dot<bf16>>(a_view, b_view);
  const std::vector<float> few = MultiplyStreamed<Dot<bf16>>(a_view, b_tile, kDepth, kCols);
  sums.insert(sums.end(), few.begin(), few.end());
  return sums;
}

std::string CheckIntegers() {
  for (const std::string& error :
       {CheckPair<int8_t, int8_t>("i8 i8"), CheckPair<uint8_t, uint8_t>("u8 u8"),
        CheckPair<int8_t, uint8_t>("i8 u8"), CheckPair<uint8_t, int8_t>("u8 i8"),
        CheckPair<int32_t, int32_t>("i32 i32"), CheckPair<uint8_t, int32_t>("u8 i32")}) {
    if (!error.empty()) return error;
  }
  return "";
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::dot_test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tests/catch.h"
#include "tests/runtime/dot/each_target.h"

namespace kiln::dot_test {
HWY_EXPORT(CheckFloats);
HWY_EXPORT(CheckIntegers);
HWY_EXPORT(CheckStreamed);
HWY_EXPORT(SumsOfBf16);

TEST_CASE("dots of all types on all targets, with AMX where there is one and without it") {
  dot_test::ForEachTargetAndAmx([&] {
    CHECK(KILN_DISPATCH(CheckFloats)() == "");
    CHECK(KILN_DISPATCH(CheckIntegers)() == "");
  });
}

TEST_CASE("large outputs of dots are written past the caches in whole lines") {
  dot_test::ForEachTarget([&] { CHECK(KILN_DISPATCH(CheckStreamed)() == ""); });
}

TEST_CASE("sums of bf16 are the same on all targets of x86 without AMX, with and without panels") {
  SetAmxForTest(false);
  std::vector<float> first;
  dot_test::ForEachTarget([&] {
    const std::vector<float> sums = KILN_DISPATCH(SumsOfBf16)(5, 1.0f);
    if (first.empty()) first = sums;
    if (HWY_ARCH_X86) CHECK(sums == first);  // bfdot of Arm rounds to odd
    CHECK(std::equal(sums.begin(), sums.begin() + sums.size() / 2, sums.begin() + sums.size() / 2));
  });
  SetAmxForTest(true);
}

#if HWY_ARCH_X86
TEST_CASE("few rows out of B itself have the bits of AMX's tiles, of subnormal numbers too") {
  if (!HasAmx()) return;
  for (const float scale : {1.0f, 1e-19f, 1e-37f, 1e19f}) {
    for (const size_t rows : {1, 2, 16, 19}) {
      INFO(rows << " rows, up to " << scale);
      const std::vector<float> sums = KILN_DISPATCH(SumsOfBf16)(rows, scale);
      const auto half = sums.begin() + static_cast<ptrdiff_t>(sums.size() / 2);
      CHECK(std::equal(sums.begin(), half, half,
                       [](float a, float b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }));
    }
  }
}

TEST_CASE("kernels of bf16 run on AVX3 where that multiplies faster than AVX3_DL") {
  if ((hwy::SupportedTargets() & HWY_TARGETS & HWY_AVX3_DL) == 0) return;
  hwy::SetSupportedTargetsForTest(HWY_AVX3_DL);
  const size_t best = TargetIndex<HWY_TARGETS>(), of_bf16 = TargetIndex<HWY_TARGETS, true>();
  if (__builtin_cpu_is("intel") && !HasAmx())
    CHECK(of_bf16 == IndexOfTarget(HWY_AVX3));
  else
    CHECK(of_bf16 == best);
  hwy::SetSupportedTargetsForTest(0);
}
#endif

}  // namespace kiln::dot_test
#endif
