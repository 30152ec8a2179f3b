// Where the elements are of a B that products of few rows read in memory: rows, or columns, that
// are contiguous.
#if defined(KILN_FEW_STREAMED_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_FEW_STREAMED_INL_H_
#undef KILN_FEW_STREAMED_INL_H_
#else
#define KILN_FEW_STREAMED_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include "kiln/core/pages.h"
#include "kiln/core/version.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Where B is, as far as that matters to few rows of A: so close that to ask for it ahead gains
/// nothing, in the last cache, or in memory.
enum class Distance : uint8_t { kClose, kLastCache, kMemory };

/// Lines, rows or columns, that are `apart` elements from each other.
template <typename T>
struct InMemory {
  const T* first;
  int64_t apart;
  Distance is;

  HWY_INLINE const T* At(size_t line) const { return first + static_cast<int64_t>(line) * apart; }
  /// The same from an element of each line on.
  InMemory From(size_t element) const { return {first + element, apart, is}; }
  /// Whether who reads it asks for what follows.
  bool IsFar() const { return is != Distance::kClose; }
  bool IsOutOfCaches() const { return is == Distance::kMemory; }
  /// Asks for so many bytes of what somebody is going to read.
  void Ask(size_t /*bytes*/) const {}
};

/// Lines of a buffer in pages, whose home begins at `first`.
template <typename T>
struct InPages {
  const T* first;
  int64_t apart;
  Pages* pages;

  HWY_INLINE const T* At(size_t line) const {
    return reinterpret_cast<const T*>(pages->At(first + static_cast<int64_t>(line) * apart));
  }
  InPages From(size_t element) const { return {first + element, apart, pages}; }
  bool IsFar() const { return false; }
  bool IsOutOfCaches() const { return false; }
  void Ask(size_t bytes) const { pages->requests().Ask(bytes / kLineBytes); }
};

/// Whether lines are so far apart, a multiple of 4 KiB, that they share a set of the L1.
template <class Lines>
HWY_INLINE bool ShareSets(const Lines& lines) {
  constexpr int64_t kPage = 4096, kElement{sizeof(*lines.first)};
  return lines.apart * kElement % kPage == 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
