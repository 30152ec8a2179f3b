// Lines of elements of every type as values, compiled once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/order/values.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
#include "kiln/order/values-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

template <typename T>
void ReadLine(Line<const T> line, size_t count, Rep<T>* values) {
  const TagFor<Rep<T>, LoopTag<T>> d;
  if (line.stride == 1) {
    ForLanes(LoopTag<T>(), count, [&](auto at, size_t i) KILN_INLINE_ATTR {
      hn::StoreU(at.Load(line.first + i), d, values + i);
    });
  } else {
    ForLanes(LoopTag<T>(), count, [&](auto at, size_t i) KILN_INLINE_ATTR {
      hn::StoreU(at.LoadStrided(line.first + Signed(i) * line.stride, line.stride), d, values + i);
    });
  }
}

template <typename T>
void WriteLine(const Rep<T>* values, size_t count, Line<T> line) {
  const TagFor<Rep<T>, LoopTag<T>> d;
  ForLanes(LoopTag<T>(), count, [&](auto at, size_t i) KILN_INLINE_ATTR {
    const auto v = hn::LoadU(d, values + i);
    if (line.stride == 1)
      at.Store(v, line.first + i);
    else
      at.StoreStrided(v, line.first + Signed(i) * line.stride, line.stride);
  });
}

#define KILN_LINES(T)                                        \
  template void ReadLine<T>(Line<const T>, size_t, Rep<T>*); \
  template void WriteLine<T>(const Rep<T>*, size_t, Line<T>);
KILN_WITH_ORDERED(KILN_LINES)
#undef KILN_LINES

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
