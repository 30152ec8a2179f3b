// Single elements: what a kernel's scalar statements read and write, and elements of host arrays.
#if defined(KILN_ONE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_ONE_INL_H_
#undef KILN_ONE_INL_H_
#else
#define KILN_ONE_INL_H_
#endif

#include "kiln/core/core.h"
#include "kiln/core/tensor.h"
#include "kiln/core/tile.h"
#include "kiln/core/version.h"
#include "kiln/simd/lanes-inl.h"

#ifndef KILN_ONE_ONCE_
#define KILN_ONE_ONCE_
namespace kiln::inline KILN_ABI {

/// A narrow float of these bits.
template <typename T>
T FromBits(RawBits<T> bits) {
  static_assert(sizeof(T) == sizeof(bits));
  T element;
  std::memcpy(&element, &bits, sizeof bits);
  return element;
}

/// A bool is what its byte says, which may be anything where a block is past its array's edge.
inline bool IsSet(const bool* p) {
  unsigned char byte;
  std::memcpy(&byte, p, 1);
  return byte != 0;
}

/// Without vectors, for the check of a call, which is compiled for no target.
inline float FloatOf(f16 element) {
  uint16_t half;
  std::memcpy(&half, &element, sizeof half);
  // The bits in their place, then what the exponents begin with: 2^-14 and 2^-126.
  uint32_t bits = (half & 0x7FFFu) << 13;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  if (bits < 0x0F800000) {
    value *= 0x1p112f;
    std::memcpy(&bits, &value, sizeof bits);
  } else {
    bits |= 0x7F800000;  // an infinity, or the bits of a NaN
  }
  bits |= (half & 0x8000u) << 16;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline float FloatOf(f8e5m2 element) {
  return FloatOf(FromBits<f16>(static_cast<uint16_t>(element.bits << 8)));
}
inline float FloatOf(f8e4m3fn element) {
  const int bits = element.bits;
  if ((bits & 0x7F) == 0x7F) return FloatOf(f8e5m2{element.bits});  // a NaN there, too
  return 256 *
         FloatOf(FromBits<f16>(static_cast<uint16_t>((bits & 0x80) << 8 | (bits & 0x7F) << 7)));
}

inline float FloatOf(f8e8m0fnu element) {
  uint32_t bits = uint32_t{element.bits} << 23;
  if (element.bits == 0 || element.bits == 0xFF) bits |= 0x00400000;  // a subnormal, a NaN
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// An element of an array that the host reads, for a core or for the check of a call: out of its
/// range ends either with a diagnostic.
template <class Reporter, typename T, typename... I>
Rep<std::remove_const_t<T>> HostAt(Reporter&& reporter, const Tensor<T>& array, const char* name,
                                   I... index) {
  using E = std::remove_const_t<T>;
  const int64_t at[] = {static_cast<int64_t>(index)..., 0};
  int64_t offset = 0;
  for (int d = 0; d < static_cast<int>(sizeof...(I)); ++d) {
    if (at[d] < 0 || at[d] >= array.shape[d]) {
      reporter.Fail(kIndexRange, "%s[%lld] is read, but dimension %d has extent %lld", name,
                    static_cast<long long>(at[d]), d, static_cast<long long>(array.shape[d]));
      return {};
    }
    offset += at[d] * array.stride[d];
  }
  if constexpr (std::is_same_v<E, bf16>) {
    return hwy::F32FromBF16(array.data[offset]);
  } else if constexpr (kIsNarrowFloat<E>) {
    return FloatOf(array.data[offset]);
  } else if constexpr (std::is_same_v<E, bool>) {
    return IsSet(array.data + offset);
  } else {
    return static_cast<Rep<E>>(array.data[offset]);
  }
}

/// The same as an index.
template <class Reporter, typename T, typename... I>
int64_t IndexAt(Reporter&& reporter, const Tensor<T>& array, const char* name, I... index) {
  return static_cast<int64_t>(HostAt(reporter, array, name, index...));
}

/// Adds to a diagnostic of a block what the element is that chose it.
template <typename T, typename... I>
void AddElement(Core& core, const Tensor<T>& array, const char* name, I... index) {
  core.AddElement(name, {static_cast<int64_t>(index)...}, IndexAt(core, array, name, index...));
}

}  // namespace kiln::inline KILN_ABI
#endif  // KILN_ONE_ONCE_

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// The element as a scalar of its representation.
template <typename T>
HWY_INLINE Rep<T> LoadOne(const T* p) {
  if constexpr (std::is_same_v<T, bool>) {
    return IsSet(p);
  } else if constexpr (std::is_same_v<T, Rep<T>>) {
    return *p;
  } else if constexpr (std::is_same_v<Rep<T>, float>) {
    const OneLane<float> d;
    return hn::GetLane(Part<decltype(d)>(1).Load(p));
  } else if constexpr (kIsPacked<T>) {
    return internal::IntegerAt(p);
  } else {
    return static_cast<Rep<T>>(*p);
  }
}

/// Rounds floats and cuts integers off, as at.Store does.
template <typename X, typename T>
HWY_INLINE void StoreOne(X value, T* p) {
  if constexpr (std::is_same_v<T, X>) {
    *p = value;
  } else if constexpr (std::is_same_v<Rep<T>, float>) {
    const OneLane<float> d;
    Part<decltype(d)>(1).Store(hn::Set(d, static_cast<float>(value)), p);
  } else if constexpr (kIsPacked<T>) {
    internal::SetBitsAt(internal::PlaceOf(p), static_cast<uint8_t>(value));
  } else {
    *p = static_cast<T>(value);
  }
}

/// A tile without gaps between rows, so that another shape can look at its elements.
template <typename T, typename... E>
Tile<T, static_cast<int>(sizeof...(E))> MakeDenseTile(T* data, E... extents) {
  constexpr int kRank = sizeof...(E);
  Tile<T, kRank> tile;
  tile.data = data;
  tile.high = {static_cast<size_t>(extents)...};
  int64_t stride = 1;
  for (int v = kRank; v-- > 0;) {
    tile.stride[v] = stride;
    stride *= static_cast<int64_t>(tile.high[v]);
  }
  return tile;
}

template <typename T, typename... E>
size_t DenseSize(E... extents) {
  return (size_t{1} * ... * static_cast<size_t>(extents)) + kLineBytes / sizeof(T);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
