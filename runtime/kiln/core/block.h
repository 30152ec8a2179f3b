// How an array is cut into blocks, and where one block is in it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kiln/core/poison.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// Which block: one number a dimension. The cast keeps R from being deduced of it, which could only
/// fail, as an array's size is no int.
template <int R>
using Index = std::array<int64_t, static_cast<size_t>(R)>;

/// Whether every loop over a dimension stops at the array's edge. Then nothing looks at what a
/// block has beyond it, and the block may be used in place.
enum class Clip : bool { kNo, kYes };

/// How one dimension is cut. Made by the functions below.
struct BlockDim {
  enum class Kind : int32_t { kBlocked, kAll, kSqueezed, kElement, kBounded };
  Kind kind = Kind::kBlocked;
  Clip clip = Clip::kNo;
  int64_t size = 1;
  int64_t halo_low = 0;
  int64_t halo_high = 0;
  bool in_row = false;  // rows in VMEM hold all of it, and begin with a dimension before
};

/// Blocks of `size` elements side by side; the index counts blocks.
constexpr BlockDim Blocked(int64_t size, Clip clip = Clip::kNo) {
  return {BlockDim::Kind::kBlocked, clip, size, 0, 0};
}
/// The same where every loop over the dimension stops at the array's edge.
constexpr BlockDim Clipped(int64_t size) { return Blocked(size, Clip::kYes); }
/// The whole dimension; its index is 0, also of an array that has no elements.
constexpr BlockDim All(int64_t extent) { return {BlockDim::Kind::kAll, Clip::kYes, extent, 0, 0}; }
/// One element; the body does not see the dimension.
constexpr BlockDim Squeezed() { return {BlockDim::Kind::kSqueezed, Clip::kYes, 1, 0, 0}; }
/// Windows that begin at any element; offset 0 is the first element of the halo.
constexpr BlockDim Element(int64_t size, int64_t halo_low = 0, int64_t halo_high = 0,
                           Clip clip = Clip::kNo) {
  return {BlockDim::Kind::kElement, clip, size, halo_low, halo_high};
}
/// Windows whose begin and size are known at run time; the index is Ds(start, size).
constexpr BlockDim Bounded(int64_t size, Clip clip = Clip::kNo) {
  return {BlockDim::Kind::kBounded, clip, size, 0, 0};
}

/// A whole dimension that the body sees as one with the dimension before, as all behind it.
constexpr BlockDim InRow(BlockDim dim) {
  dim.in_row = true;
  return dim;
}

/// The index of a bounded dimension holds both numbers, so that blocks compare by their index. A
/// number that does not fit is kept out of range.
constexpr int kDsBits = 28;
constexpr int64_t Ds(int64_t start, int64_t size) {
  constexpr int64_t kMost = (int64_t{1} << kDsBits) - 1;
  constexpr int64_t kFarthest = int64_t{1} << (62 - kDsBits);
  const int64_t held = size < 0 ? kMost : std::min(size, kMost);
  return std::clamp(start, -kFarthest, kFarthest) * (kMost + 1) + held;
}
constexpr int64_t DsStart(int64_t index) { return index >> kDsBits; }
constexpr int64_t DsSize(int64_t index) { return index & ((int64_t{1} << kDsBits) - 1); }

/// The extents of a block. The body's view has the dimensions that are not squeezed.
template <int R>
struct Shape {
  std::array<int64_t, R> size{};
  std::array<bool, R> squeezed{};
  std::array<bool, R> in_row{};

  constexpr int view_rank() const {
    int rank = 0;
    for (int d = 0; d < R; ++d) rank += !squeezed[d];
    return rank;
  }
  /// The array's dimensions that the view's are, V = view_rank() of them.
  template <int V>
  constexpr std::array<int, V> ViewDims() const {
    std::array<int, V> dims{};
    int v = 0;
    for (int d = 0; d < R; ++d) {
      // Not `if (!squeezed[d] && v < V) dims[v++] = d`: GCC 12 with -O3 -fwrapv makes that a loop
      // without an end when R is 1. A squeezed dimension is overwritten by the next one.
      if (v < V) dims[v] = d;
      v += !squeezed[d];
    }
    return dims;
  }
};

template <int R>
constexpr Shape<R> ShapeOf(const std::array<BlockDim, R>& dims) {
  Shape<R> shape;
  for (int d = 0; d < R; ++d) {
    shape.size[d] = dims[d].size;
    shape.squeezed[d] = dims[d].kind == BlockDim::Kind::kSqueezed;
    shape.in_row[d] = dims[d].in_row;
  }
  return shape;
}

/// One block: its place in the array, and the part of it that is inside.
template <int R>
struct Box : Shape<R> {
  std::array<int64_t, R> start{};  // the array's coordinates of element 0; negative in a halo
  std::array<int64_t, R> low{};    // inside are low <= i < high, in the block's coordinates
  std::array<int64_t, R> high{};
  std::array<bool, R> clipped{};

  bool IsWhole(int d) const { return low[d] == 0 && high[d] == this->size[d]; }
  bool IsWhole() const {
    for (int d = 0; d < R; ++d) {
      if (!IsWhole(d)) return false;
    }
    return true;
  }
  /// Elements inside the array.
  int64_t inside() const {
    int64_t count = 1;
    for (int d = 0; d < R; ++d) count *= high[d] - low[d];
    return count;
  }
  /// Bytes of these elements; a row of packed ones ends with a whole byte.
  int64_t bytes(size_t bits) const {
    if constexpr (R == 0) {
      return Signed(BytesOf(1, bits));
    } else {
      const int64_t row = high[R - 1] - low[R - 1];
      return row == 0 ? 0 : inside() / row * Signed(BytesOf(Unsigned(row), bits));
    }
  }
};

/// An array's blocks.
template <int R>
struct Blocks {
  std::array<int64_t, R> extent{};  // the array's
  std::array<BlockDim, R> dims{};

  /// How many indices dimension d has. Bounded windows are not numbered: they count as one.
  int64_t Count(int d) const {
    const BlockDim& dim = dims[d];
    switch (dim.kind) {
      case BlockDim::Kind::kBlocked:
        return dim.size > 0 ? DivUp(extent[d], dim.size) : 0;
      case BlockDim::Kind::kSqueezed:
        return extent[d];
      case BlockDim::Kind::kElement:
        return extent[d] + dim.halo_low + dim.halo_high;
      case BlockDim::Kind::kAll:
      case BlockDim::Kind::kBounded:
        return 1;
    }
    return 0;
  }

  /// Saturates: windows by the element can be more than any number.
  int64_t Count() const {
    int64_t count = 1;
    for (int d = 0; d < R; ++d) {
      if (__builtin_mul_overflow(count, Count(d), &count)) return INT64_MAX;
    }
    return count;
  }

  bool Contains(int d, int64_t index) const {
    if (dims[d].kind == BlockDim::Kind::kBlocked) {
      // index < Count(d), without the division, as every step needs it.
      int64_t start = 0;
      return index >= 0 && dims[d].size > 0 &&
             !__builtin_mul_overflow(index, dims[d].size, &start) && start < extent[d];
    }
    if (dims[d].kind != BlockDim::Kind::kBounded) return index >= 0 && index < Count(d);
    const int64_t size = DsSize(index);
    return size <= dims[d].size && DsStart(index) >= 0 && DsStart(index) <= extent[d] - size;
  }

  /// The first dimension in which there is no such block; R: there is.
  int FirstOutside(const Index<R>& index) const {
    int d = 0;
    while (d < R && Contains(d, index[d])) ++d;
    return d;
  }

  /// Whether each block has a number of its own.
  bool IsNumbered() const {
    return std::none_of(dims.begin(), dims.end(),
                        [](const BlockDim& dim) { return dim.kind == BlockDim::Kind::kBounded; });
  }

  /// Blocks in row-major order; wraps around for windows that are more than any number.
  int64_t Linear(const Index<R>& index) const {
    uint64_t linear = 0;
    for (int d = 0; d < R; ++d) {
      const bool numbered = dims[d].kind != BlockDim::Kind::kBounded;
      linear = linear * static_cast<uint64_t>(Count(d)) +
               (numbered ? static_cast<uint64_t>(index[d]) : 0);
    }
    return static_cast<int64_t>(linear & INT64_MAX);
  }

  /// How many places a block can have along each dimension: whole dimensions have one, bounded
  /// windows one for each start.
  Index<R> Places() const {
    Index<R> places{};
    for (int d = 0; d < R; ++d) {
      const bool bounded = dims[d].kind == BlockDim::Kind::kBounded;
      places[d] = std::max<int64_t>(bounded ? extent[d] + 1 : Count(d), 1);
    }
    return places;
  }
  /// The place of an index that FirstOutside accepts among all of them, in row-major order.
  int64_t PlaceOf(const Index<R>& index, const Index<R>& places) const {
    uint64_t place = 0;
    for (int d = 0; d < R; ++d) {
      const bool bounded = dims[d].kind == BlockDim::Kind::kBounded;
      const bool all = dims[d].kind == BlockDim::Kind::kAll;
      const int64_t at = all ? 0 : bounded ? DsStart(index[d]) : index[d];
      place = place * static_cast<uint64_t>(places[d]) + static_cast<uint64_t>(at);
    }
    return static_cast<int64_t>(place);
  }

  /// A number that no block with another start has.
  int64_t NumberOf(const Box<R>& box) const {
    uint64_t number = 0;
    for (int d = 0; d < R; ++d) {
      const int64_t starts = extent[d] + dims[d].halo_low + dims[d].halo_high + 1;
      number = number * static_cast<uint64_t>(starts) +
               static_cast<uint64_t>(box.start[d] + dims[d].halo_low);
    }
    return static_cast<int64_t>(number);
  }

  Shape<R> shape() const { return ShapeOf<R>(dims); }

  /// The block of an index that FirstOutside accepts.
  Box<R> BoxAt(const Index<R>& index) const {
    Box<R> box{shape(), {}, {}, {}, {}};
    for (int d = 0; d < R; ++d) {
      const BlockDim& dim = dims[d];
      int64_t end = dim.size;
      box.start[d] = index[d];
      if (dim.kind == BlockDim::Kind::kBlocked) box.start[d] *= dim.size;
      if (dim.kind == BlockDim::Kind::kElement) box.start[d] -= dim.halo_low;
      if (dim.kind == BlockDim::Kind::kBounded) {
        box.start[d] = DsStart(index[d]);
        end = DsSize(index[d]);
      }
      box.low[d] = std::clamp<int64_t>(-box.start[d], 0, dim.size);
      box.high[d] = std::max(box.low[d], std::min(end, extent[d] - box.start[d]));
      box.clipped[d] = dim.clip == Clip::kYes;
    }
    return box;
  }
};

/// What elements outside of the array are read as; without it they are undefined, and `reduced` if
/// the body sums over them: then the rule is another.
struct NoPad {
  bool reduced = false;
};
template <typename T>
struct Pad {
  bool given = false;
  bool reduced = false;
  T value{};

  explicit Pad(T pad) : given(true), value(pad) {}
  // NOLINTNEXTLINE: NoPad() stands for it
  Pad(NoPad none) : reduced(none.reduced), value(internal::PoisonedEdge<T>()) {}
};

/// What an output block holds at the start of a stay; without it, it is undefined, and all of it
/// has to be written: or may stay so. Every block has to be visited unless the array `is_alias`,
/// which holds the input's values.
struct NoInit {
  bool is_alias = false;
};
struct UndefinedInit {};
/// Of whatever type.
struct InitKind {
  bool given = false;
  bool may_stay_undefined = false;
  bool is_alias = false;

  /// Whether elements that no step visits are right as they are.
  bool MayStay() const { return given || may_stay_undefined || is_alias; }
};
template <typename T>
struct Init : InitKind {
  T value{};

  explicit Init(T init) : InitKind{.given = true}, value(init) {}
  Init(NoInit none) : InitKind{.is_alias = none.is_alias} {}     // NOLINT: these stand for it
  Init(UndefinedInit) : InitKind{.may_stay_undefined = true} {}  // NOLINT
};

}  // namespace kiln::inline KILN_ABI
