// Integer operations of the language in 64 bits, and where they overflow.
#include "generator/ir/integer_operations.h"

#include <algorithm>
#include <limits>

namespace kiln {
namespace {

int64_t WrappingSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t WrappingMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// The division operations for a divisor that is neither 0 nor -1, and so cannot trap.
int64_t Divide(Op op, int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  const int64_t remainder = a % b;
  const bool negative = (a < 0) != (b < 0);
  switch (op) {
    case Op::kQuot:
      return quotient;
    case Op::kFloorDiv:
      return quotient - (remainder != 0 && negative);
    case Op::kCeilDiv:
      return quotient + (remainder != 0 && !negative);
    case Op::kMod:
      return remainder != 0 && negative ? remainder + b : remainder;
    default:  // Op::kRem
      return remainder;
  }
}

// `exponent` >= 0. `overflow` is set when the true value does not fit 64 bits.
int64_t Power(int64_t base, int64_t exponent, bool& overflow) {
  int64_t result = 1;
  bool base_overflow = false;  // matters only if that square is used
  while (exponent > 0) {
    if (exponent & 1) {
      int64_t product = 0;
      if (base_overflow || __builtin_mul_overflow(result, base, &product)) overflow = true;
      result = WrappingMul(result, base);
    }
    exponent >>= 1;
    int64_t square = 0;
    if (__builtin_mul_overflow(base, base, &square)) base_overflow = true;
    base = WrappingMul(base, base);
  }
  return result;
}

}  // namespace

EvalFault UnaryInteger(const Node& node, int64_t a, int64_t& out, bool& overflow) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  switch (node.op) {
    case Op::kNeg:
      overflow = a == kMin;
      out = WrappingSub(0, a);
      return EvalFault::kNone;
    case Op::kAbs:
      overflow = a == kMin;
      out = a < 0 ? WrappingSub(0, a) : a;
      return EvalFault::kNone;
    case Op::kNot:
      out = a == 0;
      return EvalFault::kNone;
    case Op::kBitNot:
      out = node.dtype == DType::kBool ? a == 0 : ~a;
      return EvalFault::kNone;
    case Op::kSign:
      out = (a > 0) - (a < 0);
      return EvalFault::kNone;
    case Op::kRelu:
      out = a < 0 ? 0 : a;
      return EvalFault::kNone;
    case Op::kCast:
      out = a;
      return EvalFault::kNone;
    case Op::kBitcast:
      out = a;
      return IsFloat(node.dtype) ? EvalFault::kUnknown : EvalFault::kNone;
    case Op::kReshape:
    case Op::kBroadcast:
      out = a;
      return node.shape.empty() ? EvalFault::kNone : EvalFault::kUnknown;
    default:
      return EvalFault::kUnknown;
  }
}

EvalFault BinaryInteger(const Node& node, int64_t a, int64_t b, int64_t& out, bool& overflow) {
  switch (node.op) {
    case Op::kAdd:
      overflow = __builtin_add_overflow(a, b, &out);
      return EvalFault::kNone;  // the builtin's result is the wrapped one
    case Op::kSub:
      overflow = __builtin_sub_overflow(a, b, &out);
      return EvalFault::kNone;
    case Op::kMul:
      overflow = __builtin_mul_overflow(a, b, &out);
      return EvalFault::kNone;
    case Op::kFloorDiv:
    case Op::kCeilDiv:
    case Op::kMod:
    case Op::kQuot:
    case Op::kRem:
      if (b == 0) return EvalFault::kDivideByZero;
      if (b != -1) {
        out = Divide(node.op, a, b);
        return EvalFault::kNone;
      }
      out = 0;  // a remainder by -1
      if (IsQuotient(node.op)) {
        overflow = __builtin_sub_overflow(int64_t{0}, a, &out);
      }
      return EvalFault::kNone;
    case Op::kPow:
      if (b < 0) return EvalFault::kDivideByZero;  // as undefined as 1 // 0
      out = Power(a, b, overflow);
      return EvalFault::kNone;
    case Op::kShl: {
      const bool past = b < 0 || b > 63;
      out = past ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
      overflow = past ? a != 0 : (out >> b) != a;
      return EvalFault::kNone;
    }
    case Op::kShr:
      out = a >> (b < 0 || b > 63 ? 63 : b);
      return EvalFault::kNone;
    case Op::kBitAnd:
      out = a & b;
      return EvalFault::kNone;
    case Op::kBitOr:
      out = a | b;
      return EvalFault::kNone;
    case Op::kBitXor:
      out = a ^ b;
      return EvalFault::kNone;
    case Op::kMax:
      out = std::max(a, b);
      return EvalFault::kNone;
    case Op::kMin:
      out = std::min(a, b);
      return EvalFault::kNone;
    default:
      return EvalFault::kUnknown;
  }
}

}  // namespace kiln
