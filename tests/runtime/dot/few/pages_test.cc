// A B of which pages are where a copy would have found them, multiplied by few rows and by more.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/dot/few/pages_test.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
// Once per target.
#include "hwy/aligned_allocator.h"
#include "kiln/dot/matrices-inl.h"
#include "kiln/dot/panels-inl.h"
#include "tests/runtime/dot/matrices.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::pages_test {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT
using dot_test::Matrix;

/// A buffer of the lines of a matrix. Every third page of them is at home, and in place of the
/// others there is something else.
template <typename T>
class Scattered {
 public:
  Scattered(const Matrix<T>& from, size_t lines, size_t page_lines)
      : home_(lines * Unsigned(from.tile.stride[0])),
        pages_(home_.data(), home_.size() * sizeof(T), &requests_) {
    std::memcpy(static_cast<void*>(home_.data()), from.elements.data(),
                from.elements.size() * sizeof(T));
    const size_t page = page_lines * Unsigned(from.tile.stride[0]);
    for (size_t at = 0; at < home_.size(); at += page) {
      if (at / page % 3 == 1) continue;
      const auto* const first = home_.data() + at;
      away_.emplace_back(first, first + page);
      const auto bytes = [](const T* place) { return reinterpret_cast<const char*>(place); };
      if (pages_.AreWhole(bytes(first), page * sizeof(T)))
        pages_.Leave(bytes(away_.back().data()), bytes(first), page * sizeof(T));
      std::fill_n(home_.data() + at, page, dot_test::MakeElement<T>(99));
    }
  }

  Tile<const T, 2> tile(const Matrix<T>& from) const { return {home_.data(), from.tile.stride}; }
  Pages& pages() { return pages_; }

 private:
  std::vector<T> home_;
  std::vector<std::vector<T>> away_;
  Requests requests_;
  Pages pages_;
};

/// `by_columns`: whether lines are columns of B.
template <class As, typename T>
std::string CheckShape(std::mt19937& random, size_t rows, size_t page_lines, bool by_columns) {
  using D = Dot<As>;
  const size_t lines = 6 * page_lines, depth = by_columns ? 70 : lines,
               cols = by_columns ? lines : 83;
  const Matrix<As> a = dot_test::Random<As>(random, rows, depth, false, 1);
  const Matrix<T> b = dot_test::Random<T>(random, depth, cols, by_columns, 1);
  Scattered<T> scattered(b, lines, page_lines);
  Tile<const T, 2> tile = scattered.tile(b);
  if (by_columns) std::swap(tile.stride[0], tile.stride[1]);
  const auto memory_a = hwy::AllocateAligned<uint8_t>(PackedA<As>::Bytes(rows, depth));
  const auto memory_b = hwy::AllocateAligned<uint8_t>(PackedB<As>::Bytes(depth, cols));
  const auto panels = PackA<As>(a.tile, rows, depth, memory_a.get());
  // Once more of what is at home by then, or still away.
  for (int turn = 0; turn < 2; ++turn) {
    const auto view = PackBFor<As>(rows, tile, depth, cols, memory_b.get(), scattered.pages());
    std::vector<typename D::Acc> z(rows * cols);
    MultiplyTiles<D>(RowRange(rows), panels, view, TileSums(), Nothing(),
                     [&](auto at, auto sum, size_t r, size_t c)
                         HWY_ATTR { at.Store(sum, &z[r * cols + c]); });
    const std::string error = dot_test::FirstError(a, b, z, rows, depth, cols);
    if (!error.empty()) return error;
  }
  return "";
}

template <class As, typename T = As>
std::string Check(const char* types) {
  std::mt19937 random(11);
  for (const bool by_columns : {false, true}) {
    for (const size_t page_lines : {1, 3, 8, 16, 48, 61}) {
      for (const size_t rows : {1, 2, 5, 8, 20, 70}) {
        const std::string error = CheckShape<As, T>(random, rows, page_lines, by_columns);
        if (!error.empty()) {
          return std::string(types) + (by_columns ? ", by columns" : "") + ", pages of " +
                 std::to_string(page_lines) + ": " + error;
        }
      }
    }
  }
  return "";
}

std::string CheckAll() {
  for (const std::string& error :
       {Check<float>("f32"), Check<float, bf16>("bf16 as f32"), Check<bf16>("bf16"),
        Check<int8_t>("i8"), Check<uint8_t>("u8"), Check<int32_t>("i32"), Check<double>("f64")}) {
    if (!error.empty()) return error;
  }
  return "";
}

/// An A that few columns multiply where it is looks at elements of B one by one.
std::string CheckFewColumns() {
  std::mt19937 random(12);
  constexpr size_t kRows = 100, kDepth = 320, kCols = 4;
  const Matrix<float> a = dot_test::Random<float>(random, kRows, kDepth, false, 1);
  const Matrix<float> b = dot_test::Random<float>(random, kDepth, kCols, false, 1);
  Scattered<float> scattered(b, kDepth, 16);
  const auto memory = hwy::AllocateAligned<uint8_t>(
      HWY_MAX(PackedA<float>::Bytes(kRows, kDepth), PackedB<float>::Bytes(kDepth, kCols)));
  const auto view_a = PackAFor<float>(kCols, a.tile, kRows, kDepth, memory.get());
  const auto view_b =
      PackBFor<float>(8, scattered.tile(b), kDepth, kCols, memory.get(), scattered.pages());
  std::vector<float> z(kRows * kCols);
  MultiplyTiles<Dot<float>>(RowRange(kRows), view_a, view_b, TileSums(), Nothing(),
                            [&](auto at, auto sum, size_t r, size_t c)
                                HWY_ATTR { at.Store(sum, &z[r * kCols + c]); });
  return view_a.streamed == nullptr ? "" : dot_test::FirstError(a, b, z, kRows, kDepth, kCols);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::pages_test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tests/catch.h"
#include "tests/runtime/dot/each_target.h"

namespace kiln::pages_test {
HWY_EXPORT(CheckAll);
HWY_EXPORT(CheckFewColumns);

TEST_CASE("a B in pages is multiplied where they are by few rows, and comes home for more") {
  dot_test::ForEachTargetAndAmx([&] { CHECK(KILN_DISPATCH(CheckAll)() == ""); });
}

TEST_CASE("a B in pages comes home for an A that few columns multiply where it is") {
  dot_test::ForEachTargetAndAmx([&] { CHECK(KILN_DISPATCH(CheckFewColumns)() == ""); });
}

}  // namespace kiln::pages_test
#endif
