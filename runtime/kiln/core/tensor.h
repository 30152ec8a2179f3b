// Arrays of the caller.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "kiln/core/block.h"
#include "kiln/core/packed.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

constexpr int kMaxRank = 8;

/// An array that belongs to the caller. A kernel checks it when it is called; nothing is checked
/// here, so that making one costs nothing and cannot fail. `data` is an address: of packed
/// elements, that of the byte which holds the first.
template <typename T>
struct Tensor {
  T* data = nullptr;
  int32_t rank = 0;  // may be more than kMaxRank, which no kernel accepts
  std::array<int64_t, kMaxRank> shape{};
  std::array<int64_t, kMaxRank> stride{};  // in elements

  Tensor() = default;
  /// Row-major without gaps; rows of packed elements begin with whole bytes.
  Tensor(T* at, std::initializer_list<int64_t> extents)
      : Tensor(at, static_cast<int>(extents.size()), extents.begin()) {}
  /// As many strides as extents.
  Tensor(T* at, std::initializer_list<int64_t> extents, std::initializer_list<int64_t> strides)
      : Tensor(at, extents.size() == strides.size() ? static_cast<int>(extents.size()) : -1,
               extents.begin(), strides.begin()) {}
  /// Without strides: row-major without gaps.
  Tensor(T* at, int dimensions, const int64_t* extents, const int64_t* strides = nullptr)
      : data(at), rank(dimensions) {
    uint64_t step = 1;
    for (int d = dimensions < kMaxRank ? dimensions : kMaxRank; d-- > 0;) {
      shape[d] = extents[d];
      stride[d] = strides != nullptr ? strides[d] : static_cast<int64_t>(step);
      step *= static_cast<uint64_t>(extents[d]);
      if (kIsPacked<T> && d + 1 == dimensions) step += step % 2;
    }
  }

  operator Tensor<const T>() const  // NOLINT: an array to read is an array to write, not written
      requires(!std::is_const_v<T>) {
    Tensor<const T> tensor;
    tensor.data = data;
    tensor.rank = rank;
    tensor.shape = shape;
    tensor.stride = stride;
    return tensor;
  }

  /// Where elements are counted from.
  T* first() const { return ElementsAt<T>(data); }

  /// Where a block's element 0 is; for R = rank.
  template <int R>
  T* At(const std::array<int64_t, R>& start) const {
    int64_t offset = 0;
    for (int d = 0; d < R; ++d) offset += start[d] * stride[d];
    return first() + offset;
  }

  /// How many elements it has, once a call has checked it.
  int64_t Count() const {
    int64_t count = 1;
    for (int d = 0; d < rank; ++d) count *= shape[d];
    return count;
  }

  template <int R>
  std::array<int64_t, R> extents() const {
    std::array<int64_t, R> extents{};
    for (int d = 0; d < R; ++d) extents[d] = shape[d];
    return extents;
  }
};

/// Sets every element.
template <typename T>
void Fill(const Tensor<T>& to, std::type_identity_t<T> value);

/// Copies every element between arrays of one shape.
template <typename T>
void CopyTensor(const Tensor<const std::type_identity_t<T>>& from, const Tensor<T>& to);

namespace internal {

/// Calls row(offset, offset of the other) for each run of the last dimension, by the strides of two
/// arrays of one shape.
template <class Row>
void ForEachRow(int rank, const int64_t* extent, const int64_t* stride, const int64_t* other,
                const Row& row, int64_t at = 0, int64_t other_at = 0) {
  if (rank <= 1) return row(at, other_at);
  for (int64_t i = 0; i < extent[0]; ++i) {
    ForEachRow(rank - 1, extent + 1, stride + 1, other + 1, row, at + i * stride[0],
               other_at + i * other[0]);
  }
}

// Rows without gaps go through the C library: an element at a time is several times slower.

template <typename T>
void FillRow(T* row, int64_t count, int64_t step, T value) {
  if (count <= 0) return;
  if constexpr (kIsPacked<T>)
    return FillPlaces(PlaceOf(row), step, count, static_cast<uint8_t>(value.value));
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  const bool is_zero =
      std::all_of(bytes, bytes + sizeof(T), [](unsigned char b) { return b == 0; });
  if (step == 1 && is_zero) {
    std::memset(static_cast<void*>(row), 0, static_cast<size_t>(count) * sizeof(T));
  } else if (step == 1) {
    std::fill_n(row, count, value);
  } else {
    for (int64_t c = 0; c < count; ++c) row[c * step] = value;
  }
}

template <typename T>
void CopyRun(const T* from, int64_t from_step, int64_t count, T* to, int64_t to_step) {
  if constexpr (kIsPacked<T>) {
    CopyPlaces(PlaceOf(from), from_step, PlaceOf(to), to_step, count);
  } else if (from_step == 1 && to_step == 1) {
    std::copy_n(from, count, to);
  } else {
    for (int64_t c = 0; c < count; ++c) to[c * to_step] = from[c * from_step];
  }
}

}  // namespace internal

template <typename T>
void Fill(const Tensor<T>& to, std::type_identity_t<T> value) {
  const int64_t columns = to.rank > 0 ? to.shape[to.rank - 1] : 1;
  const int64_t step = to.rank > 0 ? to.stride[to.rank - 1] : 1;
  internal::ForEachRow(
      to.rank, to.shape.data(), to.stride.data(), to.stride.data(),
      [&](int64_t at, int64_t) { internal::FillRow(to.first() + at, columns, step, value); });
}

template <typename T>
void CopyTensor(const Tensor<const std::type_identity_t<T>>& from, const Tensor<T>& to) {
  const int last = to.rank - 1;
  const int64_t columns = last >= 0 ? to.shape[last] : 1;
  const int64_t from_step = last >= 0 ? from.stride[last] : 1;
  const int64_t to_step = last >= 0 ? to.stride[last] : 1;
  internal::ForEachRow(to.rank, to.shape.data(), from.stride.data(), to.stride.data(),
                       [&](int64_t from_at, int64_t to_at) {
                         internal::CopyRun(from.first() + from_at, from_step, columns,
                                           to.first() + to_at, to_step);
                       });
}

}  // namespace kiln::inline KILN_ABI
