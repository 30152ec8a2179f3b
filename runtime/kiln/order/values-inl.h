// The elements of a line as what they are computed in, next to each other, and back again: what
// orders and adds up lines is compiled for these few types, and not for each type of elements.
#if defined(KILN_ORDER_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_ORDER_VALUES_INL_H_
#undef KILN_ORDER_VALUES_INL_H_
#else
#define KILN_ORDER_VALUES_INL_H_
#endif

#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/order/line-inl.h"
#include "kiln/simd/lanes-inl.h"

/// DO(T) for each type of elements that has an order, but bool, which is sorted as a byte.
#define KILN_WITH_ORDERED(DO) \
  DO(i4)                      \
  DO(u4)                      \
  DO(int8_t)                  \
  DO(uint8_t)                 \
  DO(int16_t)                 \
  DO(uint16_t)                \
  DO(int32_t)                 \
  DO(uint32_t)                \
  DO(int64_t)                 \
  DO(f8e4m3fn)                \
  DO(f8e5m2)                  \
  DO(f8e8m0fnu)               \
  DO(bf16)                    \
  DO(f16)                     \
  DO(float)                   \
  DO(double)

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// The tag of the loops over lanes of T.
template <typename T>
using LoopTag = std::conditional_t<sizeof(T) == 8, hn::ScalableTag<double>, hn::ScalableTag<float>>;

/// Whether a line's elements are their values, next to each other.
template <typename T>
HWY_INLINE bool AreValues(Line<T> line) {
  return std::is_same_v<std::remove_const_t<T>, Rep<std::remove_const_t<T>>> && line.stride == 1;
}

/// values.cc: the elements of any line. Behind the values there is room for a vector.
template <typename T>
void ReadLine(Line<const T> line, size_t count, Rep<T>* values);
template <typename T>
void WriteLine(const Rep<T>* values, size_t count, Line<T> line);

/// The values of a line where they are, or in `room`.
template <typename T>
HWY_INLINE const Rep<T>* ValuesOf(Line<const T> line, size_t count, Rep<T>* room) {
  if constexpr (std::is_same_v<T, Rep<T>>) {
    if (line.stride == 1) return line.first;
  }
  ReadLine<T>(line, count, room);
  return room;
}

/// Where values of a line are written: into it, or into `room`, from where Settle takes them there.
template <typename T>
HWY_INLINE Rep<T>* PlaceOf(Line<T> line, Rep<T>* room) {
  if constexpr (std::is_same_v<T, Rep<T>>) {
    if (line.stride == 1) return line.first;
  }
  return room;
}
template <typename T>
HWY_INLINE void Settle(const Rep<T>* values, size_t count, Line<T> line) {
  if (!AreValues(line)) WriteLine<T>(values, count, line);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_ORDER_VALUES_INL_H_
