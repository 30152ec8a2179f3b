// Images whose pixels a body sees as rows of a matrix: read and written in place where one stride
// goes from pixel to pixel, and from copies elsewhere.

#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/format/joined_test.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
// Once per target.
#include "hwy/aligned_allocator.h"
#include "kiln/dot/panels-inl.h"
#include "kiln/format/joined.h"

#ifndef KILN_TESTS_JOINED_TEST_ONCE
#define KILN_TESTS_JOINED_TEST_ONCE
namespace kiln::joined_test {

/// Some images, [images, h, w, c], with gaps after each pixel, row and image, and a block of one.
struct Case {
  Index<4> shape;
  int64_t after_pixel, after_row, after_image;
  BlockDim rows;
  Index<4> index;
  bool is_matrix;  // one stride goes from pixel to pixel

  std::array<BlockDim, 4> dims() const { return {Squeezed(), rows, All(shape[2]), All(shape[3])}; }
};

inline std::vector<Case> Cases() {
  const BlockDim four = Blocked(4), clipped = Clipped(4), halo = Element(6, 1, 1);
  return {
      {{2, 8, 5, 12}, 0, 0, 0, four, {1, 1, 0, 0}, true},
      {{2, 8, 5, 12}, 0, 0, 7, four, {1, 0, 0, 0}, true},
      {{2, 8, 5, 12}, 4, 0, 0, four, {1, 1, 0, 0}, true},
      {{2, 8, 5, 12}, 0, 2, 0, four, {1, 1, 0, 0}, false},
      {{2, 6, 5, 12}, 0, 2, 0, four, {0, 1, 0, 0}, false},
      {{2, 6, 5, 12}, 2, 4, 0, clipped, {0, 1, 0, 0}, false},
      {{2, 6, 5, 12}, 2, 0, 0, clipped, {0, 1, 0, 0}, true},
      {{2, 9, 5, 12}, 0, 0, 0, halo, {1, 0, 0, 0}, true},
      {{2, 9, 5, 12}, 0, 6, 0, halo, {1, 4, 0, 0}, false},
      {{2, 8, 1, 12}, 4, 6, 0, four, {1, 1, 0, 0}, true},
      {{2, 1, 5, 12}, 4, 20, 0, clipped, {1, 0, 0, 0}, true},
  };
}

/// An array that counts its elements, or all pixels of an image as one dimension of it.
template <typename T>
struct Images {
  std::vector<T> memory;
  Tensor<T> array, matrices;

  explicit Images(const Case& c, bool gaps = true) {
    array.rank = 4;
    for (int d = 0; d < 4; ++d) array.shape[d] = c.shape[d];
    array.stride[3] = 1;
    array.stride[2] = c.shape[3] + (gaps ? c.after_pixel : 0);
    array.stride[1] = c.shape[2] * array.stride[2] + (gaps ? c.after_row : 0);
    array.stride[0] = c.shape[1] * array.stride[1] + (gaps ? c.after_image : 0);
    memory.assign(static_cast<size_t>(c.shape[0] * array.stride[0]), T{});
    array.data = memory.data();
    int64_t number = 0;
    ForEach([&](T& element) { element = static_cast<T>(static_cast<float>(++number % 100)); });
    matrices = Tensor<T>(array.data, {c.shape[0], c.shape[1] * c.shape[2], c.shape[3]});
  }
  template <class Fn>
  void ForEach(const Fn& fn) {
    const auto& s = array.shape;
    for (Index<4> at{}; at[0] < s[0]; ++at[0]) {
      for (at[1] = 0; at[1] < s[1]; ++at[1]) {
        for (at[2] = 0; at[2] < s[2]; ++at[2]) {
          for (at[3] = 0; at[3] < s[3]; ++at[3]) fn(*array.template At<4>(at));
        }
      }
    }
  }
};

/// The block where pixels are one dimension.
inline Box<3> Matrix(const Case& c, const Box<4>& box) {
  const int64_t w = c.shape[2];
  return {{{1, box.size[1] * w, box.size[3]}, {true, false, false}},
          {box.start[0], box.start[1] * w, 0},
          {0, box.low[1] * w, 0},
          {1, box.high[1] * w, box.high[3]},
          {true, box.clipped[1], true}};
}

}  // namespace kiln::joined_test
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::joined_test {
namespace HWY_NAMESPACE {
using namespace kiln::HWY_NAMESPACE;  // NOLINT

/// Whether a block is packed as one of an array of matrices without gaps.
template <class Format>
bool PacksTheSame(const Case& c) {
  using T = typename Format::Element;
  using AsMatrix = Joined<Format, 2>;
  Images<T> with_gaps(c), without(c, /*gaps=*/false);
  const Tensor<const T> array = with_gaps.array, matrices = without.matrices;
  const Box<4> box = Blocks<4>{c.shape, c.dims()}.BoxAt(c.index);
  const Box<3> matrix = Matrix(c, box);
  const Pad<T> pad(static_cast<T>(7.0f));
  const auto pack = [](size_t bytes, const auto& copy) {
    auto buffer = hwy::AllocateAligned<uint8_t>(bytes);
    std::memset(buffer.get(), 0, bytes);
    copy(buffer.get());
    return buffer;
  };
  const size_t bytes = Format::Bytes(static_cast<const Shape<3>&>(matrix));
  const size_t room = AsMatrix::Bytes(array, static_cast<const Shape<4>&>(box));
  if (c.is_matrix != (room == bytes)) return false;
  const auto seen = pack(room, [&](void* to) { AsMatrix::Copy(array, box, pad, to); });
  const auto wanted = pack(bytes, [&](void* to) { Format::Copy(matrices, matrix, pad, to); });
  const auto view = AsMatrix::ViewOf(seen.get(), box);
  const auto expected = Format::ViewOf(wanted.get(), matrix);
  return std::memcmp(seen.get(), wanted.get(), bytes) == 0 && view.depth == expected.depth;
}

std::string CheckPacked() {
  int number = 0;
  for (const Case& c : Cases()) {
    const bool same = PacksTheSame<PackedA<float>>(c) && PacksTheSame<PackedAT<bf16>>(c) &&
                      PacksTheSame<PackedB<float>>(c) && PacksTheSame<PackedB<bf16>>(c);
    if (!same) return "case " + std::to_string(number);
    ++number;
  }
  return "";
}

/// A left operand stays where it is if pixels are rows of a matrix, and is the same there.
std::string CheckUnpacked() {
  int number = 0;
  for (const Case& c : Cases()) {
    using Format = Joined<UnpackedA<float>, 2>;
    Images<float> images(c);
    const Tensor<const float> array = images.array;
    const Box<4> box = Blocks<4>{c.shape, c.dims()}.BoxAt(c.index);
    const bool whole = box.clipped[1] || box.IsWhole(1);
    const std::string name = "case " + std::to_string(number++);
    if (Format::IsInPlace(array, box) != (c.is_matrix && whole)) return name + ": place";
    if (!Format::IsInPlace(array, box)) continue;
    const auto view = Format::InPlaceFor(kTypicalCpu, kUnknownRows, array, box);
    for (int64_t h = 0; h < box.high[1]; ++h) {
      for (int64_t w = 0; w < c.shape[2]; ++w) {
        const float* const pixel = array.At<4>({box.start[0], box.start[1] + h, w, 0});
        if (view.At(static_cast<size_t>(h * c.shape[2] + w)) != pixel) return name + ": pixel";
      }
    }
  }
  return "";
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::joined_test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kiln/direct/direct.h"
#include "kiln/emulate/emulated.h"
#include "tests/runtime/dot/each_target.h"
#include "tests/runtime/runtime_testing.h"

namespace kiln::joined_test {
HWY_EXPORT(CheckPacked);
HWY_EXPORT(CheckUnpacked);

TEST_CASE("images as matrices are packed alike, whatever their strides, on all targets") {
  dot_test::ForEachTarget([&] {
    CHECK(KILN_DISPATCH(CheckPacked)() == "");
    CHECK(KILN_DISPATCH(CheckUnpacked)() == "");
  });
}

using Pixels = Joined<Rows<float, 2>, 2>;

/// Reads a block of x and writes it to the same one of y, pixel by pixel.
template <class Tiers>
void CopyPixels(const Case& c, const Images<float>& x, Images<float>& y) {
  LoneCore lone(std::is_same_v<Tiers, Emulated> ? EmulatedOptions() : Options());
  typename Tiers::template In<Pixels, 4> in(lone.core, {"x", 0, 0}, x.array, c.dims(),
                                            Pad<float>(-1));
  typename Tiers::template Out<Pixels, 4> out(lone.core, {"y", 1, 0}, y.array, c.dims());
  const Box<4> box = Blocks<4>{c.shape, c.dims()}.BoxAt(c.index);
  in.CopyIn(c.index);
  const auto from = in.WaitIn(c.index);
  const auto to = out.Open(c.index, 0);
  const auto w = static_cast<size_t>(c.shape[2]);
  REQUIRE(lone.message() == "");
  CHECK(from.low[0] == static_cast<size_t>(box.low[1]) * w);
  CHECK(from.high[0] == static_cast<size_t>(box.high[1]) * w);
  const size_t rows = box.clipped[1] ? from.high[0] : static_cast<size_t>(box.size[1]) * w;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t k = 0; k < from.high[1]; ++k) {
      const bool inside = from.low[0] <= r && r < from.high[0];
      if (!inside) CHECK(*from.At(r, k) == -1);
      *to.At(r, k) = *from.At(r, k);
    }
  }
  out.CopyOut();
  out.WaitOut();
  CHECK(lone.message() == "");
}

TEST_CASE("rows of images are read and written as those of matrices") {
  int number = 0;
  for (const Case& c : Cases()) {
    CAPTURE(number++);
    for (const bool emulated : {false, true}) {
      Images<float> x(c), y(c), wanted(c);
      for (Images<float>* images : {&y, &wanted}) {
        for (float& element : images->memory) element = -2;
      }
      const Box<4> box = Blocks<4>{c.shape, c.dims()}.BoxAt(c.index);
      ForEachIndex<4>({1, box.high[1] - box.low[1], c.shape[2], c.shape[3]}, [&](Index<4> at) {
        for (int d = 0; d < 4; ++d) at[d] += box.start[d] + box.low[d];
        *wanted.array.At<4>(at) = *x.array.At<4>(at);
      });
      emulated ? CopyPixels<Emulated>(c, x, y) : CopyPixels<Direct>(c, x, y);
      CHECK(y.memory == wanted.memory);  // gaps are not touched
    }
  }
}

TEST_CASE("an array of which one stride finds all pixels takes no memory") {
  for (const Case& c : Cases()) {
    const Images<float> images(c);
    LoneCore lone;
    Direct::In<Pixels, 4> in(lone.core, {"x", 0, 0}, images.array, c.dims(), NoPad());
    const Box<4> box = Blocks<4>{c.shape, c.dims()}.BoxAt(c.index);
    const bool in_place = c.is_matrix && (box.clipped[1] || box.IsWhole(1));
    CHECK((in.WaitIn(c.index).data == images.array.At<4>(box.start)) == in_place);
  }
}

}  // namespace kiln::joined_test
#endif
