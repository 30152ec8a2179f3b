#include "generator/check/grid/lanes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "generator/text/integer.h"

namespace kiln {
namespace {

constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();

// All loops run over a whole register: a trip count the compiler knows is one it can vectorise.
template <typename F>
void Map(const int64_t* a, int64_t* __restrict to, F f) {
  for (int i = 0; i < kLanes; ++i) to[i] = f(a[i]);
}

template <typename F>
void Map(const int64_t* a, const int64_t* b, int64_t* __restrict to, F f) {
  for (int i = 0; i < kLanes; ++i) to[i] = f(a[i], b[i]);
}

int64_t WrapAdd(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
int64_t WrapSub(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }
int64_t WrapMul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

/// Adds; true when some lane overflowed.
bool CheckedAdd(const int64_t* a, const int64_t* b, int64_t* __restrict to) {
  int64_t signs = 0;
  for (int i = 0; i < kLanes; ++i) {
    const int64_t sum = WrapAdd(a[i], b[i]);
    signs |= (a[i] ^ sum) & (b[i] ^ sum);
    to[i] = sum;
  }
  return signs < 0;
}

bool CheckedSub(const int64_t* a, const int64_t* b, int64_t* __restrict to) {
  int64_t signs = 0;
  for (int i = 0; i < kLanes; ++i) {
    const int64_t difference = WrapSub(a[i], b[i]);
    signs |= (a[i] ^ b[i]) & (a[i] ^ difference);
    to[i] = difference;
  }
  return signs < 0;
}

bool CheckedMul(const int64_t* a, const int64_t* b, int64_t* __restrict to) {
  bool overflow = false;
  for (int i = 0; i < kLanes; ++i) {
    long long product = 0;
    overflow |= __builtin_mul_overflow(a[i], b[i], &product);
    to[i] = product;
  }
  return overflow;
}

/// `base` to the power `exponent` >= 0, wrapping; `overflow` says whether it did.
int64_t Power(int64_t base, int64_t exponent, bool& overflow) {
  int64_t result = 1;
  bool base_overflow = false;  // matters only if the squared base is used
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) {
      long long product = 0;
      overflow |= base_overflow || __builtin_mul_overflow(result, base, &product);
      result = WrapMul(result, base);
    }
    long long square = 0;
    base_overflow |= __builtin_mul_overflow(base, base, &square);
    base = WrapMul(base, base);
  }
  return result;
}

int64_t ShiftLeft(int64_t a, int64_t b, int width, bool& overflow) {
  if (a == 0) return 0;
  if (b < 0 || b >= width) {
    overflow = true;
    return 0;
  }
  const int64_t shifted = int64_t(uint64_t(a) << b);
  overflow |= (shifted >> b) != a;
  return shifted;
}

int64_t ShiftRight(int64_t a, int64_t b, int width) {
  return b < 0 || b >= width ? (a < 0 ? -1 : 0) : a >> b;
}

int WidthOf(DType dtype) {
  return dtype == DType::kIndex || IsWeak(dtype) ? 64 : RowOf(dtype).bits;
}

/// One operation that can fail, in one lane. The arithmetic of kIndex is checked; elsewhere only
/// an undefined result (division by zero) is a fault, and it is no diagnostic.
EvalFault Apply(const Instruction& op, int64_t a, int64_t b, int64_t& to) {
  bool overflow = false;
  long long wide = 0;
  switch (op.op) {
    case Op::kAdd:
      overflow = __builtin_add_overflow(a, b, &wide);
      to = WrapAdd(a, b);
      break;
    case Op::kSub:
      overflow = __builtin_sub_overflow(a, b, &wide);
      to = WrapSub(a, b);
      break;
    case Op::kMul:
      overflow = __builtin_mul_overflow(a, b, &wide);
      to = WrapMul(a, b);
      break;
    case Op::kPow:
      to = 0;
      if (b < 0) return EvalFault::kUnknown;
      to = Power(a, b, overflow);
      break;
    case Op::kShl:
      to = ShiftLeft(a, b, WidthOf(op.dtype), overflow);
      break;
    default:  // the divisions
      to = 0;
      if (b == 0) return op.checked ? EvalFault::kDivideByZero : EvalFault::kUnknown;
      if (b == -1) {  // the one quotient that overflows: it traps on common machines
        const bool quotient = IsQuotient(op.op);
        overflow = quotient && a == kMin64;
        to = quotient ? WrapSub(0, a) : 0;
        break;
      }
      to = op.op == Op::kFloorDiv  ? FloorDivide(a, b)
           : op.op == Op::kCeilDiv ? CeilDivide(a, b)
           : op.op == Op::kMod     ? FloorModulo(a, b)
           : op.op == Op::kQuot    ? a / b
                                   : a % b;
  }
  return overflow && op.checked ? EvalFault::kOverflow : EvalFault::kNone;
}

bool ApplyLanes(const Instruction& op, const int64_t* a, const int64_t* b, int64_t* to) {
  bool faulty = false;
  for (int i = 0; i < kLanes; ++i) faulty |= Apply(op, a[i], b[i], to[i]) != EvalFault::kNone;
  return faulty;
}

/// Floor division and modulo by a power of two.
void DivideByPower(Op op, const int64_t* a, int64_t divisor, int64_t* __restrict to) {
  const int shift = std::countr_zero(uint64_t(divisor));
  if (op == Op::kMod) {
    Map(a, to, [=](int64_t x) { return x & (divisor - 1); });
  } else if (op == Op::kFloorDiv) {
    Map(a, to, [=](int64_t x) { return x >> shift; });
  } else {
    Map(a, to, [=](int64_t x) { return (x >> shift) + ((x & (divisor - 1)) != 0); });
  }
}

/// Division of values in [0, 2^51) by a positive constant: the quotient of doubles is off by at
/// most one, and correcting it is cheaper than a 64-bit division.
void DivideSmall(Op op, const int64_t* a, int64_t divisor, int64_t* __restrict to) {
  const double inverse = 1.0 / double(divisor);
  for (int i = 0; i < kLanes; ++i) {
    int64_t q = int64_t(double(a[i]) * inverse);
    int64_t r = a[i] - q * divisor;
    const int64_t low = r < 0, high = r >= divisor;
    q += high - low;
    r += (low - high) * divisor;
    to[i] = op == Op::kMod ? r : op == Op::kFloorDiv ? q : q + (r != 0);
  }
}

bool DivideLanes(const Instruction& op, const int64_t* a, const int64_t* b, bool constant,
                 int64_t* to) {
  const int64_t divisor = b[0];
  const bool truncates = op.op == Op::kRem || op.op == Op::kQuot;
  if (!constant || divisor <= 0 || truncates) return ApplyLanes(op, a, b, to);
  if (std::has_single_bit(uint64_t(divisor))) {
    DivideByPower(op.op, a, divisor, to);
    return false;
  }
  uint64_t all = 0;
  for (int i = 0; i < kLanes; ++i) all |= uint64_t(a[i]);
  if ((all >> 51) != 0 || (divisor >> 51) != 0) return ApplyLanes(op, a, b, to);
  DivideSmall(op.op, a, divisor, to);
  return false;
}

template <typename T>
void GatherAs(const std::byte* from, const int64_t* at, int64_t* __restrict to) {
  for (int i = 0; i < kLanes; ++i) {
    T value;
    std::memcpy(&value, from + size_t(at[i]) * sizeof(T), sizeof(T));
    to[i] = int64_t(value);
  }
}

void WrapLanes(DType dtype, const int64_t* a, int64_t* __restrict to) {
  switch (dtype) {
    case DType::kI32:
      return Map(a, to, [](int64_t x) { return int64_t(int32_t(x)); });
    case DType::kU32:
      return Map(a, to, [](int64_t x) { return int64_t(uint32_t(x)); });
    case DType::kBool:
      return Map(a, to, [](int64_t x) { return int64_t(x != 0); });
    case DType::kI4:
    case DType::kU4:
    case DType::kI8:
    case DType::kU8:
    case DType::kI16:
    case DType::kU16:
    case DType::kI64:
    case DType::kIndex:
    case DType::kWeakInt:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kF8E8M0FNU:
    case DType::kBF16:
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
    case DType::kWeakFloat:
      return Map(a, to, [=](int64_t x) { return Wrap(x, dtype); });
  }
}

void CompareLanes(Op op, const int64_t* a, const int64_t* b, int64_t* to) {
  switch (AsComparison(op)) {
    case ComparisonOp::kLt:
      return Map(a, b, to, [](int64_t x, int64_t y) { return int64_t(x < y); });
    case ComparisonOp::kLe:
      return Map(a, b, to, [](int64_t x, int64_t y) { return int64_t(x <= y); });
    case ComparisonOp::kGt:
      return Map(a, b, to, [](int64_t x, int64_t y) { return int64_t(x > y); });
    case ComparisonOp::kGe:
      return Map(a, b, to, [](int64_t x, int64_t y) { return int64_t(x >= y); });
    case ComparisonOp::kEq:
      return Map(a, b, to, [](int64_t x, int64_t y) { return int64_t(x == y); });
    case ComparisonOp::kNe:
      return Map(a, b, to, [](int64_t x, int64_t y) { return int64_t(x != y); });
  }
}

void SelectLanes(const int64_t* c, const int64_t* a, const int64_t* b, int64_t* __restrict to) {
  for (int i = 0; i < kLanes; ++i) {
    const int64_t chosen = -int64_t(c[i] != 0);
    to[i] = (a[i] & chosen) | (b[i] & ~chosen);
  }
}

}  // namespace

EvalFault ComputeLane(const Instruction& op, int64_t a, int64_t b) {
  int64_t ignored = 0;
  return Apply(op, a, b, ignored);
}

bool ComputeLanes(const Instruction& op, const int64_t* a, const int64_t* b, const int64_t* c,
                  int64_t* to) {
  if (IsComparison(op.op)) {
    CompareLanes(op.op, a, b, to);
    return false;
  }
  switch (op.op) {
    case Op::kAdd:
      if (op.checked) return CheckedAdd(a, b, to);
      Map(a, b, to, WrapAdd);
      return false;
    case Op::kSub:
      if (op.checked) return CheckedSub(a, b, to);
      Map(a, b, to, WrapSub);
      return false;
    case Op::kMul:
      if (op.checked) return CheckedMul(a, b, to);
      Map(a, b, to, WrapMul);
      return false;
    case Op::kFloorDiv:
    case Op::kCeilDiv:
    case Op::kMod:
    case Op::kQuot:
    case Op::kRem:
      return DivideLanes(op, a, b, op.value != 0, to);
    case Op::kPow:
    case Op::kShl:
      return ApplyLanes(op, a, b, to);
    case Op::kShr:
      Map(a, b, to, [w = WidthOf(op.dtype)](int64_t x, int64_t y) { return ShiftRight(x, y, w); });
      return false;
    case Op::kBitAnd:
    case Op::kAnd:
      Map(a, b, to, [](int64_t x, int64_t y) { return x & y; });
      return false;
    case Op::kBitOr:
    case Op::kOr:
      Map(a, b, to, [](int64_t x, int64_t y) { return x | y; });
      return false;
    case Op::kBitXor:
      Map(a, b, to, [](int64_t x, int64_t y) { return x ^ y; });
      return false;
    case Op::kBitNot:
      Map(a, to, [](int64_t x) { return ~x; });
      return false;
    case Op::kNot:
      Map(a, to, [](int64_t x) { return x ^ 1; });
      return false;
    case Op::kMax:
      Map(a, b, to, [](int64_t x, int64_t y) { return std::max(x, y); });
      return false;
    case Op::kMin:
      Map(a, b, to, [](int64_t x, int64_t y) { return std::min(x, y); });
      return false;
    case Op::kSign:
      Map(a, to, [](int64_t x) { return int64_t(x > 0) - int64_t(x < 0); });
      return false;
    case Op::kWhere:
      SelectLanes(a, b, c, to);
      return false;
    default:
      WrapLanes(op.dtype, a, to);
      return false;  // kCast
  }
}

void GatherLanes(const Array& array, const int64_t* at, int64_t* to) {
  const std::byte* from = array.bytes.data();
  switch (array.dtype) {
    case DType::kI8:
      return GatherAs<int8_t>(from, at, to);
    case DType::kU8:
      return GatherAs<uint8_t>(from, at, to);
    case DType::kI16:
      return GatherAs<int16_t>(from, at, to);
    case DType::kU16:
      return GatherAs<uint16_t>(from, at, to);
    case DType::kI32:
      return GatherAs<int32_t>(from, at, to);
    case DType::kU32:
      return GatherAs<uint32_t>(from, at, to);
    case DType::kI64:
      return GatherAs<int64_t>(from, at, to);
    case DType::kBool:
      for (int i = 0; i < kLanes; ++i) to[i] = from[size_t(at[i])] != std::byte{0};
      return;
    case DType::kI4:
    case DType::kU4:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kF8E8M0FNU:
    case DType::kBF16:
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
    case DType::kIndex:
    case DType::kWeakInt:
    case DType::kWeakFloat:
      std::abort();  // neither is looked up in an index
  }
}

}  // namespace kiln
