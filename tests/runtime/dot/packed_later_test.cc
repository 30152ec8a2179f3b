// A B of which only a step knows how many rows it needs: streamed for few of them, else packed.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/dot/packed_later_test.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
// Once per target.
#include "hwy/aligned_allocator.h"
#include "kiln/dot/panels-inl.h"
#include "tests/runtime/dot/matrices.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::packed_later_test {
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
  const void* Panels() override {
    ++times;
    return memory_.get();
  }
  int times = 0;

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
  view_b.later = &packer;

  for (const size_t rows : {0, 1, 3, 8, 16, 17, 64, 65, 90}) {
    const RowRange live = LiveRows(5, static_cast<int64_t>(5 + rows), kRows);
    const bool packs = rows > static_cast<size_t>(FewRows<typename D::Arithmetic>());
    for (const bool in_rows : {false, true}) {
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
    }
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
}  // namespace kiln::packed_later_test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tests/catch.h"

namespace kiln::packed_later_test {
HWY_EXPORT(CheckAll);

TEST_CASE("a B is packed once more rows than few turn out to be live, with AMX and without it") {
  for (const bool amx : {true, false}) {
    SetAmxForTest(amx);
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      INFO(hwy::TargetName(target) << (HasAmx() ? " with AMX" : ""));
      hwy::SetSupportedTargetsForTest(target);
      CHECK(KILN_DISPATCH(CheckAll)() == "");
    }
  }
  SetAmxForTest(true);
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace kiln::packed_later_test
#endif
