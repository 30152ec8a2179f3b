// What undefined memory of the emulated machine holds.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kiln/core/options.h"
#include "kiln/core/status.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI::internal {

/// Why memory is undefined. Floats say it by the NaN they hold, so that a diagnostic has the rule
/// that the interpreter gives for the same fault.
enum class Hole : int32_t {
  kUnset,     // scratch, the target of a copy in flight, and whatever was computed from kUnstored
  kUnstored,  // an output block at the start of its stay, as long as no step stores
  kEdge,      // an input past its array's edge
};

/// Eight bytes of undefined elements; of random ones, what bits may be set, and what are.
struct Poison64 {
  uint64_t word;
  uint64_t may;
  uint64_t are;
};

template <typename T>
using BitsOf =
    std::conditional_t<sizeof(T) == 1, uint8_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t,
                                          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

/// The bits of the mantissa: of a NaN, the first says that it is quiet.
template <typename T>
constexpr int kMantissa = DtypeTraits<T>::kMantissa;

/// An undefined float is a NaN whose mantissa begins with two bits for the hole and a mark. The
/// first is 0 of what is not stored yet, and any arithmetic sets it; the second is 0 past an edge.
/// Conversions keep all of them. Neither the NaNs that operations make (1000 …) nor bytes of ones,
/// which programs leave in their own arrays, have the mark.
constexpr int kHoleBits = 2;
constexpr int kMarkBits = 4;
constexpr int kMark = 0b0101;

/// Of a float: the mark and what is before it, both bits of the hole set.
template <typename T>
constexpr BitsOf<T> kMarkedNan =
    static_cast<BitsOf<T>>((~BitsOf<T>{0} << (kMantissa<T> - kHoleBits)) |
                           (BitsOf<T>{kMark} << (kMantissa<T> - kHoleBits - kMarkBits)));

/// The same bits in each element of eight bytes.
template <typename T>
constexpr uint64_t InEach(BitsOf<T> bits) {
  uint64_t word = 0;
  for (size_t at = 0; at < 8; at += sizeof(T)) word |= static_cast<uint64_t>(bits) << (8 * at);
  return word;
}

/// The first bit of the exponent, which is behind a sign, if there is one.
template <typename T>
constexpr BitsOf<T> kFirst = static_cast<BitsOf<T>>(BitsOf<T>{1}
                                                    << (8 * sizeof(T) - (kIsPower<T> ? 1 : 2)));

/// Random floats are neither NaN nor so small that a sum does not change by them: from 2 on, to
/// 2^8 of f16, 2^64 of f32, by the first two bits of the exponent.
template <typename T>
constexpr Poison64 PoisonOf(Hole hole) {
  if constexpr (std::is_same_v<T, bool>) {
    return {0x0101010101010101u, 0x0101010101010101u, 0};
  } else if constexpr (kIsFloating<T> && !kMarksUndefined<T>) {
    // The NaN without a sign, which arithmetic does not make; of powers the only one.
    return {InEach<T>(kIsPower<T> ? 0xFF : 0x7F), ~InEach<T>(kFirst<T> >> 1), InEach<T>(kFirst<T>)};
  } else if constexpr (kIsFloating<T>) {
    using Bits = BitsOf<T>;
    Bits bits = kMarkedNan<T>;
    if (hole == Hole::kUnstored) bits = static_cast<Bits>(bits ^ (Bits{1} << (kMantissa<T> - 1)));
    if (hole == Hole::kEdge) bits = static_cast<Bits>(bits ^ (Bits{1} << (kMantissa<T> - 2)));
    return {InEach<T>(bits), ~InEach<T>(kFirst<T> >> 1), InEach<T>(kFirst<T>)};
  } else {
    // Random neighbours have other signs: the largest of two is positive, the least is negative.
    constexpr int kBits = kBitsOf<T>;
    constexpr uint64_t kSign = uint64_t{1} << (kBits - 1);
    return {~uint64_t{0}, ~kSign, kBits == 64 ? 0 : kSign << (kBits % 64)};
  }
}

/// All bits of an element that is poison, also after arithmetic and conversions, which keep the
/// first bits of a NaN but for its sign; 0 of others. Any integer may be a value: see FindUndefined
/// of the generator.
template <typename T>
BitsOf<T> PoisonMask(T value) {
  using Bits = BitsOf<T>;
  if constexpr (kMarksUndefined<T>) {
    // Masks as wide as the elements are what compilers make vectors of. The mantissa of a bf16 has
    // a bit more than is looked at.
    constexpr int kLooked = kHoleBits + kMarkBits;
    constexpr Bits kSigned = static_cast<Bits>(~Bits{0} >> 1);
    constexpr Bits kMask = static_cast<Bits>((~Bits{0} << (kMantissa<T> - kLooked)) & kSigned);
    constexpr Bits kPoison = static_cast<Bits>(kMarkedNan<T> & kSigned);
    constexpr Bits kTwo = static_cast<Bits>(Bits{3} << (kMantissa<T> - kHoleBits));
    Bits bits;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<Bits>((bits | kTwo) & kMask) == kPoison ? static_cast<Bits>(~Bits{0})
                                                               : Bits{0};
  } else {
    return Bits{0};
  }
}
template <typename T>
bool IsPoison(T value) {
  return PoisonMask(value) != 0;
}

/// Of an element that is poison.
template <typename T>
Hole HoleOf(T value) {
  if constexpr (kMarksUndefined<T>) {
    using Bits = BitsOf<T>;
    Bits bits;
    std::memcpy(&bits, &value, sizeof bits);
    if ((bits >> (kMantissa<T> - 2) & 1) == 0) return Hole::kEdge;
    if ((bits >> (kMantissa<T> - 1) & 1) == 0) return Hole::kUnstored;
  }
  return Hole::kUnset;
}

/// An element of an operand of a dot past its array's edge.
template <typename T>
T PoisonedEdge() {
  constexpr Poison64 kPoison = PoisonOf<T>(Hole::kEdge);
  T value;
  std::memcpy(static_cast<void*>(&value), &kPoison.word, sizeof(T));
  return value;
}

/// What memory of this kind holds.
inline Poison PoisonIn(const Options& options, Hole hole) {
  if (options.poison != Poison::kZeroEdges) return options.poison;
  return hole == Hole::kEdge ? Poison::kZero : Poison::kNan;
}
/// Whether floats show that they are undefined.
inline bool HasPoison(const Options& options) {
  return PoisonIn(options, Hole::kUnset) == Poison::kNan;
}

/// What an operation without a value gives: in runs that differ in their poison another number, so
/// that results which depend on it differ, too.
inline int64_t NoValueIn(const Options& options) {
  if (options.poison == Poison::kZero) return 1;
  return options.poison == Poison::kRandom ? int64_t{0x2F6E2B1} : 0;
}

/// Makes memory undefined in the way that the options say. It begins with a whole element.
void FillPoison(const Options& options, Hole hole, Poison64 poison, void* data, size_t bytes);

/// One element past an edge, as it is in such memory.
template <typename T>
T UndefinedEdge(const Options& options) {
  T value;
  FillPoison(options, Hole::kEdge, PoisonOf<T>(Hole::kEdge), static_cast<void*>(&value), sizeof(T));
  return value;
}

}  // namespace kiln::inline KILN_ABI::internal
