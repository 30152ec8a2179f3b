#include "generator/interpret/tiles/functions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <vector>

namespace kiln::interpret {
namespace {

using I = int64_t;
using F = double;

// Integer arithmetic wraps at 64 bits here and is then wrapped to its dtype, which gives the same
// as arithmetic in that dtype.
I Signed(uint64_t x) { return static_cast<I>(x); }
uint64_t Bits(I x) { return static_cast<uint64_t>(x); }
I Negate(I x) { return Signed(0 - Bits(x)); }

// No value (see ExceptByZero) still has to be computed without a trap, hence the zeros.
I Truncate(I a, I b) {
  if (b == 0) return 0;
  return b == -1 ? Negate(a) : a / b;
}
I Remainder(I a, I b) { return b == 0 || b == -1 ? 0 : a % b; }
bool Inexact(I a, I b) { return Remainder(a, b) != 0; }
bool Negative(I a, I b) { return (a < 0) != (b < 0); }
I FloorDivide(I a, I b) { return Truncate(a, b) - (Inexact(a, b) && Negative(a, b)); }
I CeilDivide(I a, I b) { return Truncate(a, b) + (Inexact(a, b) && !Negative(a, b)); }
I Modulo(I a, I b) { return Remainder(a, b) + (Inexact(a, b) && Negative(a, b) ? b : 0); }

bool PastWidth(I n) { return n < 0 || n > 63; }
I ShiftLeft(I a, I n) { return PastWidth(n) ? 0 : Signed(Bits(a) << n); }
I ShiftRight(I a, I n) { return a >> (PastWidth(n) ? 63 : n); }

I Power(I base, I exponent) {
  uint64_t result = 1;
  uint64_t square = Bits(base);
  for (; exponent > 0; exponent >>= 1, square *= square) {
    if (exponent & 1) result *= square;
  }
  return Signed(result);
}

// The remainder with the divisor's sign, and the floor that goes with it, as in numpy.
F FloatModulo(F a, F b) {
  const F r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
F FloatFloorDivide(F a, F b) {
  if (b == 0) return a / b;
  if (std::isinf(b) && std::isfinite(a)) return a != 0 && (a < 0) != (b < 0) ? -1 : 0 / b;
  return std::nearbyint((a - FloatModulo(a, b)) / b);
}

F Larger(F a, F b) { return a > b || std::isnan(a) ? a : b; }
F Smaller(F a, F b) { return a < b || std::isnan(a) ? a : b; }
F Sign(F x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
F Sigmoid(F x) { return 1 / (1 + std::exp(-x)); }
// erfc keeps the accuracy where 1 + erf cancels.
F Gelu(F x) { return x * std::erfc(-x / std::numbers::sqrt2) / 2; }
F GeluTanh(F x) {
  return x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))) / 2;
}

// log(1 + exp(x)) without overflow, as jax.nn.softplus has it.
F Softplus(F x) { return Larger(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

template <typename In, typename Out, typename Function>
void Loop(int64_t n, const In* const* args, Out* to) {
  const In* a = args[0];
  const In* b = args[1];
  const In* c = args[2];
  const Function f{};
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_invocable_v<Function, In>)
      to[i] = f(a[i]);
    else if constexpr (std::is_invocable_v<Function, In, In>)
      to[i] = f(a[i], b[i]);
    else
      to[i] = f(a[i], b[i], c[i]);
  }
}

/// A row of the table.
struct On {
  Op op;
  Meaning meaning = {};

  explicit constexpr On(Op o) : op(o) {}
  template <typename Function>
  constexpr On Floats(Function) {
    meaning.floats = &Loop<F, F, Function>;
    return *this;
  }
  template <typename Function>
  constexpr On Ints(Function) {
    meaning.ints = &Loop<I, I, Function>;
    return *this;
  }
  template <typename Function>
  constexpr On Tests(Function) {
    meaning.tests = &Loop<F, I, Function>;
    return *this;
  }
  constexpr On ExceptByZero() {
    meaning.no_value = [](I b) { return b == 0; };
    return *this;
  }
  constexpr On ExceptByNegative() {
    meaning.no_value = [](I b) { return b < 0; };
    meaning.why = Origin::Kind::kPower;
    return *this;
  }
};

// The meaning of every elementwise operation but those that have rules of their own (`SpecialOp`).
constexpr On kTable[] = {
    On(Op::kNeg).Floats([](F x) { return -x; }).Ints([](I x) { return Negate(x); }),
    On(Op::kBitNot).Ints([](I x) { return ~x; }),
    On(Op::kNot).Ints([](I x) { return x == 0; }),

    On(Op::kAdd).Floats([](F a, F b) { return a + b; }).Ints([](I a, I b) {
      return Signed(Bits(a) + Bits(b));
    }),
    On(Op::kSub).Floats([](F a, F b) { return a - b; }).Ints([](I a, I b) {
      return Signed(Bits(a) - Bits(b));
    }),
    On(Op::kMul).Floats([](F a, F b) { return a * b; }).Ints([](I a, I b) {
      return Signed(Bits(a) * Bits(b));
    }),
    On(Op::kDiv).Floats([](F a, F b) { return a / b; }),
    On(Op::kFloorDiv)
        .Floats([](F a, F b) { return FloatFloorDivide(a, b); })
        .Ints([](I a, I b) { return FloorDivide(a, b); })
        .ExceptByZero(),
    On(Op::kMod)
        .Floats([](F a, F b) { return FloatModulo(a, b); })
        .Ints([](I a, I b) { return Modulo(a, b); })
        .ExceptByZero(),
    On(Op::kRem)
        .Floats([](F a, F b) { return std::fmod(a, b); })
        .Ints([](I a, I b) { return Remainder(a, b); })
        .ExceptByZero(),
    On(Op::kQuot).Ints([](I a, I b) { return Truncate(a, b); }).ExceptByZero(),
    On(Op::kCeilDiv).Ints([](I a, I b) { return CeilDivide(a, b); }).ExceptByZero(),
    On(Op::kPow)
        .Floats([](F a, F b) { return std::pow(a, b); })
        .Ints([](I a, I b) { return Power(a, b); })
        .ExceptByNegative(),

    On(Op::kShl).Ints([](I a, I n) { return ShiftLeft(a, n); }),
    On(Op::kShr).Ints([](I a, I n) { return ShiftRight(a, n); }),
    On(Op::kBitAnd).Ints([](I a, I b) { return a & b; }),
    On(Op::kBitOr).Ints([](I a, I b) { return a | b; }),
    On(Op::kBitXor).Ints([](I a, I b) { return a ^ b; }),

    On(Op::kLt).Tests([](F a, F b) { return a < b; }).Ints([](I a, I b) { return a < b; }),
    On(Op::kLe).Tests([](F a, F b) { return a <= b; }).Ints([](I a, I b) { return a <= b; }),
    On(Op::kGt).Tests([](F a, F b) { return a > b; }).Ints([](I a, I b) { return a > b; }),
    On(Op::kGe).Tests([](F a, F b) { return a >= b; }).Ints([](I a, I b) { return a >= b; }),
    On(Op::kEq).Tests([](F a, F b) { return a == b; }).Ints([](I a, I b) { return a == b; }),
    On(Op::kNe).Tests([](F a, F b) { return a != b; }).Ints([](I a, I b) { return a != b; }),

    On(Op::kMax).Floats([](F a, F b) { return Larger(a, b); }).Ints([](I a, I b) {
      return std::max(a, b);
    }),
    On(Op::kMin).Floats([](F a, F b) { return Smaller(a, b); }).Ints([](I a, I b) {
      return std::min(a, b);
    }),
    On(Op::kClamp)
        .Floats([](F x, F low, F high) { return Smaller(Larger(x, low), high); })
        .Ints([](I x, I low, I high) { return std::min(std::max(x, low), high); }),

    On(Op::kAbs).Floats([](F x) { return std::fabs(x); }).Ints([](I x) {
      return x < 0 ? Negate(x) : x;
    }),
    On(Op::kSign).Floats([](F x) { return Sign(x); }).Ints([](I x) { return I{x > 0} - I{x < 0}; }),
    On(Op::kRelu).Floats([](F x) { return Larger(x, 0); }).Ints([](I x) {
      return std::max<I>(x, 0);
    }),
    On(Op::kFloor).Floats([](F x) { return std::floor(x); }),
    On(Op::kCeil).Floats([](F x) { return std::ceil(x); }),
    On(Op::kRound).Floats([](F x) { return std::nearbyint(x); }),
    On(Op::kExp).Floats([](F x) { return std::exp(x); }),
    On(Op::kExp2).Floats([](F x) { return std::exp2(x); }),
    On(Op::kExpm1).Floats([](F x) { return std::expm1(x); }),
    On(Op::kLog).Floats([](F x) { return std::log(x); }),
    On(Op::kLog2).Floats([](F x) { return std::log2(x); }),
    On(Op::kLog1p).Floats([](F x) { return std::log1p(x); }),
    On(Op::kTanh).Floats([](F x) { return std::tanh(x); }),
    On(Op::kSinh).Floats([](F x) { return std::sinh(x); }),
    On(Op::kCosh).Floats([](F x) { return std::cosh(x); }),
    On(Op::kAsinh).Floats([](F x) { return std::asinh(x); }),
    On(Op::kAcosh).Floats([](F x) { return std::acosh(x); }),
    On(Op::kAtanh).Floats([](F x) { return std::atanh(x); }),
    On(Op::kErf).Floats([](F x) { return std::erf(x); }),
    On(Op::kErfc).Floats([](F x) { return std::erfc(x); }),
    On(Op::kSigmoid).Floats([](F x) { return Sigmoid(x); }),
    On(Op::kSqrt).Floats([](F x) { return std::sqrt(x); }),
    On(Op::kRsqrt).Floats([](F x) { return 1 / std::sqrt(x); }),
    On(Op::kCbrt).Floats([](F x) { return std::cbrt(x); }),
    On(Op::kSin).Floats([](F x) { return std::sin(x); }),
    On(Op::kCos).Floats([](F x) { return std::cos(x); }),
    On(Op::kTan).Floats([](F x) { return std::tan(x); }),
    On(Op::kAsin).Floats([](F x) { return std::asin(x); }),
    On(Op::kAcos).Floats([](F x) { return std::acos(x); }),
    On(Op::kAtan).Floats([](F x) { return std::atan(x); }),
    On(Op::kGelu).Floats([](F x) { return Gelu(x); }),
    On(Op::kGeluTanh).Floats([](F x) { return GeluTanh(x); }),
    On(Op::kSilu).Floats([](F x) { return x * Sigmoid(x); }),
    On(Op::kSoftplus).Floats([](F x) { return Softplus(x); }),
    On(Op::kAtan2).Floats([](F y, F x) { return std::atan2(y, x); }),
};

std::vector<Meaning> IndexByOp() {
  std::vector<Meaning> by_op(kOperationCount);
  for (const On& row : kTable) by_op[static_cast<size_t>(row.op)] = row.meaning;
  return by_op;
}

}  // namespace

const Meaning* MeaningOf(Op op, DType argument) {
  static const std::vector<Meaning> by_op = IndexByOp();
  if (op == Op::kBitNot && argument == DType::kBool) op = Op::kNot;  // ~true is false, not -2
  const Meaning& meaning = by_op[static_cast<size_t>(op)];
  const bool known = IsFloat(argument) ? meaning.floats || meaning.tests : meaning.ints != nullptr;
  return known ? &meaning : nullptr;
}

const int64_t* DecidingBool(Op op) {  // min and max of bools are made of these
  static constexpr int64_t kFalse = 0, kTrue = 1;
  switch (op) {
    case Op::kBitAnd:
    case Op::kAll:
      return &kFalse;
    case Op::kBitOr:
    case Op::kAny:
      return &kTrue;
    default:
      return nullptr;
  }
}

bool Overflows(Op op, int64_t a, int64_t b) {
  constexpr I kLeast = std::numeric_limits<I>::min();
  I product = 0;
  switch (op) {
    case Op::kAdd:
      return __builtin_add_overflow(a, b, &product);
    case Op::kSub:
      return __builtin_sub_overflow(a, b, &product);
    case Op::kMul:
      return __builtin_mul_overflow(a, b, &product);
    case Op::kNeg:
    case Op::kAbs:
      return a == kLeast;
    case Op::kFloorDiv:
    case Op::kCeilDiv:
      return a == kLeast && b == -1;
    case Op::kShl:
      return a != 0 && (b < 0 || b > 62 || ShiftRight(ShiftLeft(a, b), b) != a);
    case Op::kPow:
      if (a >= -1 && a <= 1) return false;
      product = 1;
      for (I i = 0; i < b; ++i) {  // at most 64 times: |a| is 2 or more
        if (__builtin_mul_overflow(product, a, &product)) return true;
      }
      return false;
    default:
      return false;
  }
}

}  // namespace kiln::interpret
