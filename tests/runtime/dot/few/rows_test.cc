// What few rows of A multiply as it is, and more rows packed: a B of which only a step knows how
// many rows it needs, one whose columns are contiguous, and one that is computed.

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/dot/few/rows_test.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
// Once per target.
#include "hwy/aligned_allocator.h"
#include "kiln/dot/computed-inl.h"
#include "kiln/dot/matrices-inl.h"
#include "kiln/dot/panels-inl.h"
#include "tests/runtime/dot/matrices.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::few_rows_test {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT
using dot_test::Matrix;

template <typename T>
class Packer final : public PackedLater {
 public:
  Packer(const Tile<const T, 2>& b, size_t k, size_t cols)
      : memory_(hwy::AllocateAligned<uint8_t>(PackedB<T>::Bytes(k, cols))) {
    PackB<T>(b, k, cols, memory_.get());
  }
  PanelsInTurn Panels() override {
    ++times;
    return {memory_.get()};
  }
  bool HasPanels() const override { return has_panels; }
  void PackPiece(const PanelPiece&, void*) override {}
  int times = 0;
  bool has_panels = false;

 private:
  hwy::AlignedFreeUniquePtr<uint8_t[]> memory_;
};

template <typename T>
std::string Check(const char* types) {
  using D = Dot<T>;
  using Acc = typename D::Acc;
  constexpr size_t kRows = 100, kDepth = 37, kCols = 75;
  std::mt19937 random(5);
  const Matrix<T> a = dot_test::Random<T>(random, kRows, kDepth, false, 1);
  const Matrix<T> b = dot_test::Random<T>(random, kDepth, kCols, false, 1);
  Packer<T> packer(b.tile, kDepth, kCols);
  const auto memory = hwy::AllocateAligned<uint8_t>(PackedA<T>::Bytes(kRows, kDepth));
  const auto view_a = PackA<T>(a.tile, kRows, kDepth, memory.get());
  using ViewB = typename PackedB<T>::View;
  ViewB view_b = ViewB::StreamedRows(b.tile.At(0, 0), PackedB<T>::Depth(kDepth), kDepth, kCols,
                                     static_cast<size_t>(b.tile.stride[0]));
  view_b.turn.later = &packer;

  for (const size_t rows : {0, 1, 3, 8, 16, 17, 64, 65, 90}) {
    const RowRange live = LiveRows(5, static_cast<int64_t>(5 + rows), kRows);
    const bool few = rows <= static_cast<size_t>(FewRows<typename D::Arithmetic>());
    const UnpackedB unpacked{static_cast<int64_t>(rows), int64_t{kDepth},
                             b.tile.stride[0] * int64_t{sizeof(T)}};
    const bool may_read_unpacked =
        kCanReadUnpackedB<D, T> &&
        ChooseBAccess(kTypicalCpu, unpacked, /*few_rows=*/0, /*can_read_unpacked=*/true,
                      kTilesOf8Rows) == BAccess::kUnpackedTiles;
    for (const bool in_rows : {false, true, false, true}) {
      // Panels of the group's rows before are there after half of this.
      const bool packs = !few && (packer.has_panels || !may_read_unpacked);
      packer.times = 0;
      std::vector<Acc> z((kRows + 1) * kCols);
      if (in_rows) {
        MultiplyTiles<D>(live, view_a, view_b,
                         SumsInRows(z.data(), int64_t{kCols}, /*from_zero=*/true));
      } else {
        MultiplyTiles<D>(live, view_a, view_b, TileSums(), Nothing(),
                         [&](auto at, auto sum, size_t r, size_t c)
                             HWY_ATTR { at.Store(sum, &z[r * kCols + c]); });
      }
      const std::string what = std::string(types) + ", " + std::to_string(rows) + " rows: ";
      if (packer.times != (packs ? 1 : 0)) return what + "packed where it should not be, or not";
      const Matrix<T> needed{{a.values.begin() + 5 * kDepth, a.values.end()}, {}, {}, kDepth};
      const std::vector<Acc> sums(z.begin() + 5 * kCols, z.end());
      const std::string error = dot_test::FirstError(needed, b, sums, rows, kDepth, kCols);
      if (!error.empty()) return what + error;
      packer.has_panels = in_rows != packer.has_panels;
    }
  }
  return "";
}

/// A row of a product with a computed B is that of a B in memory, bit for bit, among few rows and
/// among many: where it is multiplied or packed out of registers elements are rounded alike.
template <typename T, typename Element>
std::string CheckComputed(const char* types) {
  using D = Dot<T>;
  using Acc = typename D::Acc;
  constexpr size_t kMaxRows = 40;
  std::mt19937 random(6);
  for (const size_t depth : {1, 8, 37, 64}) {
    for (const size_t cols : {5, 64, 75, 300}) {
      const Matrix<T> a = dot_test::Random<T>(random, kMaxRows, depth, false, 1);
      std::vector<Element> elements(depth * cols);
      for (Element& element : elements) {
        // Bits below those of a bf16, ties among them, and what is subnormal.
        const double size = random() % 8 == 0 ? 1e-39 : 1.0;
        element = static_cast<Element>(size * static_cast<double>(random() % 4096) / 8);
      }
      const auto fn = [&](auto at, size_t k, size_t c)
                          HWY_ATTR { return at.Load(&elements[k * cols + c]); };
      std::vector<Element> transposed(elements.size());
      for (size_t i = 0; i < elements.size(); ++i)
        transposed[i % cols * depth + i / cols] = elements[i];
      const auto by_columns = [&](auto at, size_t c, size_t k)
                                  HWY_ATTR { return at.Load(&transposed[c * depth + k]); };
      const auto product = [&](size_t rows, const auto& pack_b) HWY_ATTR {
        const auto memory_a = hwy::AllocateAligned<uint8_t>(PackedA<T>::Bytes(rows, depth));
        const auto memory_b = hwy::AllocateAligned<uint8_t>(PackedB<T>::Bytes(depth, cols));
        std::vector<Acc> z(rows * cols);
        MultiplyComputed<D>(RowRange{0, rows}, PackA<T>(a.tile, rows, depth, memory_a.get()),
                            pack_b(memory_b.get()), TileSums(), Nothing(),
                            [&](auto at, auto sum, size_t r, size_t c)
                                HWY_ATTR { at.Store(sum, &z[r * cols + c]); });
        return z;
      };
      std::vector<T> stored(depth * cols);
      ForLanes(kFloats, stored.size(),
               [&](auto at, size_t i) HWY_ATTR { at.Store(at.Load(&elements[i]), &stored[i]); });
      Tile<const T, 2> b{};
      b.data = stored.data(), b.stride[0] = static_cast<int64_t>(cols), b.stride[1] = 1;
      const auto memory_a = hwy::AllocateAligned<uint8_t>(PackedA<T>::Bytes(kMaxRows, depth));
      const auto memory_b = hwy::AllocateAligned<uint8_t>(PackedB<T>::Bytes(depth, cols));
      std::vector<Acc> all(kMaxRows * cols);
      MultiplyTiles<D>(RowRange(kMaxRows), PackA<T>(a.tile, kMaxRows, depth, memory_a.get()),
                       PackB<T>(b, depth, cols, memory_b.get()), TileSums(), Nothing(),
                       [&](auto at, auto sum, size_t r, size_t c)
                           HWY_ATTR { at.Store(sum, &all[r * cols + c]); });
      for (const size_t rows : {size_t{1}, size_t{3}, size_t{8}, size_t{32}, kMaxRows}) {
        const std::vector<Acc> few =
            product(rows, [&](void* to) HWY_ATTR { return PackBOf<T>(rows, depth, cols, to, fn); });
        const std::vector<Acc> columns = product(rows, [&](void* to) HWY_ATTR {
          return PackBTOf<T>(rows, depth, cols, to, by_columns);
        });
        const size_t bytes = few.size() * sizeof(Acc);
        const bool right = std::memcmp(few.data(), all.data(), bytes) == 0,
                   right_by_columns = std::memcmp(columns.data(), all.data(), bytes) == 0;
        if (right && right_by_columns) continue;
        return std::string(types) + ", " + std::to_string(rows) + " rows, " +
               std::to_string(depth) + " by " + std::to_string(cols) +
               (right ? ", by columns" : "") + ": not those of a B in memory";
      }
    }
  }
  return "";
}

std::string CheckAllComputed() {
  for (const std::string& error :
       {CheckComputed<float, float>("f32"), CheckComputed<bf16, float>("bf16"),
        CheckComputed<int32_t, int32_t>("i32")}) {
    if (!error.empty()) return error;
  }
  return "";
}

/// A product with a B whose columns are contiguous, by a view of A; `far`: as if it was in memory.
template <class D, class ViewA, typename TA, typename TB>
std::string CheckColumnsOf(const ViewA& view_a, const Matrix<TA>& a, const Matrix<TB>& b,
                           size_t rows, size_t depth, size_t cols, bool far) {
  using Acc = typename D::Acc;
  using Format = PackedBT<TB, D>;
  auto view_b = Format::View::StreamedColumns(b.tile.data, Format::Depth(depth), depth, cols,
                                              static_cast<size_t>(b.tile.stride[0]));
  if (far) view_b.array_bytes = size_t{1} << 40;
  std::vector<Acc> z(rows * cols);
  MultiplyTiles<D>(RowRange(rows), view_a, view_b, TileSums(), Nothing(),
                   [&](auto at, auto sum, size_t r, size_t c)
                       HWY_ATTR { at.Store(sum, &z[r * cols + c]); });
  return dot_test::FirstError(a, b, z, rows, depth, cols);
}

template <typename TA, typename TB = TA>
std::string CheckColumns(const char* types) {
  using D = Dot<TA, TB>;
  if constexpr (kStreamsColumns<D, TB>) {
    std::mt19937 random(7);  // rows of A are 3 elements further apart than their depth: half a page
    for (const size_t depth : {1, 3, 15, 16, 37, 64, 130, 509, 4229}) {  // the last in pieces
      for (const size_t cols : {1, 5, 16, 33, 75}) {
        for (const size_t rows : {1, 2, 4, 7, 32}) {
          if (depth > 4096 && (cols != 5 || rows < 7)) continue;  // takes long
          const Matrix<TA> a = dot_test::Random<TA>(random, rows, depth, false, 1);
          const Matrix<TB> b = dot_test::Random<TB>(random, depth, cols, true, 1);
          const auto memory = hwy::AllocateAligned<uint8_t>(PackedA<TA, D>::Bytes(rows, depth));
          const auto check = [&](const auto& view_a, bool far) HWY_ATTR {
            return CheckColumnsOf<D>(view_a, a, b, rows, depth, cols, far);
          };
          for (const bool far : {false, true}) {
            std::string error = check(PackA<D>(a.tile, rows, depth, memory.get()), far);
            if constexpr (std::is_same_v<TA, TB>) {
              if (error.empty()) error = check(MatrixA<TA>(a.tile, rows, depth, memory.get()), far);
            }
            if (!error.empty()) return std::string(types) + (far ? ", far: " : ": ") + error;
          }
        }
      }
    }
  }
  return "";
}

std::string CheckAllColumns() {
  for (const std::string& error :
       {CheckColumns<float>("f32"), CheckColumns<bf16>("bf16"), CheckColumns<int32_t>("i32"),
        CheckColumns<int8_t>("i8"), CheckColumns<int8_t, uint8_t>("i8, u8"),
        CheckColumns<uint8_t, int8_t>("u8, i8"), CheckColumns<uint8_t>("u8")}) {
    if (!error.empty()) return error;
  }
  return "";
}

/// A product with a tile of T, which few rows read where it is, and more packed for a dot of As.
template <class As, typename T>
std::string CheckTile(const char* types) {
  using D = Dot<As>;
  using Acc = typename D::Acc;
  std::mt19937 random(8);
  for (const bool transposed : {false, true}) {
    for (const size_t depth : {1, 8, 37, 130}) {
      for (const size_t cols : {5, 64, 75}) {
        for (const size_t rows : {1, 3, 16, 32, 33, 70}) {
          const Matrix<As> a = dot_test::Random<As>(random, rows, depth, false, 1);
          const Matrix<T> b = dot_test::Random<T>(random, depth, cols, transposed, 1);
          Tile<const T, 2> tile = b.tile;
          if (transposed) std::swap(tile.stride[0], tile.stride[1]);
          const auto memory_a = hwy::AllocateAligned<uint8_t>(PackedA<As>::Bytes(rows, depth));
          const auto memory_b = hwy::AllocateAligned<uint8_t>(PackedB<As>::Bytes(depth, cols));
          std::vector<Acc> z(rows * cols);
          MultiplyTiles<D>(RowRange(rows), PackA<As>(a.tile, rows, depth, memory_a.get()),
                           PackBFor<As>(rows, tile, depth, cols, memory_b.get()), TileSums(),
                           Nothing(), [&](auto at, auto sum, size_t r, size_t c) HWY_ATTR {
                             at.Store(sum, &z[r * cols + c]);
                           });
          const std::string error = dot_test::FirstError(a, b, z, rows, depth, cols);
          if (!error.empty())
            return std::string(types) + (transposed ? " transposed: " : ": ") + error;
        }
      }
    }
  }
  return "";
}

std::string CheckAllTiles() {
  for (const std::string& error :
       {CheckTile<float, float>("f32"), CheckTile<float, bf16>("f32, bf16"),
        CheckTile<float, f16>("f32, f16"), CheckTile<bf16, bf16>("bf16"),
        CheckTile<int8_t, int8_t>("i8"), CheckTile<int32_t, int32_t>("i32")}) {
    if (!error.empty()) return error;
  }
  return "";
}

std::string CheckAll() {
  for (const std::string& error :
       {Check<float>("f32"), Check<bf16>("bf16"), Check<int8_t>("i8"), Check<uint8_t>("u8")}) {
    if (!error.empty()) return error;
  }
  return "";
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::few_rows_test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tests/catch.h"
#include "tests/runtime/dot/each_target.h"

namespace kiln::few_rows_test {
HWY_EXPORT(CheckAll);
HWY_EXPORT(CheckAllComputed);
HWY_EXPORT(CheckAllColumns);
HWY_EXPORT(CheckAllTiles);

TEST_CASE("a product with a computed B is that with a B in memory, for few rows and for many") {
  dot_test::ForEachTarget([&] { CHECK(KILN_DISPATCH(CheckAllComputed)() == ""); });
}

TEST_CASE("few rows multiply a B along its columns, wherever it is") {
  SetAmxForTest(false);  // whose sums are in another order: B is packed for it
  dot_test::ForEachTarget([&] { CHECK(KILN_DISPATCH(CheckAllColumns)() == ""); });
  SetAmxForTest(true);
}

TEST_CASE("few rows multiply a tile of VMEM where it is, and more once it is packed") {
  dot_test::ForEachTargetAndAmx([&] { CHECK(KILN_DISPATCH(CheckAllTiles)() == ""); });
}

TEST_CASE("a B is packed once more rows than few turn out to be live, with AMX and without it") {
  dot_test::ForEachTargetAndAmx([&] { CHECK(KILN_DISPATCH(CheckAll)() == ""); });
}

}  // namespace kiln::few_rows_test
#endif
