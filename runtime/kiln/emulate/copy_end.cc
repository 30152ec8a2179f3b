#include "kiln/emulate/copy_end.h"

#include <algorithm>
#include <cstring>

#include "kiln/core/poison.h"
#include "kiln/simd/prefetch.h"

namespace kiln::inline KILN_ABI {
namespace {

/// Calls row(offset, other offset, bytes) for each run of elements that are side by side at both
/// ends: a row, or several that follow each other.
template <class Row>
void ForEachRun(const CopyEnd& a, const CopyEnd& b, size_t element, const Row& row) {
  auto run = static_cast<int64_t>(element);
  int rank = a.rank;  // of the dimensions outside a run
  for (; rank > 0; --rank) {
    const int d = rank - 1;
    if (a.extent[d] != 1 && (a.stride[d] != run || b.stride[d] != run)) break;
    run *= a.extent[d];
  }
  // ForEachRow leaves out the last dimension.
  int64_t extent[kMaxRank + 1], stride[kMaxRank + 1], other[kMaxRank + 1];
  std::copy_n(a.extent, rank, extent);
  std::copy_n(a.stride, rank, stride);
  std::copy_n(b.stride, rank, other);
  extent[rank] = 1;
  internal::ForEachRow(rank + 1, extent, stride, other, [&](int64_t at, int64_t other_at) {
    row(at, other_at, static_cast<size_t>(run));
  });
}

/// Whether a size that only the step knows is 0: what has no elements may be anywhere.
bool TakesNothing(const Cut* cuts, int rank) {
  return std::any_of(cuts, cuts + rank,
                     [](const Cut& cut) { return cut.most != INT64_MAX && cut.size == 0; });
}

/// Of packed elements.
uintptr_t PlaceIn(const CopyEnd& end, int64_t at) {
  return reinterpret_cast<uintptr_t>(end.data) + static_cast<uintptr_t>(at);
}

}  // namespace

namespace internal {

CopyEnd EndOf(const char* name, const void* data, const ElementType& element, const int64_t* stride,
              const Cut* cuts, int rank, int32_t array) {
  CopyEnd end;
  end.name = name;
  end.array = array;
  end.memory = data;
  end.element = &element;
  end.window.rank = rank;
  const bool packed = element.bits < 8;
  const int64_t width = packed ? 1 : Signed(element.bits / 8);
  int64_t offset = 0;
  const bool nothing = TakesNothing(cuts, rank);
  for (int d = 0; d < rank; ++d) {
    Cut cut = cuts[d];
    const bool inside = cut.start >= 0 && cut.start <= cut.extent - cut.size;
    if (cut.size < 0 || cut.size > cut.most || (!inside && !nothing)) {
      end.outside = cut;
      end.outside_dimension = d;
      return end;
    }
    if (nothing) cut.start = 0;
    offset += cut.start * stride[d] * width;
    end.window.extent[d] = cut.extent;
    end.window.start[d] = cut.start;
    end.window.size[d] = cut.size;
    if (cut.point) continue;
    end.dimension[end.rank] = d;
    end.extent[end.rank] = cut.size;
    end.stride[end.rank++] = stride[d] * width;
  }
  char* const first = const_cast<char*>(static_cast<const char*>(data));
  end.data = (packed ? reinterpret_cast<char*>(PlaceOfByte(first)) : first) + offset;
  return end;
}

bool IsEmpty(const CopyEnd& end) {
  return std::any_of(end.extent, end.extent + end.rank, [](int64_t e) { return e == 0; });
}

int64_t BytesOf(const CopyEnd& end) {
  const int last = end.rank - 1;
  int64_t bytes =
      Signed(kiln::BytesOf(last < 0 ? 1 : Unsigned(end.extent[last]), end.element->bits));
  for (int d = 0; d < last; ++d) bytes *= end.extent[d];
  return bytes;
}

void MoveBytes(const CopyEnd& from, const CopyEnd& to, size_t element) {
  if (IsEmpty(from)) return;
  ForEachRun(from, to, element, [&](int64_t at, int64_t to_at, size_t bytes) {
    if (IsPacked(to))
      CopyPlaces(PlaceIn(from, at), 1, PlaceIn(to, to_at), 1, Signed(bytes));
    else
      std::memcpy(to.data + to_at, from.data + at, bytes);
  });
}

bool Leave(const CopyEnd& from, const CopyEnd& to, size_t element, Pages* pages) {
  if (IsEmpty(from)) return true;
  bool whole = !IsPacked(from);
  ForEachRun(from, to, element, [&](int64_t, int64_t to_at, size_t bytes) {
    whole = whole && pages->AreWhole(to.data + to_at, bytes);
  });
  ForEachRun(from, to, element, [&](int64_t at, int64_t to_at, size_t bytes) {
    if (whole)
      pages->Leave(from.data + at, to.data + to_at, bytes);
    else
      pages->BringHome(to.data + to_at, bytes);
  });
  return whole;
}

void Request(const CopyEnd& from, size_t element, int64_t tag, Requests* requests) {
  if (IsEmpty(from) || IsPacked(from)) return;
  ForEachRun(from, from, element,
             [&](int64_t at, int64_t, size_t bytes) { requests->Add(from.data + at, bytes, tag); });
}

void Prefetch(const CopyEnd& end, size_t element) {
  constexpr int64_t kMost = 256;  // lines: more would be gone again, or wait for each other
  if (IsEmpty(end) || IsPacked(end)) return;
  int64_t lines = kMost;
  ForEachRun(end, end, element, [&](int64_t at, int64_t, size_t bytes) {
    for (size_t i = 0; i < bytes && lines > 0; i += kLineBytes, --lines)
      PrefetchToL2(end.data + at + i);
  });
}

void Forget(const Options& options, const CopyEnd& to, size_t element) {
  if (IsEmpty(to)) return;
  const Poison64& poison = to.element->poison_of(Hole::kUnset);
  ForEachRun(to, to, element, [&](int64_t at, int64_t, size_t bytes) {
    if (!IsPacked(to)) return FillPoison(options, Hole::kUnset, poison, to.data + at, bytes);
    for (size_t i = 0; i < bytes; ++i) {
      uint8_t undefined = 0;
      FillPoison(options, Hole::kUnset, poison, &undefined, 1);
      SetBitsAt(PlaceIn(to, at) + i, undefined);
    }
  });
}

bool Overlap(const Window& a, const Window& b) {
  for (int d = 0; d < a.rank; ++d) {
    if (a.start[d] >= b.start[d] + b.size[d] || b.start[d] >= a.start[d] + a.size[d]) return false;
    if (a.size[d] == 0 || b.size[d] == 0) return false;
  }
  return true;
}

const void* FindUndefined(const CopyEnd& end, size_t element) {
  const void* found = nullptr;
  ForEachRun(end, end, element, [&](int64_t at, int64_t, size_t bytes) {
    if (found == nullptr)
      found = end.element->find_poison(end.data + at, static_cast<int64_t>(bytes / element));
  });
  return found;
}

}  // namespace internal
}  // namespace kiln::inline KILN_ABI
