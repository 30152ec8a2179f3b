#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "generator/interpret/tiles/origin.h"

/// Values of the interpreter. Floats of every dtype are held as double, integers and bools as
/// int64_t, so that one code path serves all dtypes; rounding and wrapping follow each operation.
namespace kiln::interpret {

inline constexpr int kMaxRank = 12;

/// Extents, strides or coordinates, one a dimension, without the heap.
class Dims {
 public:
  Dims() = default;
  explicit Dims(int rank, int64_t fill = 0) : rank_(rank) {
    for (int d = 0; d < rank; ++d) values_[static_cast<size_t>(d)] = fill;
  }
  Dims(std::initializer_list<int64_t> values) {
    for (const int64_t value : values) Append(value);
  }
  Dims(const Dims& other) { *this = other; }
  Dims& operator=(const Dims& other) {
    rank_ = other.rank_;
    for (int d = 0; d < rank_; ++d) (*this)[d] = other[d];
    return *this;
  }

  int rank() const { return rank_; }
  int64_t& operator[](int d) { return values_[static_cast<size_t>(d)]; }
  int64_t operator[](int d) const { return values_[static_cast<size_t>(d)]; }
  void Append(int64_t value) { (*this)[rank_++] = value; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + rank_; }

 private:
  int rank_ = 0;
  std::array<int64_t, kMaxRank> values_;
};

bool operator==(const Dims& a, const Dims& b);
int64_t Product(const Dims& extents);
Dims ContiguousStrides(const Dims& extents);

/// A scalar. Which of the two values counts, the dtype of its node says.
struct Scalar {
  double f = 0;
  int64_t i = 0;
  OriginId origin = kDefined;
};

template <typename T>
using Buffer = std::shared_ptr<T[]>;

/// Uninitialised cells.
template <typename T>
Buffer<T> MakeBuffer(int64_t count) {
  return Buffer<T>(new T[static_cast<size_t>(count)]);
}

/// A tile: a strided view of a shared buffer. A tile's buffer is written only by its owner (a
/// block, a `var`) and only while nobody else holds it, so tiles are snapshots.
struct Tile {
  bool floating = true;
  Dims extents, strides;
  int64_t offset = 0;
  int64_t cells = 0;  // of the buffer
  Buffer<double> floats;
  Buffer<int64_t> ints;
  Buffer<OriginId> origins;  // laid out as the values; null: every element is defined

  int rank() const { return extents.rank(); }
  int64_t size() const { return Product(extents); }
};

/// The buffer of the values as T, which must be what the tile holds.
template <typename T>
auto& ValuesOf(Tile& tile) {
  if constexpr (std::is_same_v<T, double>)
    return tile.floats;
  else
    return tile.ints;
}
template <typename T>
const auto& ValuesOf(const Tile& tile) {
  return ValuesOf<T>(const_cast<Tile&>(tile));
}

/// A contiguous tile with uninitialised values and no origins.
Tile MakeTile(bool floating, const Dims& extents);
/// A tile of one element seen at every position of `extents`.
Tile FillTile(bool floating, const Scalar& value, const Dims& extents);
Scalar ElementAt(const Tile& tile, int64_t cell);

/// Views, without copying.
Tile BroadcastTo(const Tile& tile, const Dims& extents);
Tile Transpose(const Tile& tile, const std::vector<int>& axes);

/// Compact: in row-major order, and alone in the buffer.
bool IsCompact(const Tile& tile);
/// The same elements in a compact tile; shares the buffer when it is one already.
Tile Compact(const Tile& tile);
/// Makes the tile compact and the only holder of its buffers, so that it may be written.
void MakeWritable(Tile& tile);
/// Writes `value`, which broadcasts, to the place of `window` in `target`, a writable tile whose
/// buffer the window shows; with a mask only where it holds, and an undefined mask element makes
/// the element undefined.
void Paste(Tile& target, const Tile& window, const Tile& value, const Tile* mask);
/// Gives a compact tile origins (all defined) when it has none.
void MakeOrigins(Tile& tile);
/// Forgets the origins when all elements of the compact tile are defined.
void DropOrigins(Tile& tile);

/// Visits the elements of N layouts side by side, by innermost rows that are as long as the
/// layouts allow.
template <size_t N>
class Walk {
 public:
  Walk(const Dims& extents, const std::array<Dims, N>& strides,
       const std::array<int64_t, N>& offsets)
      : start_(offsets) {
    for (int d = 0; d < extents.rank(); ++d) {
      if (extents[d] == 0) empty_ = true;
      if (extents[d] == 1) continue;
      const bool merge = extents_.rank() > 0 && Merges(extents[d], strides, d);
      if (!merge) extents_.Append(0);
      const int last = extents_.rank() - 1;
      extents_[last] = merge ? extents_[last] * extents[d] : extents[d];
      for (size_t n = 0; n < N; ++n) {
        if (!merge) strides_[n].Append(0);
        strides_[n][last] = strides[n][d];
      }
    }
    if (extents_.rank() == 0) {
      extents_.Append(1);
      for (Dims& s : strides_) s.Append(1);
    }
  }

  int64_t row_size() const { return extents_[extents_.rank() - 1]; }
  int64_t row_stride(size_t n) const { return strides_[n][extents_.rank() - 1]; }

  /// Calls row(offsets), the offset of the row's first element in each layout.
  template <typename F>
  void ForEachRow(F&& row) const {
    if (empty_) return;
    Dims at(extents_.rank());
    std::array<int64_t, N> offsets = start_;
    while (true) {
      row(offsets);
      int d = extents_.rank() - 2;
      for (; d >= 0; --d) {
        for (size_t n = 0; n < N; ++n) offsets[n] += strides_[n][d];
        if (++at[d] < extents_[d]) break;
        for (size_t n = 0; n < N; ++n) offsets[n] -= strides_[n][d] * extents_[d];
        at[d] = 0;
      }
      if (d < 0) return;
    }
  }

 private:
  bool Merges(int64_t extent, const std::array<Dims, N>& strides, int d) const {
    for (size_t n = 0; n < N; ++n) {
      if (strides_[n][extents_.rank() - 1] != strides[n][d] * extent) return false;
    }
    return true;
  }

  bool empty_ = false;
  Dims extents_;
  std::array<Dims, N> strides_;
  std::array<int64_t, N> start_;
};

}  // namespace kiln::interpret
