// Both tiers against a copy, element by element, of blocks of every kind.
#include <string>

#include "kiln/direct/direct.h"
#include "kiln/emulate/emulated.h"
#include "tests/runtime/runtime_testing.h"

namespace kiln {
namespace {

template <int R, int V>
Index<R> ArrayIndex(const Box<R>& box, const Index<V>& in_view) {
  Index<R> at = box.start;
  const auto dims = box.template ViewDims<V>();
  for (int v = 0; v < V; ++v) at[dims[v]] += in_view[v];
  return at;
}

template <typename T, int V>
T* ElementOf(const Tile<T, V>& tile, const Index<V>& at) {
  return std::apply([&](auto... i) { return tile.At(i...); }, at);
}

template <int V, int R>
Index<V> ViewExtents(const Box<R>& box) {
  Index<V> extents{};
  const auto dims = box.template ViewDims<V>();
  for (int v = 0; v < V; ++v) extents[v] = box.size[dims[v]];
  return extents;
}

/// Compares a view with what the block has to be.
template <typename T, int V, int R>
void CheckView(const Tile<const T, V>& view, const Tensor<T>& array, const Box<R>& box, T pad,
               bool has_pad) {
  const auto dims = box.template ViewDims<V>();
  for (int v = 0; v < V; ++v) {
    CHECK(view.low[v] == static_cast<size_t>(box.low[dims[v]]));
    CHECK(view.high[v] == static_cast<size_t>(box.high[dims[v]]));
    CHECK(view.origin[v] == box.start[dims[v]]);
  }
  int wrong = 0;
  ForEachIndex<V>(ViewExtents<V>(box), [&](const Index<V>& at) {
    bool inside = true, looked_at = true;
    for (int v = 0; v < V; ++v) {
      const bool in = at[v] >= box.low[dims[v]] && at[v] < box.high[dims[v]];
      inside = inside && in;
      looked_at = looked_at && (in || !box.clipped[dims[v]]);
    }
    if (!looked_at || (!inside && !has_pad)) return;
    const T expected = inside ? *array.template At<R>(ArrayIndex<R, V>(box, at)) : pad;
    wrong += *ElementOf(view, at) != expected;
  });
  CHECK(wrong == 0);
}

template <int R>
Index<R> CountsOf(const Blocks<R>& blocks) {
  Index<R> counts{};
  for (int d = 0; d < R; ++d) counts[d] = blocks.Count(d);
  return counts;
}

/// Brings every block in, one ahead, and compares it.
template <class Tiers, class Format, int R, int V>
void ReadAll(const Index<R>& extents, const std::array<BlockDim, R>& dims, bool has_pad,
             const Options& options = {}) {
  using T = typename Format::Element;
  const Sample<T, R> sample(extents);
  const Blocks<R> blocks{extents, dims};
  LoneCore lone(options);
  const Pad<T> pad = has_pad ? Pad<T>(T(99)) : Pad<T>(NoPad());
  for (const int buffers : {1, 2, 3}) {
    typename Tiers::template In<Format, R> in(lone.core, {"x", 0, 5}, sample.tensor, dims, pad,
                                              buffers, 4);
    std::vector<Index<R>> order;
    ForEachIndex<R>(CountsOf(blocks), [&](const Index<R>& index) { order.push_back(index); });
    if (!order.empty()) in.CopyIn(order[0]);
    for (size_t i = 0; i < order.size(); ++i) {
      if (i + 1 < order.size()) in.CopyIn(order[i + 1]);
      const auto view = in.WaitIn(order[i]);
      REQUIRE(lone.message() == "");
      CheckView<T, V, R>(view, sample.tensor, blocks.BoxAt(order[i]), T(99), has_pad);
    }
  }
}

template <class Format, int R, int V>
void ReadAllWays(const Index<R>& extents, const std::array<BlockDim, R>& dims) {
  for (const bool has_pad : {false, true}) {
    ReadAll<Direct, Format, R, V>(extents, dims, has_pad);
    ReadAll<Direct, CopiedRows<typename Format::Element, V>, R, V>(extents, dims, has_pad);
    ReadAll<Emulated, Format, R, V>(extents, dims, has_pad, EmulatedOptions());
    Options eager = EmulatedOptions();
    eager.dma = Dma::kEager;
    eager.poison = Poison::kRandom;
    ReadAll<Emulated, Format, R, V>(extents, dims, has_pad, eager);
  }
}

TEST_CASE("Blocks of one dimension are read") {
  ReadAllWays<Rows<float, 1>, 1, 1>({16}, {Blocked(8)});
  ReadAllWays<Rows<float, 1>, 1, 1>({19}, {Blocked(8)});
  ReadAllWays<Rows<int8_t, 1>, 1, 1>({19}, {Blocked(8, Clip::kYes)});
  ReadAllWays<Rows<double, 1>, 1, 1>({0}, {Blocked(8)});
  ReadAllWays<Rows<int64_t, 1>, 1, 1>({7}, {Element(5, 2, 3)});
}

TEST_CASE("Scalars are read") {
  ReadAllWays<Rows<float, 0>, 0, 0>({}, {});
  ReadAllWays<Rows<int32_t, 0>, 1, 0>({5}, {Squeezed()});
  ReadAllWays<Rows<int32_t, 0>, 2, 0>({3, 4}, {Squeezed(), Squeezed()});
}

TEST_CASE("Blocks of two dimensions are read") {
  ReadAllWays<Rows<float, 2>, 2, 2>({9, 21}, {Blocked(4), Blocked(8)});
  ReadAllWays<Rows<float, 2>, 2, 2>({9, 21}, {Blocked(4, Clip::kYes), Blocked(8)});
  ReadAllWays<Rows<float, 2>, 2, 2>({9, 21}, {Blocked(4), Blocked(8, Clip::kYes)});
  ReadAllWays<Rows<int16_t, 2>, 2, 2>({9, 21}, {Blocked(4, Clip::kYes), Blocked(8, Clip::kYes)});
  ReadAllWays<Rows<float, 2>, 2, 2>({9, 21}, {All(9), Blocked(8)});
  ReadAllWays<Rows<float, 2>, 2, 2>({3, 0}, {Blocked(2), All(0)});
}

TEST_CASE("A squeezed dimension anywhere") {
  ReadAllWays<Rows<float, 2>, 3, 2>({2, 5, 9}, {Squeezed(), Blocked(4), Blocked(8)});
  ReadAllWays<Rows<float, 2>, 3, 2>({2, 5, 9}, {Blocked(2), Squeezed(), Blocked(8)});
  ReadAllWays<Rows<float, 2>, 3, 2>({2, 5, 9}, {Blocked(2), Blocked(4), Squeezed()});
  ReadAllWays<Rows<float, 1>, 3, 1>({2, 5, 9}, {Squeezed(), Blocked(3), Squeezed()});
}

TEST_CASE("Halos in three and four dimensions") {
  ReadAllWays<Rows<float, 3>, 3, 3>({4, 6, 7}, {Blocked(2), Element(4, 1, 1), Element(3, 2, 0)});
  ReadAllWays<Rows<int32_t, 3>, 4, 3>({2, 3, 5, 6},
                                      {Squeezed(), Blocked(2), Element(3, 1, 1), Blocked(4)});
}

/// Writes the number of each element in the view of each block, halos excepted, and compares.
template <class Tiers, class Format, int R, int V>
void WriteAll(const Index<R>& extents, const std::array<BlockDim, R>& dims,
              const Options& options = {}) {
  using T = typename Format::Element;
  const Sample<T, R> expected(extents);
  Sample<T, R> sample(extents);
  Fill(sample.tensor, T(77));
  const Blocks<R> blocks{extents, dims};
  for (const int buffers : {1, 2, 3}) {
    LoneCore lone(options);
    typename Tiers::template Out<Format, R> out(lone.core, {"z", 0, 5}, sample.tensor, dims,
                                                NoInit(), buffers);
    ForEachIndex<R>(CountsOf(blocks), [&](const Index<R>& index) {
      const Box<R> box = blocks.BoxAt(index);
      CHECK(out.Leaves(index, 0));
      const Tile<T, V> tile = out.Open(index, 0);
      REQUIRE(lone.message() == "");
      CHECK_FALSE(out.Leaves(index, 0));
      CHECK(out.Leaves(index, 1));
      ForEachIndex<V>(ViewExtents<V>(box), [&](const Index<V>& at) {
        const auto array_at = ArrayIndex<R, V>(box, at);
        bool inside = true, looked_at = true;
        for (int d = 0; d < R; ++d) {
          const bool in = array_at[d] >= 0 && array_at[d] < extents[d];
          inside = inside && in;
          looked_at = looked_at && (in || !box.clipped[d]);
        }
        if (inside)
          *ElementOf<T, V>(tile, at) = *expected.tensor.template At<R>(array_at);
        else if (looked_at)
          *ElementOf<T, V>(tile, at) = T(55);
      });
      CHECK(out.Open(index, 0).data == tile.data);
      out.CopyOut();
    });
    out.WaitOut();
    CHECK(lone.message() == "");
    CHECK(sample.data == expected.data);  // the gaps too
  }
}

template <class Format, int R, int V>
void WriteAllWays(const Index<R>& extents, const std::array<BlockDim, R>& dims) {
  WriteAll<Direct, Format, R, V>(extents, dims);
  WriteAll<Emulated, Format, R, V>(extents, dims, EmulatedOptions());
}

TEST_CASE("Blocks are written, and nothing beside them") {
  WriteAllWays<Rows<float, 1>, 1, 1>({19}, {Blocked(8)});
  WriteAllWays<Rows<float, 1>, 1, 1>({19}, {Blocked(8, Clip::kYes)});
  WriteAllWays<Rows<int8_t, 2>, 2, 2>({9, 21}, {Blocked(4), Blocked(8)});
  WriteAllWays<Rows<int64_t, 2>, 2, 2>({9, 21}, {Blocked(4, Clip::kYes), Blocked(8)});
  WriteAllWays<Rows<float, 2>, 3, 2>({2, 5, 9}, {Squeezed(), Blocked(4), All(9)});
  WriteAllWays<Rows<float, 2>, 3, 2>({2, 5, 9}, {Blocked(2), Blocked(4), Squeezed()});
  WriteAllWays<Rows<float, 0>, 2, 0>({2, 5}, {Squeezed(), Squeezed()});
  WriteAllWays<Rows<double, 0>, 0, 0>({}, {});
}

template <class Tiers>
void CheckInit(const Options& options, Clip clip) {
  Sample<float, 2> sample({5, 6});
  Fill(sample.tensor, 2.0f);  // a call does that first, for what no step visits
  LoneCore lone(options);
  typename Tiers::template Out<Rows<float, 2>, 2> out(
      lone.core, {"z", 0, 5}, sample.tensor, {Blocked(4, clip), All(6)}, Init<float>(2.0f), 2);
  for (const int64_t i : {0, 1}) {
    const auto tile = out.Open({i, 0}, 0);
    for (size_t r = 0; r < tile.high[0]; ++r) CHECK(*tile.At(r, 5) == 2.0f);
    *tile.At(0, 0) = 8.0f;
    CHECK(*out.Open({i, 0}, 0).At(0, 0) == 8.0f);  // the stay goes on
    out.CopyOut();
  }
  out.WaitOut();
  CHECK(lone.message() == "");
  for (int64_t r = 0; r < 5; ++r) {
    CHECK(*sample.tensor.At<2>({r, 0}) == (r % 4 == 0 ? 8.0f : 2.0f));
    CHECK(*sample.tensor.At<2>({r, 5}) == 2.0f);
  }
}

TEST_CASE("A stay begins with init") {
  CheckInit<Direct>({}, Clip::kYes);
  CheckInit<Direct>({}, Clip::kNo);
  CheckInit<Emulated>(EmulatedOptions(), Clip::kYes);
}

template <class Tiers>
std::string RangeMessage(const Options& options) {
  const Sample<float, 2> sample({10, 6});
  LoneCore lone(options);
  typename Tiers::template In<Rows<float, 2>, 2> in(lone.core, {"x", 0, 16}, sample.tensor,
                                                    {Blocked(4), All(6)}, NoPad(), 2, 1);
  in.CopyIn({3, 0});
  in.WaitIn({3, 0});
  CHECK(lone.core.status().code == kIndexRange);
  return lone.message();
}

TEST_CASE("A block that the array does not have is a diagnostic") {
  const std::string expected =
      "kernel: [index-range] block (3, 0) of x (line 16) is out of range on core 0: dimension 0 "
      "has "
      "3 blocks of 4 (10 elements)";
  CHECK(RangeMessage<Direct>({}) == expected);
  CHECK(RangeMessage<Emulated>(EmulatedOptions()) == expected);
}

}  // namespace
}  // namespace kiln
