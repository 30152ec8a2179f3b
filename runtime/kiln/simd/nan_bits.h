// What this machine's arithmetic makes of the bits of a NaN.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "kiln/core/version.h"
#include "kiln/simd/float_mode.h"

namespace kiln::inline KILN_ABI::internal {

/// Whether sums, products and conversions give a NaN the bits of their operand's, quiet and cut to
/// size. The marks of undefined floats live on that (core/poison.h). x86 and Arm work like this in
/// the mode of a kernel; RISC-V makes one NaN of all. Vectors do what single floats do, but for
/// dots of bf16.
inline bool KeepsNanBits() {
  const FloatMode mode;
  // Volatile: what the compiler computes itself is not what the machine does.
  volatile uint32_t marked = 0x7FE50000;
  const uint32_t bits = marked;
  float nan;
  std::memcpy(&nan, &bits, sizeof nan);
  volatile double wide = nan;
  volatile const float sum = nan + 1, product = nan * 2, narrow = static_cast<float>(wide);
  for (const float got : {float{sum}, float{product}, float{narrow}}) {
    uint32_t kept = 0;
    std::memcpy(&kept, &got, sizeof kept);
    if ((kept & 0x7FFFFFFF) != bits) return false;
  }
  return true;
}

/// What keeps the bits of a NaN.
struct KeptNanBits {
  bool by_arithmetic;
  bool by_bf16_dots;
};

/// On this machine. Arm's products of pairs of bf16 make one NaN of all; whether a kernel is
/// compiled to use them is not asked.
inline KeptNanBits NanBitsKept() {
#if defined(__aarch64__)
  constexpr bool kByPairs = false;
#else
  constexpr bool kByPairs = true;
#endif
  const bool by_arithmetic = KeepsNanBits();
  return {by_arithmetic, by_arithmetic && kByPairs};
}

}  // namespace kiln::inline KILN_ABI::internal
