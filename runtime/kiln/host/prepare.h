// The host code that a spec's `prepare` calls before the grid starts; C++ code may call it too.
//
//   GroupSteps steps;
//   Status status = GroupMetadata(sizes, m, 128, {.visit_empty = true}, &steps);
//
// A function of your own, that a spec names with its header, looks the same: it takes the arguments
// as the spec lists them, arrays as `const Tensor<const T>&` and numbers as `int64_t`, then a
// pointer to each result, `HostArray<T>*` or, of a scalar, `T*`, and returns a Status.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "kiln/call/call.h"
#include "kiln/core/list.h"
#include "kiln/core/status.h"
#include "kiln/core/tensor.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// An array that host code makes, row-major.
template <typename T>
struct HostArray {
  using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

  int rank = 1;
  std::array<int64_t, kMaxRank> shape{};
  internal::List<Stored> values;

  Tensor<const T> tensor() const {
    return {reinterpret_cast<const T*>(values.data()), rank, shape.data()};
  }
};

/// Prefetch arrays live in SMEM; this is far above any and still safe to allocate.
constexpr int64_t kMaxHostElements = int64_t{1} << 27;

struct GroupOptions {
  int64_t start = 0;                            // the first group that gets steps …
  std::optional<int64_t> count = std::nullopt;  // … and how many do; all that follow
  bool visit_empty = false;                     // a group without rows gets one step too
};
struct GroupSteps {
  HostArray<int32_t> offsets;  // group g is rows offsets[g] to offsets[g + 1]
  HostArray<int32_t> ids;      // the group that each step works on
  HostArray<int32_t> tiles;    // the row tile that each step works on
  int32_t visits = 0;          // how many of those steps there are; what follows is in range
};
/// The row tiles of a grouped matmul: a step for every tile of `tm` rows that a group of
/// consecutive rows has rows in, as Pallas' megablox makes them.
template <typename T>
Status GroupMetadata(const Tensor<T>& sizes, int64_t m, int64_t tm, const GroupOptions& options,
                     GroupSteps* steps);

struct MaskMaps {
  HostArray<int32_t> block_mask;     // 1 where the block has a nonzero
  HostArray<int32_t> prefetch_mask;  // which distinct block this step needs, or the next one
  HostArray<int32_t> prefetch_i;     // the block row and column of that step
  HostArray<int32_t> prefetch_j;
  int32_t blocks = 0;  // distinct blocks that have a nonzero
};
/// The prefetch maps of a block-sparse mask in blocks of bm x bn. Equal blocks share a number;
/// numbers are given from the last block to the first.
template <typename T>
Status SparsifyMask(const Tensor<T>& mask, int64_t bm, int64_t bn, MaskMaps* maps);

struct BlockList {
  HostArray<int32_t> rows, cols;  // of each block with a nonzero (NaN is one), in row-major order
  int32_t count = 0;
};
template <typename T>
Status BlockCoo(const Tensor<T>& x, int64_t bm, int64_t bk, BlockList* list);

/// Where the distinct blocks of a mask are, by their numbers.
BlockList DistinctBlocks(const MaskMaps& maps);

/// The blocks of a list one after the other, count x bm x bk elements; past the edge of x zeros.
template <typename T>
Status CopyBlocks(const Tensor<T>& x, int64_t bm, int64_t bk, const BlockList& list,
                  HostArray<std::remove_const_t<T>>* blocks);

struct RowSteps {
  HostArray<int32_t> row;    // the output row of each step; never decreasing
  HostArray<int32_t> block;  // which entry of `rows` the step works on
  HostArray<int32_t> real;   // 0: the step only visits an empty row
  int32_t steps = 0;
};
/// Orders the first `count` entries of a block list by row and adds a step for every row that has
/// none, so that every output block is visited, in one stay each.
template <typename T>
Status GroupedRows(const Tensor<T>& rows, int64_t row_blocks, std::optional<int64_t> count,
                   RowSteps* steps);

/// What an array that is declared longer than it is made holds past the end.
enum class PastEnd { kRepeat, kZero };

/// The array as the spec declares it; shorter than the part that is used is a diagnostic. `used`:
/// how many entries are read; without it, all that are made.
template <typename T>
Tensor<const T> Made(CallCheck& check, const char* name, HostArray<T>& array,
                     std::initializer_list<int64_t> declared, PastEnd end,
                     std::optional<int64_t> used = std::nullopt);

/// Calls host code of others, of which no exception may leave a kernel's call. Where that is
/// compiled without exceptions there is nothing to catch them with.
template <class Function>
Status Guarded(const char* name, const Function& function) {
#if !defined(__cpp_exceptions)
  static_cast<void>(name);
  return function();
#else
  Status status;
  try {
    return function();
  } catch (const std::bad_alloc&) {
    status.Fail(kMemory, "%s: there is no memory", name);
  } catch (...) {
    status.Fail(kCall, "%s threw an exception", name);
  }
  return status;
#endif
}

namespace internal {

/// A matrix of any type.
struct AnyMatrix {
  const char* data;
  int64_t shape[2];
  int64_t stride[2];  // in bytes
  size_t element;
  bool (*is_zero)(const void* element);
};

Status GroupMetadataOf(List<int64_t> sizes, int64_t m, int64_t tm, const GroupOptions& options,
                       GroupSteps* steps);
Status SparsifyMaskOf(const AnyMatrix& mask, int64_t bm, int64_t bn, MaskMaps* maps);
Status BlockCooOf(const AnyMatrix& x, int64_t bm, int64_t bk, BlockList* list);
/// Whether x has the blocks of the list, and memory may hold them.
Status CheckBlocks(const AnyMatrix& x, int64_t bm, int64_t bk, const BlockList& list);
/// `to` holds zeros.
void CopyBlocksTo(const AnyMatrix& x, int64_t bm, int64_t bk, const BlockList& list, void* to);
Status GroupedRowsOf(List<int64_t> rows, int64_t row_blocks, std::optional<int64_t> count,
                     RowSteps* steps);
/// Whether an array of `made` elements a dimension can stand for the declared one.
bool CheckMade(CallCheck& check, const char* name, int rank, const int64_t* made,
               std::initializer_list<int64_t> declared, std::optional<int64_t> used);

template <typename T>
List<int64_t> NumbersOf(const Tensor<T>& array) {
  static_assert(std::is_integral_v<T>);
  List<int64_t> numbers;
  for (int64_t i = 0; i < array.shape[0]; ++i)
    numbers.push_back(static_cast<int64_t>(array.data[i * array.stride[0]]));
  return numbers;
}

/// -0.0 is zero, NaN is not.
template <typename T>
bool IsZero(const void* element) {
  if constexpr (kIsPower<std::remove_const_t<T>>) {
    return false;
  } else if constexpr (kIsNarrowFloat<std::remove_const_t<T>>) {
    std::conditional_t<sizeof(T) == 1, uint8_t, uint16_t> bits;
    std::memcpy(&bits, element, sizeof(bits));
    return (bits & (sizeof(T) == 1 ? 0x7F : 0x7FFF)) == 0;
  } else {
    return *static_cast<const T*>(element) == T{};
  }
}

template <typename T>
AnyMatrix MatrixOf(const Tensor<T>& x) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  return {reinterpret_cast<const char*>(x.data),
          {x.shape[0], x.shape[1]},
          {x.stride[0] * kWidth, x.stride[1] * kWidth},
          sizeof(T),
          &IsZero<T>};
}

}  // namespace internal

template <typename T>
Status GroupMetadata(const Tensor<T>& sizes, int64_t m, int64_t tm, const GroupOptions& options,
                     GroupSteps* steps) {
  return Guarded("group_metadata", [&] {
    return internal::GroupMetadataOf(internal::NumbersOf(sizes), m, tm, options, steps);
  });
}

template <typename T>
Status SparsifyMask(const Tensor<T>& mask, int64_t bm, int64_t bn, MaskMaps* maps) {
  return Guarded("sparsify_mask",
                 [&] { return internal::SparsifyMaskOf(internal::MatrixOf(mask), bm, bn, maps); });
}

template <typename T>
Status BlockCoo(const Tensor<T>& x, int64_t bm, int64_t bk, BlockList* list) {
  return Guarded("block_coo",
                 [&] { return internal::BlockCooOf(internal::MatrixOf(x), bm, bk, list); });
}

template <typename T>
Status CopyBlocks(const Tensor<T>& x, int64_t bm, int64_t bk, const BlockList& list,
                  HostArray<std::remove_const_t<T>>* blocks) {
  return Guarded("copy_blocks", [&] {
    const internal::AnyMatrix matrix = internal::MatrixOf(x);
    const Status status = internal::CheckBlocks(matrix, bm, bk, list);
    if (!status.ok()) return status;
    blocks->rank = 3;
    blocks->shape = {list.count, bm, bk};
    blocks->values.assign(static_cast<size_t>(list.count * bm * bk), {});
    internal::CopyBlocksTo(matrix, bm, bk, list, blocks->values.data());
    return status;
  });
}

template <typename T>
Status GroupedRows(const Tensor<T>& rows, int64_t row_blocks, std::optional<int64_t> count,
                   RowSteps* steps) {
  return Guarded("grouped_rows", [&] {
    return internal::GroupedRowsOf(internal::NumbersOf(rows), row_blocks, count, steps);
  });
}

template <typename T>
Tensor<const T> Made(CallCheck& check, const char* name, HostArray<T>& array,
                     std::initializer_list<int64_t> declared, PastEnd end,
                     std::optional<int64_t> used) {
  const int64_t* const made = array.shape.data();
  if (!check.ok() || !internal::CheckMade(check, name, array.rank, made, declared, used)) return {};
  if (std::equal(declared.begin(), declared.end(), made)) return array.tensor();
  const Status status = Guarded(name, [&] {
    HostArray<T> longer;
    longer.rank = array.rank;
    std::copy(declared.begin(), declared.end(), longer.shape.begin());
    int64_t count = 1;
    for (const int64_t extent : declared) count *= extent;
    longer.values.resize(static_cast<size_t>(count));
    std::array<int64_t, kMaxRank> at{};
    for (int64_t i = 0; i < count && !array.values.empty(); ++i) {
      int64_t linear = 0;
      bool past = false;
      for (int d = 0; d < array.rank; ++d) {
        past = past || at[d] >= made[d];
        linear = linear * made[d] + std::min(at[d], made[d] - 1);
      }
      if (!past || end == PastEnd::kRepeat)
        longer.values[static_cast<size_t>(i)] = array.values[static_cast<size_t>(linear)];
      for (int d = array.rank; d-- > 0 && ++at[d] == longer.shape[d];) at[d] = 0;
    }
    array = std::move(longer);
    return Status();
  });
  check.Take(status);
  return array.tensor();
}

}  // namespace kiln::inline KILN_ABI
