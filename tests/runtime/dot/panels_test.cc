// The layouts of packed operands, group by group, against elements read one at a time: blocks with
// edges, halos, pads and squeezed dimensions, of every orientation. And the ranges of their tiles.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/dot/panels_test.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
// Once per target.
#include "hwy/aligned_allocator.h"
#include "kiln/dot/matrices-inl.h"
#include "kiln/dot/panels-inl.h"
#include "kiln/simd/one-inl.h"

#ifndef KILN_TESTS_PANELS_TEST_ONCE
#define KILN_TESTS_PANELS_TEST_ONCE
namespace kiln::panels_test {

template <typename T>
T MakeElement(size_t i) {
  if constexpr (std::is_same_v<T, bf16>) {
    return std::bit_cast<bf16>(static_cast<uint16_t>(i + 1));
  } else {
    return static_cast<T>(i * 7 + 1);
  }
}

/// Blocks of an array of rank 4 of which two dimensions are squeezed; where the last one is, the
/// last of the block is not contiguous.
struct Case {
  std::array<int64_t, 4> shape;
  std::array<BlockDim, 4> dims;
  Index<4> index;
};

inline std::vector<Case> Cases() {
  std::vector<Case> cases;
  const auto add = [&](int64_t a, int64_t b, BlockDim dim_a, BlockDim dim_b, int64_t i, int64_t j) {
    cases.push_back({{a, 3, b, 1}, {dim_a, Squeezed(), dim_b, Squeezed()}, {i, 2, j, 0}});
    cases.push_back({{2, a, 2, b}, {Squeezed(), dim_a, Squeezed(), dim_b}, {1, i, 1, j}});
    cases.push_back({{a, b, 2, 2}, {dim_a, dim_b, Squeezed(), Squeezed()}, {i, j, 1, 0}});
  };
  const Clip yes = Clip::kYes, no = Clip::kNo;
  add(64, 96, Blocked(32, yes), Blocked(48, yes), 1, 1);  // whole
  add(50, 93, Blocked(32, yes), Blocked(48, yes), 1, 1);  // clipped
  add(50, 93, Blocked(32, no), Blocked(48, no), 1, 1);    // padded
  add(50, 93, Blocked(32, no), Blocked(48, yes), 1, 0);   // padded in one dimension
  add(5, 3, Blocked(5, yes), Blocked(3, yes), 0, 0);      // less than a group or a panel
  add(300, 290, Blocked(300, yes), Blocked(290, yes), 0, 0);
  add(9, 70, Element(13, 2, 3), Element(75, 4, 4), 0, 1);  // halos
  add(40, 300, Bounded(24, yes), Bounded(280, yes), Ds(3, 17), Ds(11, 261));
  // One column, whose elements are neighbours: whole, and padded.
  const auto column = [&](int64_t a, BlockDim dim, int64_t i) {
    cases.push_back({{2, 3, a, 1}, {Squeezed(), Squeezed(), dim, Blocked(1, yes)}, {1, 2, i, 0}});
  };
  column(301, Blocked(301, yes), 0);
  column(90, Blocked(32, no), 2);
  return cases;
}

/// The element of a block, or 0 where groups are filled up.
template <typename T>
T Expected(const Tensor<const T>& array, const Box<4>& box, T pad, size_t i, size_t j) {
  const auto dims = box.ViewDims<2>();
  std::array<int64_t, 4> at = box.start;
  bool inside = true;
  for (int v = 0; v < 2; ++v) {
    const int d = dims[v];
    const auto in_block = static_cast<int64_t>(v == 0 ? i : j);
    if (in_block >= (box.clipped[d] ? box.high[d] : box.size[d])) return T{};
    inside = inside && box.low[d] <= in_block && in_block < box.high[d];
    at[d] += in_block;
  }
  return inside ? *array.template At<4>(at) : pad;
}

template <typename T>
bool Same(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace kiln::panels_test
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::panels_test {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT

/// Element `part` of a group of B, without the flip and as it was before it was widened.
template <class D, typename T>
T PartOf(typename D::KGroup group, size_t part, bool flipped) {
  if constexpr (kWidensPairs<D, T>) {
    int16_t wide;
    std::memcpy(&wide, reinterpret_cast<const char*>(&group) + part * sizeof(wide), sizeof(wide));
    const T element = static_cast<T>(wide);
    return element == wide ? element : static_cast<T>(element + 1);
  }
  if constexpr (!kIsPlain<D, T>) part = 1;  // the upper half of an f32
  if constexpr (D::kFlip != 0) {
    if (flipped) group ^= static_cast<typename D::KGroup>(FlipOf<D>());
  }
  T element;
  std::memcpy(static_cast<void*>(&element),
              reinterpret_cast<const char*>(&group) + part * sizeof(T), sizeof(T));
  return element;
}

/// A k-group of a row of a packed A.
template <class View>
auto KGroupOf(const View& view, size_t row, size_t k) {
  return view.At(row)[k * view.panel_rows];
}

template <typename T, bool kTransposed>
std::string CheckLeft(const Tensor<const T>& array, const Box<4>& box, const Pad<T>& pad) {
  using Format = FormatOfA<T, T, kTransposed>;
  using D = typename Format::Multiply;
  constexpr size_t kPer = D::kKPerGroup;
  const auto buffer = hwy::AllocateAligned<uint8_t>(Format::Bytes(box));
  Format::Copy(array, box, pad, buffer.get());
  const auto view = Format::ViewOf(buffer.get(), box);
  for (size_t r = 0; r < view.rows; ++r) {
    int64_t sum = 0;
    for (size_t k = 0; k < view.depth * kPer; ++k) {
      const auto group = KGroupOf(view, r, k / kPer);
      const size_t i = ElementOf<D>(k / kPer) + k % kPer;
      const T expected = kTransposed ? Expected(array, box, pad.value, i, r)
                                     : Expected(array, box, pad.value, r, i);
      if (!Same(PartOf<D, T>(group, k % kPer, false), expected)) {
        return "left (" + std::to_string(r) + ", " + std::to_string(k) + ")";
      }
      if constexpr (std::is_integral_v<T>) sum += expected;
    }
    if (D::kFlip != 0 && !UsesAmx<D>()) {
      const auto start = static_cast<int64_t>(KGroupOf(view, r, view.depth));
      if (start != (std::is_signed_v<T> ? -128 : 128) * sum) return "start " + std::to_string(r);
    }
  }
  return "";
}

template <typename T, bool kTransposed>
std::string CheckRight(const Tensor<const T>& array, const Box<4>& box, const Pad<T>& pad) {
  using Format = FormatOfB<T, T, kTransposed>;
  using D = typename Format::Multiply;
  using KGroup = typename D::KGroup;
  constexpr size_t kPer = D::kKPerGroup;
  const size_t n = hn::Lanes(hn::ScalableTag<KGroup>());
  const auto buffer = hwy::AllocateAligned<uint8_t>(Format::Bytes(box));
  Format::Copy(array, box, pad, buffer.get());
  const auto view = Format::ViewOf(buffer.get(), box);
  const size_t padded = PaddedCols<KGroup>(view.cols);
  for (size_t c = 0, vectors = 0; c < view.cols; c += vectors * n) {
    vectors = PanelVectors<KGroup>(c, padded);
    TileOperands<D, PanelSteps> tile;
    view.SetColumns(/*r=*/0, c, vectors, /*inside=*/false, &tile);
    for (size_t k = 0; k < view.depth * kPer; ++k) {
      const size_t row = ElementOf<D>(k / kPer) + k % kPer;
      const KGroup* const groups = tile.b + static_cast<ptrdiff_t>(k / kPer) * tile.b_to_k;
      for (size_t i = 0; i < vectors * n && c + i < view.cols; ++i) {
        const T expected = kTransposed ? Expected(array, box, pad.value, c + i, row)
                                       : Expected(array, box, pad.value, row, c + i);
        if (!Same(PartOf<D, T>(groups[i], k % kPer, true), expected)) {
          return "right (" + std::to_string(k) + ", " + std::to_string(c + i) + ")";
        }
      }
    }
  }
  return "";
}

template <typename T>
std::string CheckType(const char* name) {
  size_t number = 0;
  for (const Case& each : Cases()) {
    const Tensor<const T> shape(nullptr, 4, each.shape.data());
    // Exactly as long as needed, so that a sanitizer sees reads past the end.
    std::vector<T> elements(static_cast<size_t>(shape.stride[0] * shape.shape[0]));
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = MakeElement<T>(i);
    const Tensor<const T> array(elements.data(), 4, each.shape.data());
    const Box<4> box = Blocks<4>{each.shape, each.dims}.BoxAt(each.index);
    const Pad<T> pad(MakeElement<T>(5));
    // Groups past a clipped k are zeros whatever the pad is.
    for (const std::string& error :
         {CheckLeft<T, false>(array, box, pad), CheckLeft<T, true>(array, box, pad),
          CheckRight<T, false>(array, box, pad), CheckRight<T, true>(array, box, pad)}) {
      if (!error.empty()) {
        return std::string(hwy::TargetName(HWY_TARGET)) + ", " + name + ", case " +
               std::to_string(number) + ": " + error;
      }
    }
    ++number;
  }
  return "";
}

std::string CheckLayouts() {
  for (const std::string& error :
       {CheckType<float>("f32"), CheckType<bf16>("bf16"), CheckType<int8_t>("i8"),
        CheckType<uint8_t>("u8"), CheckType<int32_t>("i32"), CheckType<double>("f64")}) {
    if (!error.empty()) return error;
  }
  return "";
}

/// f16 becomes f32 as it is packed, and an f32 tile bf16.
std::string CheckConversions() {
  const f16 halves[] = {FromBits<f16>(0x3C00), FromBits<f16>(0xC000), FromBits<f16>(0x3800),
                        FromBits<f16>(0x4200)};  // 1 -2 0.5 3
  const Tensor<const f16> array(halves, {2, 2});
  const Box<2> box = Blocks<2>{{2, 2}, {All(2), All(2)}}.BoxAt({0, 0});
  const auto left = hwy::AllocateAligned<uint8_t>(PackedA<f16>::Bytes(box));
  PackedA<f16>::Copy(array, box, Pad<f16>(NoPad()), left.get());
  const auto a = PackedA<f16>::ViewOf(left.get(), box);
  if (a.At(0)[0] != 1 || a.At(0)[4] != -2 || a.At(1)[0] != 0.5f || a.At(1)[4] != 3) return "f16";

  const float floats[] = {1.00390625f, 1.01171875f, -1.00390625f, 3};  // two ties
  const Tile<const float, 2> tile{floats, {2, 1}, {0, 0}, {2, 2}, {0, 0}};
  using D = Dot<bf16>;
  const auto right = hwy::AllocateAligned<uint8_t>(PackedB<bf16>::Bytes(2, 2));
  const auto* const groups = PackB<bf16>(tile, 2, 2, right.get()).groups;
  const auto is = [&](size_t k, size_t c, uint16_t bits) {
    const auto group = groups[ElementOf<D>(k / D::kKPerGroup) * PaddedCols<D::KGroup>(2) + c];
    return PartOf<D, bf16>(group, k % D::kKPerGroup, true).bits == bits;
  };
  const bool same = is(0, 0, 0x3F80) && is(0, 1, 0x3F82) && is(1, 0, 0xBF80) && is(1, 1, 0x4040);
  return same ? "" : "bf16";
}

/// A block of A[:, first..] in an array of 6 rows, unpacked if it may be, against its panels.
template <typename T>
std::string CheckRows(size_t first, size_t depth, size_t stride, size_t shift, bool unpacked) {
  using Format = UnpackedA<T>;
  using D = typename Format::D;
  std::vector<T> elements(6 * stride + shift + 8);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = MakeElement<T>(i);
  const auto columns = static_cast<int64_t>(depth), step = static_cast<int64_t>(stride);
  const Tensor<const T> array(elements.data() + shift, {6, static_cast<int64_t>(first) + columns},
                              {step, 1});
  const Blocks<2> blocks{array.template extents<2>(), {All(6), Element(columns, 0, 0)}};
  const Box<2> box = blocks.BoxAt({0, static_cast<int64_t>(first)});
  const std::string name = std::to_string(first) + " " + std::to_string(depth) + " " +
                           std::to_string(stride) + " " + std::to_string(shift);
  unpacked = unpacked && kIsPlain<D, T> && (D::kFlip == 0 || UsesAmx<D>());
  if (Format::IsInPlace(array, box) != unpacked)
    return name + (unpacked ? ": packed" : ": in place");
  if (!unpacked) return "";
  const auto buffer = hwy::AllocateAligned<uint8_t>(Format::Bytes(box));
  Format::Copy(array, box, Pad<T>(NoPad()), buffer.get());
  const auto packed = Format::ViewOf(buffer.get(), box),
             rows = Format::InPlaceFor(kTypicalCpu, kUnknownRows, array, box);
  if (rows.rows != packed.rows || PackedKGroupsOf<D>(depth) != packed.depth)
    return name + ": extents";
  for (size_t r = 0; r < 6; ++r) {
    for (size_t k = 0; k < rows.depth; ++k) {
      if (rows.At(r)[k] != KGroupOf(packed, r, k)) return name + ": groups";
    }
  }
  return "";
}

std::string CheckUnpackedA() {
  const bool any = Dot<bf16>::kKPerGroup == 1;  // of odd extents and addresses
  for (const std::string& error :
       {CheckRows<float>(0, 7, 7, 0, true), CheckRows<float>(3, 7, 13, 1, true),
        CheckRows<float>(0, 7, 15, 0, false), CheckRows<float>(1, 513, 5000, 0, true),
        CheckRows<double>(0, 5, 10, 0, true), CheckRows<int32_t>(1, 5, 6, 0, true),
        CheckRows<bf16>(0, 8, 8, 0, true), CheckRows<bf16>(2, 8, 10, 2, true),
        CheckRows<bf16>(0, 7, 8, 0, any), CheckRows<bf16>(1, 8, 10, 0, any),
        CheckRows<bf16>(0, 8, 9, 0, any), CheckRows<bf16>(0, 8, 8, 1, any),
        CheckRows<bf16>(1, 8, 10, 1, true), CheckRows<bf16>(0, 1022, 5000, 0, false),
        CheckRows<bf16>(0, 1024, 5000, 0, true)}) {
    if (!error.empty()) return error;
  }
  return "";
}

/// Each element of a block has one accumulator, and no vector of a tile ends past the last.
std::string CheckAccumulators() {
  const size_t n = hn::Lanes(hn::ScalableTag<float>());
  for (const size_t rows : {1, 7, 8, 21}) {
    for (const size_t cols : {size_t{1}, n, n + 1, 2 * n, 3 * n - 1, 4 * n, 5 * n, 7 * n - 1}) {
      std::vector<float> sums(AccumulatorSize(rows, cols));
      bool inside = true;
      ForTiles<Dot<float>>(n, rows, cols, /*row_bytes=*/4, /*pass_bytes=*/512 << 10,
                           [&](size_t tile_rows, size_t vectors, size_t r, size_t c) {
                             for (size_t i = r; i < r + tile_rows; ++i) {
                               for (size_t v = 0; v < vectors; ++v) {
                                 float* const sum = AccumulatorAt(sums.data(), rows, i, c + v * n);
                                 inside = inside && sum + n <= sums.data() + sums.size();
                                 for (size_t lane = 0;
                                      inside && lane < n && c + v * n + lane < cols; ++lane)
                                   ++sum[lane];
                               }
                             }
                           });
      const auto visited = std::count(sums.begin(), sums.end(), 1.0f);
      const auto unused = std::count(sums.begin(), sums.end(), 0.0f);
      if (!inside || visited != static_cast<ptrdiff_t>(rows * cols) ||
          visited + unused != static_cast<ptrdiff_t>(sums.size()))
        return "sums of " + std::to_string(rows) + " by " + std::to_string(cols);
    }
  }
  return "";
}

/// Ranges of rows and of depth, of which low and high may be anywhere.
std::string CheckRanges() {
  const size_t panel = kPanelRows;
  const auto is = [](RowRange range, size_t begin, size_t end) {
    return range.begin == begin && range.end == end;
  };
  if (!is(Within(3, 5, 8), 3, 5) || !is(Within(-2, 50, 8), 0, 8)) return "Within";
  if (!is(Within(6, 2, 8), 2, 2) || !is(Within(9, 12, 8), 8, 8) || !is(Within(-9, -3, 8), 0, 0))
    return "Within of nothing";
  // Whole panels around the range, but no rows that the block does not have.
  if (!is(LiveRows(3 * panel + 1, 5 * panel - 1, 99), 3 * panel, 5 * panel)) return "LiveRows";
  if (!is(LiveRows(0, 1, 99), 0, panel) || !is(LiveRows(98, 200, 99), 98 / panel * panel, 99))
    return "LiveRows at an edge";
  return "";
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::panels_test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tests/catch.h"
#include "tests/runtime/dot/each_target.h"

namespace kiln::panels_test {
HWY_EXPORT(CheckLayouts);
HWY_EXPORT(CheckConversions);
HWY_EXPORT(CheckRanges);
HWY_EXPORT(CheckAccumulators);
HWY_EXPORT(CheckUnpackedA);

TEST_CASE("packed operands, group by group, on all targets, with AMX and without it") {
  dot_test::ForEachTargetAndAmx([&] {
    CHECK(KILN_DISPATCH(CheckLayouts)() == "");
    CHECK(KILN_DISPATCH(CheckConversions)() == "");
    CHECK(KILN_DISPATCH(CheckRanges)() == "");
    CHECK(KILN_DISPATCH(CheckAccumulators)() == "");
    CHECK(KILN_DISPATCH(CheckUnpackedA)() == "");
  });
}

}  // namespace kiln::panels_test
#endif
