// An A that is multiplied where it is, with few columns of a B that is packed or is not.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/dot/few/columns_test.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
// Once per target.
#include "hwy/aligned_allocator.h"
#include "kiln/dot/matrices-inl.h"
#include "kiln/dot/panels-inl.h"
#include "tests/runtime/dot/matrices.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::few_columns_test {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT
using dot_test::Matrix;

/// The product of `rows` rows, the first two of which are not needed, by the way that sums take.
template <class D, class A, class B>
std::vector<typename D::Acc> Product(const A& a, const B& b, size_t rows, size_t cols,
                                     bool in_rows) {
  using Acc = typename D::Acc;
  std::vector<Acc> z(rows * cols);
  const RowRange range(0, rows, 2, rows);
  if (in_rows) {
    MultiplyTiles<D>(range, a, b, SumsInRows(z.data(), Signed(cols), /*from_zero=*/true));
    return z;
  }
  // In two steps of a reduction: nothing, and then all.
  const auto sums = hwy::AllocateAligned<Acc>(AccumulatorSize(rows, cols));
  std::fill_n(sums.get(), AccumulatorSize(rows, cols), Acc{0});
  MultiplyTiles<D>(range, a, b, SumsOf({.first = false, .last = true}, sums.get(), rows), Nothing(),
                   [&](auto at, auto sum, size_t r, size_t c)
                       HWY_ATTR { at.Store(sum, &z[r * cols + c]); });
  return z;
}

/// `b`: of k x cols, or its transpose.
template <typename TA, typename TB, bool kTransposed>
std::string CheckShape(std::mt19937& random, size_t rows, size_t depth, size_t cols) {
  using D = Dot<TA, TB>;
  using ViewB = typename PackedB<TB, D>::View;
  const Matrix<TA> a = dot_test::Random<TA>(random, rows, depth, kTransposed, 1);
  const Matrix<TB> b = dot_test::Random<TB>(random, depth, cols, false, 1);
  const Matrix<TB> of_columns = dot_test::Random<TB>(random, depth, cols, true, 1);
  const size_t groups = PackedB<TB, D>::Depth(depth);
  const auto stride = [](const auto& matrix) { return Unsigned(matrix.tile.stride[0]); };
  const auto view_a =
      PackedA<TA, D>::View::Streamed(a.tile.data, rows, depth, stride(a), kTransposed);
  const auto check = [&](const char* form, const auto& view_b,
                         const Matrix<TB>& elements) -> std::string {
    for (const bool in_rows : {false, true}) {
      auto z = Product<D>(view_a, view_b, rows, cols, in_rows);
      const size_t unneeded = 2 * cols;
      for (size_t i = 0; i < unneeded; ++i) {
        if (z[i] != 0) return std::string(form) + ": rows that are not needed";
      }
      const Matrix<TA> needed{
          {a.values.begin() + Signed(2 * depth), a.values.end()}, {}, {}, depth};
      z.erase(z.begin(), z.begin() + Signed(unneeded));
      const std::string error = dot_test::FirstError(needed, elements, z, rows - 2, depth, cols);
      if (!error.empty()) return std::string(form) + (in_rows ? ", in rows: " : ": ") + error;
    }
    return "";
  };
  const auto memory = hwy::AllocateAligned<uint8_t>(PackedB<TB, D>::Bytes(depth, cols));
  std::string error = check("panels", PackB<D>(b.tile, depth, cols, memory.get()), b);
  if (error.empty())
    error = check("streamed", ViewB::StreamedRows(b.tile.data, groups, depth, cols, stride(b)), b);
  if (error.empty()) {
    const Tile<const TB, 2>& tile = of_columns.tile;
    error = check("by columns",
                  ViewB::StreamedColumns(tile.data, groups, depth, cols, stride(of_columns)),
                  of_columns);
  }
  if constexpr (kCanReadUnpackedB<D, TB>) {
    if (error.empty())
      error =
          check("unpacked", ViewB::OfRows(b.tile.data, depth, cols, stride(b), /*apart=*/true), b);
  }
  return error;
}

template <typename TA, typename TB, bool kTransposed>
std::string CheckOrder() {
  if constexpr (kStreamsA<Dot<TA, TB>, TA, kTransposed>) {
    std::mt19937 random(9);
    for (const size_t cols : {1, 2, 5, 8, 17, 32}) {
      if (Signed(cols) > FewColumns(kTransposed)) continue;
      for (const size_t rows : {3, 16, 33, 70}) {
        for (const size_t depth : {1, 3, 37, 64, 509}) {
          const std::string error = CheckShape<TA, TB, kTransposed>(random, rows, depth, cols);
          if (!error.empty()) {
            return std::to_string(rows) + " x " + std::to_string(depth) + " x " +
                   std::to_string(cols) + (kTransposed ? " transposed: " : ": ") + error;
          }
        }
      }
    }
  }
  return "";
}

template <typename TA, typename TB = TA>
std::string Check(const char* types) {
  std::string error = CheckOrder<TA, TB, false>();
  if (error.empty()) error = CheckOrder<TA, TB, true>();
  return error.empty() ? "" : std::string(types) + ", " + error;
}

std::string CheckAll() {
  for (const std::string& error :
       {Check<float>("f32"), Check<double>("f64"), Check<bf16>("bf16"), Check<int32_t>("i32"),
        Check<int8_t>("i8"), Check<int8_t, uint8_t>("i8, u8"), Check<uint8_t, int8_t>("u8, i8"),
        Check<uint8_t>("u8")}) {
    if (!error.empty()) return error;
  }
  return "";
}

/// A product of a tile of T, which few columns read where it is, and more packed for a dot of As.
template <class As, typename T>
std::string CheckTile(const char* types) {
  using D = Dot<As>;
  std::mt19937 random(10);
  for (const bool transposed : {false, true}) {
    for (const size_t depth : {5, 37, 300}) {
      for (const size_t rows : {3, 20, 150}) {
        for (const size_t cols : {1, 4, 8, 9, 32, 33}) {
          const Matrix<T> a = dot_test::Random<T>(random, rows, depth, transposed, 1);
          const Matrix<As> b = dot_test::Random<As>(random, depth, cols, false, 1);
          Tile<const T, 2> tile = a.tile;
          if (transposed) std::swap(tile.stride[0], tile.stride[1]);
          const Tile<const T, 2> upside_down{tile.At(rows - 1, 0),
                                             {-tile.stride[0], tile.stride[1]}};
          const auto memory_a = hwy::AllocateAligned<uint8_t>(PackedA<As>::Bytes(rows, depth));
          const auto memory_b = hwy::AllocateAligned<uint8_t>(PackedB<As>::Bytes(depth, cols));
          const auto panels = PackB<As>(b.tile, depth, cols, memory_b.get());
          const auto check = [&](const auto& view, bool turned = false) -> std::string {
            std::vector<typename D::Acc> z(rows * cols);
            MultiplyTiles<D>(RowRange(rows), view, panels, TileSums(), Nothing(),
                             [&](auto at, auto sum, size_t r, size_t c) HWY_ATTR {
                               at.Store(sum, &z[(turned ? rows - 1 - r : r) * cols + c]);
                             });
            const std::string error = dot_test::FirstError(a, b, z, rows, depth, cols);
            return error.empty() ? "" : types + std::string(transposed ? ".T: " : ": ") + error;
          };
          std::string error = check(PackAFor<As>(cols, tile, rows, depth, memory_a.get()));
          if (error.empty()) {
            error = check(PackAFor<As>(cols, upside_down, rows, depth, memory_a.get()),
                          /*turned=*/true);
          }
          if constexpr (std::is_same_v<As, T>) {
            if (error.empty() && !transposed)  // its rows are contiguous
              error = check(SmallAFor<As>(cols, tile, rows, depth, memory_a.get()));
          }
          if (!error.empty()) return error;
        }
      }
    }
  }
  return "";
}

std::string CheckTiles() {
  for (const std::string& error :
       {CheckTile<float, float>("f32"), CheckTile<float, bf16>("bf16 as f32"),
        CheckTile<float, f16>("f16"), CheckTile<bf16, bf16>("bf16"),
        CheckTile<int8_t, int8_t>("i8"), CheckTile<int32_t, int32_t>("i32")}) {
    if (!error.empty()) return error;
  }
  return "";
}

/// Which blocks a format reads where they are, of `rows` x `depth` in an array of that size.
template <class Format>
bool IsInPlace(int64_t rows, int64_t depth, int64_t columns) {
  std::vector<typename Format::Element> elements(Unsigned(rows * depth));
  const Tensor<const typename Format::Element> array(elements.data(), {rows, depth});
  const Blocks<2> blocks{array.template extents<2>(), {All(rows), All(depth)}};
  return Format::IsInPlaceFor(kTypicalCpu, columns, array, blocks.BoxAt({0, 0}));
}

std::string CheckFormats() {
  using F = PackedA<int8_t>;
  using T = PackedAT<int8_t>;
  const bool streams = kStreamsA<Dot<int8_t>, int8_t, false>;
  if (IsInPlace<F>(64, 512, 8) != streams) return "8 columns";
  if (IsInPlace<F>(64, 512, 9)) return "9 columns";
  if (IsInPlace<F>(64, 512, 0)) return "no columns";
  if (IsInPlace<F>(64, 512, kUnknownRows)) return "nobody knows how many columns";
  if (IsInPlace<F>(31, 512, 8)) return "few rows";
  if (IsInPlace<F>(64, 255, 8)) return "a small K";
  if (!IsInPlace<T>(16, 128, 32)) return "32 columns, transposed";
  if (IsInPlace<T>(16, 128, 33)) return "33 columns, transposed";
  return "";
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::few_columns_test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tests/catch.h"
#include "tests/runtime/dot/each_target.h"

namespace kiln::few_columns_test {
HWY_EXPORT(CheckAll);
HWY_EXPORT(CheckTiles);
HWY_EXPORT(CheckFormats);

TEST_CASE("an A is multiplied where it is by few columns, wherever those are") {
  SetAmxForTest(false);  // whose sums are in another order: A is packed for it
  dot_test::ForEachTarget([&] { CHECK(KILN_DISPATCH(CheckAll)() == ""); });
  SetAmxForTest(true);
}

TEST_CASE("a tile of VMEM is multiplied where it is by few columns, and packed for more") {
  dot_test::ForEachTargetAndAmx([&] { CHECK(KILN_DISPATCH(CheckTiles)() == ""); });
}

TEST_CASE("an A is packed unless it is large and its columns of B are few") {
  SetAmxForTest(false);
  dot_test::ForEachTarget([&] { CHECK(KILN_DISPATCH(CheckFormats)() == ""); });
  SetAmxForTest(true);
}

}  // namespace kiln::few_columns_test
#endif
