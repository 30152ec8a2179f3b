// Index arithmetic of values that only a call knows: what leaves 64 bits wraps around, and ends the
// call with a diagnostic of the spec's line.
#if defined(KILN_INDEX_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_INDEX_INL_H_
#undef KILN_INDEX_INL_H_
#else
#define KILN_INDEX_INL_H_
#endif

#include "kiln/core/core.h"
#include "kiln/core/version.h"
#include "kiln/simd/scalar-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

template <class Reporter>
void FailIndex(Reporter&& reporter, int32_t line, const char* operation, int64_t a, int64_t b) {
  reporter.Fail(kIndexRange, "%s of %lld and %lld leaves 64 bits (line %d)", operation,
                static_cast<long long>(a), static_cast<long long>(b), line);
}

template <class Reporter>
int64_t AddIndex(Reporter&& reporter, int32_t line, int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) FailIndex(reporter, line, "the sum", a, b);
  return sum;
}

template <class Reporter>
int64_t SubIndex(Reporter&& reporter, int32_t line, int64_t a, int64_t b) {
  int64_t difference;
  if (__builtin_sub_overflow(a, b, &difference)) FailIndex(reporter, line, "the difference", a, b);
  return difference;
}

template <class Reporter>
int64_t MulIndex(Reporter&& reporter, int32_t line, int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) FailIndex(reporter, line, "the product", a, b);
  return product;
}

template <class Reporter>
int64_t NegateIndex(Reporter&& reporter, int32_t line, int64_t a) {
  return SubIndex(reporter, line, 0, a);
}

template <class Reporter>
int64_t AbsIndex(Reporter&& reporter, int32_t line, int64_t a) {
  return a < 0 ? NegateIndex(reporter, line, a) : a;
}

template <class Reporter>
int64_t ShlIndex(Reporter&& reporter, int32_t line, int64_t a, int64_t b) {
  const int64_t shifted = ShiftLeftScalar(a, b);
  const bool fits = a == 0 || (b >= 0 && b <= 62 && shifted >> b == a);
  if (!fits) FailIndex(reporter, line, "the shift", a, b);
  return shifted;
}

template <class Reporter>
int64_t PowIndex(Reporter&& reporter, int32_t line, int64_t a, int64_t b, int64_t no_value = 0) {
  bool fits = true;
  if (a < -1 || a > 1) {
    int64_t power = 1;
    // Whoever is 2 or more is too large after 64 times.
    for (int64_t i = 0; i < b && fits; ++i) fits = !__builtin_mul_overflow(power, a, &power);
  }
  if (!fits) FailIndex(reporter, line, "the power", a, b);
  return Pow(a, b, no_value);
}

/// The one quotient that 64 bits do not hold.
template <class Reporter>
void CheckQuotient(Reporter&& reporter, int32_t line, int64_t a, int64_t b) {
  if (a == INT64_MIN && b == -1) FailIndex(reporter, line, "the quotient", a, b);
}

template <class Reporter>
int64_t FloorDivIndex(Reporter&& reporter, int32_t line, int64_t a, int64_t b,
                      int64_t no_value = 0) {
  CheckQuotient(reporter, line, a, b);
  return FloorDiv(a, b, no_value);
}

template <class Reporter>
int64_t CeilDivIndex(Reporter&& reporter, int32_t line, int64_t a, int64_t b,
                     int64_t no_value = 0) {
  CheckQuotient(reporter, line, a, b);
  return CeilDiv(a, b, no_value);
}

template <class Reporter>
int64_t TruncDivIndex(Reporter&& reporter, int32_t line, int64_t a, int64_t b,
                      int64_t no_value = 0) {
  CheckQuotient(reporter, line, a, b);
  return TruncDiv(a, b, no_value);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_INDEX_INL_H_
