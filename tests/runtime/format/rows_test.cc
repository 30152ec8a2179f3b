// Blocks of rows that a copy brings into VMEM, element by element: inside of the array those of the
// array, outside the pad.
#include "kiln/format/rows.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/catch.h"

namespace kiln::rows_test {
namespace {

/// An array of rank 3 with `room` unused elements after each row, and a block of it.
struct Case {
  std::array<int64_t, 3> shape;
  int64_t room;
  std::array<BlockDim, 3> dims;
  Index<3> index;
};

/// What is inside of the array comes back to where it was, and nothing else is written.
template <typename T>
std::string CheckBack(const Case& c, const Box<3>& box, const Tensor<const T>& array,
                      const T* block) {
  const auto count = static_cast<size_t>(c.shape[0] * array.stride[0]);
  std::vector<T> memory(count, T{99});
  Tensor<T> to;
  to.data = memory.data();
  to.rank = 3;
  to.shape = array.shape;
  to.stride = array.stride;
  internal::CopyRowsBack(to, box, block);
  std::vector<T> want(count, T{99});
  for (int64_t i = box.low[0]; i < box.high[0]; ++i) {
    for (int64_t j = box.low[1]; j < box.high[1]; ++j) {
      for (int64_t k = box.low[2]; k < box.high[2]; ++k) {
        const auto at =
            static_cast<size_t>((box.start[0] + i) * array.stride[0] +
                                (box.start[1] + j) * array.stride[1] + box.start[2] + k);
        want[at] = array.data[at];
      }
    }
  }
  return memory == want ? "" : "back";
}

template <typename T, int V>
std::string Check(const Case& c) {
  const int64_t to_row = c.shape[2] + c.room;
  std::vector<T> memory(static_cast<size_t>(c.shape[0] * c.shape[1] * to_row));
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<T>(i % 101 + 1);
  Tensor<const T> array;
  array.data = memory.data();
  array.rank = 3;
  for (int d = 0; d < 3; ++d) array.shape[d] = c.shape[d];
  array.stride[0] = c.shape[1] * to_row, array.stride[1] = to_row, array.stride[2] = 1;
  const Blocks<3> blocks{c.shape, c.dims};
  const Box<3> box = blocks.BoxAt(c.index);
  using Format = Rows<T, V>;
  std::vector<T> block(Format::Bytes(blocks.shape()) / sizeof(T), T{0});
  Format::Copy(array, box, Pad<T>(T{113}), block.data());
  const auto view = Format::ViewOf(block.data(), box);
  if (const std::string wrong = CheckBack(c, box, array, block.data()); !wrong.empty())
    return wrong;
  const auto dims = box.template ViewDims<V>();
  for (int64_t i = 0; i < box.size[0]; ++i) {
    for (int64_t j = 0; j < box.size[1]; ++j) {
      for (int64_t k = 0; k < box.size[2]; ++k) {
        const std::array<int64_t, 3> at{i, j, k};
        bool inside = true;
        int64_t from = 0, to = 0;
        for (int d = 0; d < 3; ++d) {
          inside = inside && box.low[d] <= at[d] && at[d] < box.high[d];
          from += (box.start[d] + at[d]) * array.stride[d];
        }
        for (int v = 0; v < V; ++v) to += at[dims[v]] * view.stride[v];
        const T want = inside ? memory[static_cast<size_t>(from)] : T{113};
        if (view.data[to] != want)
          return std::to_string(i) + ", " + std::to_string(j) + ", " + std::to_string(k);
      }
    }
  }
  return "";
}

std::vector<Case> Cases(int64_t columns, int64_t room) {
  const BlockDim all = All(columns);
  return {
      {{9, 7, columns}, room, {Blocked(4), All(7), all}, {1, 0, 0}},  // whole
      {{9, 7, columns}, room, {Blocked(4), All(7), all}, {2, 0, 0}},  // past the end
      {{9, 7, columns}, room, {Element(6, 1, 1), Element(9, 1, 1), all}, {0, 0, 0}},
      {{9, 7, columns}, room, {Element(6, 1, 1), Element(9, 1, 1), all}, {5, 0, 0}},
      {{9, 7, columns}, room, {Element(11, 1, 1), Element(4, 2, 2), all}, {0, 4, 0}},
      {{9, 7, columns}, room, {All(9), Element(3, 2, 2), Element(5, 1, 1)}, {0, 0, 2}},
      {{9, 7, columns}, room, {Element(4, 4, 4), All(7), all}, {-4, 0, 0}},  // all of it is pad
  };
}

TEST_CASE("a copied block is the array where that is, and the pad elsewhere") {
  // Rows of whole lines follow each other in a block, others do not; nor do those with room
  // between.
  for (const auto& [columns, room] : {std::pair{16, 0}, {64, 0}, {64, 3}, {5, 0}, {19, 2}}) {
    for (const Case& c : Cases(columns, room)) {
      INFO(columns << " columns, " << room << " after them");
      CHECK(Check<float, 3>(c) == "");
      CHECK(Check<uint8_t, 3>(c) == "");
      CHECK(Check<double, 3>(c) == "");
    }
  }
}

TEST_CASE("short rows are copied as others are, with what is between them") {
  for (int64_t columns = 1; columns <= 65; columns += columns < 20 ? 1 : 15) {
    for (const int64_t room : {0, 1, 3}) {
      for (const Case& c : Cases(columns, room)) {
        INFO(columns << " columns, " << room << " after them");
        CHECK(Check<float, 3>(c) == "");
        CHECK(Check<uint8_t, 3>(c) == "");
        CHECK(Check<int16_t, 3>(c) == "");
        CHECK(Check<double, 3>(c) == "");
      }
    }
  }
}

TEST_CASE("a dimension that a block does not have chooses its rows") {
  for (const int64_t row : {0, 8}) {
    const Case c{{9, 7, 16}, 0, {Squeezed(), Element(9, 1, 1), All(16)}, {row, 0, 0}};
    CHECK(Check<float, 2>(c) == "");
  }
}

}  // namespace
}  // namespace kiln::rows_test
