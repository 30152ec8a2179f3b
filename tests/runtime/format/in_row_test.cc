// Blocks of which neighbouring dimensions are one to a body, the last one among them: read and
// written in place where one stride goes through all their elements, and from copies elsewhere.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/direct/direct.h"
#include "kiln/emulate/emulated.h"
#include "kiln/format/joined.h"
#include "tests/runtime/runtime_testing.h"

namespace kiln::in_row_test {

/// Arrays [2, h, w, c] of floats, with gaps after each pixel and each row of them, of which a block
/// has some rows of the second.
struct Case {
  int64_t h, w, c;
  int64_t after_pixel, after_row;
  BlockDim rows;
  int64_t index;

  std::vector<float> Memory() const {
    return std::vector<float>(static_cast<size_t>(2 * h * Row()), -2.0f);
  }
  int64_t Row() const { return w * (c + after_pixel) + after_row; }
  Tensor<float> Of(std::vector<float>& memory) const {
    Tensor<float> array;
    array.data = memory.data();
    array.rank = 4;
    array.shape = {2, h, w, c};
    array.stride = {h * Row(), Row(), c + after_pixel, 1};
    return array;
  }
};

std::vector<Case> Cases() {
  const BlockDim four = Blocked(4), clipped = Clipped(4), halo = Element(6, 1, 1);
  return {
      {8, 5, 7, 0, 0, four, 1},    {8, 5, 7, 0, 3, four, 0},    {8, 5, 7, 2, 0, four, 1},
      {6, 5, 7, 0, 0, four, 1},    {6, 5, 7, 1, 0, four, 1},    {6, 5, 7, 0, 0, clipped, 1},
      {6, 5, 7, 0, 2, clipped, 1}, {9, 3, 16, 0, 0, halo, 0},   {9, 3, 16, 0, 5, halo, 4},
      {9, 1, 3, 4, 0, halo, 8},    {8, 4, 1, 3, 0, clipped, 1}, {8, 1, 1, 2, 5, four, 1},
      {3, 40, 9, 0, 0, All(3), 0}, {3, 40, 9, 0, 1, All(3), 0},
  };
}

/// What a body sees: pixels of a row as one dimension, or all elements.
template <int V>
struct Seen;
template <>
struct Seen<2> {
  using Format = Joined<Rows<float, 2>, 3>;
  static std::array<BlockDim, 4> Dims(const Case& c) {
    return {Squeezed(), c.rows, All(c.w), InRow(All(c.c))};
  }
  static float* At(const Tile<float, 2>& tile, const Case& c, int64_t h, int64_t k) {
    return tile.At(Unsigned(h), Unsigned(k % (c.w * c.c)));
  }
};
template <>
struct Seen<1> {
  using Format = Joined<Rows<float, 1>, 2, 3>;
  static std::array<BlockDim, 4> Dims(const Case& c) {
    return {Squeezed(), c.rows, InRow(All(c.w)), InRow(All(c.c))};
  }
  static float* At(const Tile<float, 1>& tile, const Case& c, int64_t h, int64_t k) {
    return tile.At(Unsigned(h * c.w * c.c + k));
  }
};

template <int V>
Tile<float, V> Writable(const Tile<const float, V>& tile) {
  return {
      const_cast<float*>(tile.data), tile.stride, tile.low, tile.high, tile.origin, tile.stream};
}

/// Reads a block of x, checks its elements and its pads, and writes it to the same one of y.
template <class Tiers, int V>
void CopyBlock(const Case& c, const Tensor<float>& x, const Tensor<float>& y) {
  using View = Seen<V>;
  const auto dims = View::Dims(c);
  const Index<4> index = {1, c.index, 0, 0};
  LoneCore lone(std::is_same_v<Tiers, Emulated> ? EmulatedOptions() : Options());
  typename Tiers::template In<typename View::Format, 4> in(lone.core, {"x", 0, 0}, x, dims,
                                                           Pad<float>(-1));
  typename Tiers::template Out<typename View::Format, 4> out(lone.core, {"y", 1, 0}, y, dims);
  in.CopyIn(index);
  const auto from = Writable(in.WaitIn(index));
  const auto to = out.Open(index, 0);
  REQUIRE(lone.message() == "");
  const Box<4> box = Blocks<4>{{2, c.h, c.w, c.c}, dims}.BoxAt(index);
  const int64_t first = box.clipped[1] ? box.low[1] : 0;
  const int64_t end = box.clipped[1] ? box.high[1] : box.size[1];
  for (int64_t h = first; h < end; ++h) {
    const bool inside = box.low[1] <= h && h < box.high[1];
    for (int64_t k = 0; k < c.w * c.c; ++k) {
      const float* const element = View::At(from, c, h, k);
      const Index<4> at = {1, box.start[1] + h, k / c.c, k % c.c};
      CHECK(*element == (inside ? *x.At<4>(at) : -1.0f));
      *View::At(to, c, h, k) = *element;
    }
  }
  out.CopyOut();
  out.WaitOut();
  CHECK(lone.message() == "");
}

template <int V>
void CheckCopies(const Case& c) {
  for (const bool emulated : {false, true}) {
    CAPTURE(V, emulated);
    std::vector<float> read = c.Memory(), written = c.Memory(), wanted = c.Memory();
    const Tensor<float> x = c.Of(read);
    float number = 0;
    ForEachIndex<4>({2, c.h, c.w, c.c}, [&](const Index<4>& at) { *x.At<4>(at) = ++number; });
    const Box<4> box = Blocks<4>{{2, c.h, c.w, c.c}, Seen<V>::Dims(c)}.BoxAt({1, c.index, 0, 0});
    ForEachIndex<4>({1, box.high[1] - box.low[1], c.w, c.c}, [&](Index<4> at) {
      at[0] = 1, at[1] += box.start[1] + box.low[1];
      *c.Of(wanted).At<4>(at) = *x.At<4>(at);
    });
    emulated ? CopyBlock<Emulated, V>(c, x, c.Of(written))
             : CopyBlock<Direct, V>(c, x, c.Of(written));
    CHECK(written == wanted);  // gaps are not touched
  }
}

TEST_CASE("Rows that go through several dimensions of an array are read and written") {
  int number = 0;
  for (const Case& c : Cases()) {
    CAPTURE(number++);
    CheckCopies<1>(c);
    CheckCopies<2>(c);
  }
}

TEST_CASE("An array of which one stride finds all elements of a row takes no memory") {
  for (const Case& c : Cases()) {
    std::vector<float> memory = c.Memory();
    const Tensor<float> x = c.Of(memory);
    const Box<4> box = Blocks<4>{{2, c.h, c.w, c.c}, Seen<2>::Dims(c)}.BoxAt({1, c.index, 0, 0});
    const bool is_row = c.w == 1 || c.after_pixel == 0;
    const bool whole = box.clipped[1] || box.IsWhole(1);
    CHECK(Seen<2>::Format::IsInPlace(x, box) == (is_row && whole));
    const bool is_block = is_row && c.Row() == c.w * c.c;
    const Box<4> all = Blocks<4>{{2, c.h, c.w, c.c}, Seen<1>::Dims(c)}.BoxAt({1, c.index, 0, 0});
    CHECK(Seen<1>::Format::IsInPlace(x, all) == (is_block && whole));
  }
}

}  // namespace kiln::in_row_test
