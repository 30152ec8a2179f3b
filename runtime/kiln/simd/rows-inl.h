// Loops over rows, some at a time.
#if defined(KILN_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_ROWS_INL_H_
#undef KILN_ROWS_INL_H_
#else
#define KILN_ROWS_INL_H_
#endif

#include <stddef.h>

#include <type_traits>

#include "kiln/core/version.h"

#ifndef KILN_SOME_ROWS_
#define KILN_SOME_ROWS_
namespace kiln::inline KILN_ABI {

/// A number of rows that is not a constant.
struct SomeRows {
  size_t count;
  size_t operator()() const { return count; }
};

}  // namespace kiln::inline KILN_ABI
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Calls fn(rows, first) for all rows, `rows()` of them at a time, a constant; one by one at the
/// end.
template <class Fn>
HWY_INLINE void ForRows(size_t count, const Fn& fn) {
  constexpr size_t kTogether = 4;
  size_t row = 0;
  for (; row + kTogether <= count; row += kTogether)
    fn(std::integral_constant<size_t, kTogether>(), row);
  for (; row < count; ++row) fn(std::integral_constant<size_t, 1>(), row);
}

/// The same with as many rows at a time as there are lanes, and with all that are left at the end.
template <class D, class Fn>
HWY_INLINE void ForRows(D d, size_t count, const Fn& fn) {
  const size_t lanes = hn::Lanes(d);
  size_t row = 0;
  for (; row + lanes <= count; row += lanes) {
    if constexpr (HWY_HAVE_SCALABLE)
      fn(SomeRows{lanes}, row);
    else
      fn(std::integral_constant<size_t, hn::MaxLanes(D())>(), row);
  }
  if (row < count) fn(SomeRows{count - row}, row);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
