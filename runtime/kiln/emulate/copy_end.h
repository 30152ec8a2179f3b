// The ends of a copy that a body makes by hand, and what moves between them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kiln/core/options.h"
#include "kiln/core/pages.h"
#include "kiln/core/record.h"
#include "kiln/core/tensor.h"
#include "kiln/core/tile.h"
#include "kiln/core/version.h"
#include "kiln/errors/touches.h"
#include "kiln/format/elements.h"

namespace kiln::inline KILN_ABI {

/// What a copy takes of one dimension: `size` elements from `start` on, of `extent` there are. A
/// point's dimension disappears.
struct Cut {
  int64_t start, size, extent;
  bool point;
  int64_t most = INT64_MAX;  // that `size` may be
};
constexpr Cut CutRange(int64_t start, int64_t size, int64_t extent) {
  return {start, size, extent, false};
}
/// So many elements as only the step knows.
constexpr Cut CutUpTo(int64_t start, int64_t size, int64_t most, int64_t extent) {
  return {start, size, extent, false, most};
}
constexpr Cut CutPoint(int64_t at, int64_t extent) { return {at, 1, extent, true}; }

/// One end of a copy: a window of an array, or of a tile in VMEM. Points have extent 1 and come
/// last, so that both ends of a copy have their other dimensions in the same places.
struct CopyEnd {
  const char* name = nullptr;
  char* data = nullptr;
  int rank = 0;  // without the points
  int64_t extent[kMaxRank] = {};
  int64_t stride[kMaxRank] = {};  // in bytes; of packed elements in places, as `data` is one
  int dimension[kMaxRank] = {};   // of the array or tile
  const void* memory = nullptr;   // the whole array or tile, …
  int32_t array = -1;             // its ordinal if it is in HBM, …
  Window window;                  // and the part of it, points included
  const internal::ElementType* element = nullptr;
  Cut outside{};               // the first dimension that is out of range, …
  int outside_dimension = -1;  // and its number; -1: none is
};

namespace internal {

CopyEnd EndOf(const char* name, const void* data, const ElementType& element, const int64_t* stride,
              const Cut* cuts, int rank, int32_t array = -1);

bool IsEmpty(const CopyEnd& end);
inline bool IsPacked(const CopyEnd& end) { return end.element->bits < 8; }
/// A row of packed elements ends with a whole byte.
int64_t BytesOf(const CopyEnd& end);
bool Overlap(const Window& a, const Window& b);

/// Elements have `element` bytes; packed ones are moved one by one.
void MoveBytes(const CopyEnd& from, const CopyEnd& to, size_t element);
/// Leaves all that a copy brings to a buffer in pages where it is. False: it has to be moved, and
/// what else is in the pages that it goes to is at home.
bool Leave(const CopyEnd& from, const CopyEnd& to, size_t element, Pages* pages);
/// Has those that compute ask for what a copy is going to read; `tag` as of Requests.
void Request(const CopyEnd& from, size_t element, int64_t tag, Requests* requests);
/// Asks for what a copy is going to read, or the first of it.
void Prefetch(const CopyEnd& end, size_t element);
/// What a copy in flight is to replace is undefined.
void Forget(const Options& options, const CopyEnd& to, size_t element);
/// The first element that is undefined, or null.
const void* FindUndefined(const CopyEnd& end, size_t element);

}  // namespace internal

/// The part of an array that stays in HBM. Out of range it has no data.
template <typename T, size_t R>
CopyEnd PartOf(const Operand& operand, const Tensor<T>& array, const std::array<Cut, R>& cuts) {
  return internal::EndOf(operand.name, array.data, internal::ElementTypeOf<T>(),
                         array.stride.data(), cuts.data(), static_cast<int>(R), operand.ordinal);
}
/// The part of a block or of scratch.
template <typename T, int V, size_t R>
CopyEnd PartOf(const char* name, const Tile<T, V>& tile, const std::array<Cut, R>& cuts) {
  static_assert(static_cast<size_t>(V) == R);
  return internal::EndOf(name, AddressOf(tile.data), internal::ElementTypeOf<T>(),
                         tile.stride.data(), cuts.data(), V);
}

}  // namespace kiln::inline KILN_ABI
