// Where elements of 4 bits are. A byte holds two of them, the first in its low half, so that an
// address does not tell which one is meant. A pointer to such elements therefore counts halves of
// bytes: it is twice the address of the byte, and one more for the high half. Arithmetic on it goes
// from element to element as on any other, and nothing ever looks at what it points to but through
// the functions below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kiln/core/types.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// A pointer to the elements that begin with the byte at an address, …
template <typename T>
T* ElementsAt(std::conditional_t<std::is_const_v<T>, const void*, void*> bytes) {
  if constexpr (kIsPacked<T>) {
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(bytes) * 2);
  } else {
    return static_cast<T*>(bytes);
  }
}

/// … and the byte that holds the element, or its first byte.
template <typename T>
auto AddressOf(T* element) {
  if constexpr (kIsPacked<T>) {
    using Byte = std::conditional_t<std::is_const_v<T>, const uint8_t, uint8_t>;
    return reinterpret_cast<Byte*>(reinterpret_cast<uintptr_t>(element) / 2);
  } else {
    return element;
  }
}

namespace internal {

/// A place is such a pointer as a number, of whatever type.
inline uintptr_t PlaceOfByte(const void* bytes) { return reinterpret_cast<uintptr_t>(bytes) * 2; }
template <typename T>
uintptr_t PlaceOf(T* element) requires(kIsPacked<T>) {
  return reinterpret_cast<uintptr_t>(element);
}

/// The bits of the element at a place, and other ones instead.
inline uint8_t BitsAt(uintptr_t place) {
  const auto* const byte = reinterpret_cast<const uint8_t*>(place / 2);
  return static_cast<uint8_t>(*byte >> (4 * (place & 1)) & 15);
}
inline void SetBitsAt(uintptr_t place, uint8_t bits) {
  auto* const byte = reinterpret_cast<uint8_t*>(place / 2);
  const int shift = 4 * static_cast<int>(place & 1);
  *byte = static_cast<uint8_t>((*byte & (0xF0 >> shift)) | (bits & 15) << shift);
}

/// The value of an element.
template <typename T>
int32_t IntegerAt(const T* element) {
  const int32_t bits = BitsAt(PlaceOf(element));
  return bits > std::numeric_limits<T>::max() ? bits - 16 : bits;
}

/// Copies `count` elements, the next of which is `step` places further on; and sets as many.
void CopyPlaces(uintptr_t from, int64_t from_step, uintptr_t to, int64_t to_step, int64_t count);
void FillPlaces(uintptr_t to, int64_t step, int64_t count, uint8_t bits);

}  // namespace internal
}  // namespace kiln::inline KILN_ABI
