// The arithmetic that kernels are compiled for, whatever their caller has chosen for his own.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>

#include "kiln/core/version.h"
#endif

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "Kernels compute with NaN, infinities and signed zeros: compile them with -fno-fast-math"
#endif

namespace kiln::inline KILN_ABI::internal {

/// While it lives, this thread rounds to the nearest and keeps subnormal numbers. A program that is
/// linked with -ffast-math sets its threads to flush them, and some libraries do as they are
/// loaded.
class FloatMode {
 public:
  FloatMode() : before_(Read()) {
    if ((before_ & kModes) != kPlain) Write((before_ & ~kModes) | kPlain);
  }
  ~FloatMode() {
    if ((before_ & kModes) != kPlain) Write(before_);
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
#if defined(__SSE2__)
  using Bits = unsigned;
  // Flush to zero, rounding, masks of exceptions, subnormal operands are zero.
  static constexpr Bits kModes = 0xFFC0, kPlain = 0x1F80;
  static Bits Read() { return _mm_getcsr(); }
  static void Write(Bits bits) { _mm_setcsr(bits); }
#elif defined(__aarch64__)
  using Bits = uint64_t;
  // Default NaN, flush to zero (also f16's), rounding, traps.
  static constexpr Bits kModes = 0x07C89F00, kPlain = 0;
  static Bits Read() {
    Bits bits;
    asm volatile("mrs %0, fpcr" : "=r"(bits));
    return bits;
  }
  static void Write(Bits bits) { asm volatile("msr fpcr, %0" : : "r"(bits)); }
#else
  using Bits = unsigned;
  static constexpr Bits kModes = 0, kPlain = 0;
  static Bits Read() { return 0; }
  static void Write(Bits) {}
#endif

  const Bits before_;
};

#if defined(__SSE2__)
/// While it lives, subnormal numbers are zeros to this thread, as they are to AMX.
class FlushedSubnormals {
 public:
  FlushedSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kToZero | kAreZero); }
  ~FlushedSubnormals() { _mm_setcsr(before_); }
  FlushedSubnormals(const FlushedSubnormals&) = delete;
  FlushedSubnormals& operator=(const FlushedSubnormals&) = delete;

 private:
  static constexpr unsigned kToZero = 0x8000, kAreZero = 0x0040;
  const unsigned before_;
};
#endif

}  // namespace kiln::inline KILN_ABI::internal
