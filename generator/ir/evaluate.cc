#include "generator/ir/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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

template <typename T>
int64_t LoadAs(const std::byte* bytes, int64_t at) {
  T value;
  std::memcpy(&value, bytes + static_cast<size_t>(at) * sizeof(T), sizeof(T));
  return static_cast<int64_t>(value);
}

int64_t LoadInteger(const Array& array, int64_t at) {
  if (array.dtype == DType::kI32) return LoadAs<int32_t>(array.bytes.data(), at);
  if (array.dtype == DType::kI64) return LoadAs<int64_t>(array.bytes.data(), at);
  return array.GetInt(at);
}

// A recursive walk. Each function is false when there is no value, with the reason in `fault`.
struct Walk {
  const Environment& environment;
  const int64_t* axes;
  EvalResult fault = {};

  bool Fail(EvalFault kind, const Node& node) {
    fault.fault = kind;
    fault.span = node.span;
    return false;
  }
  bool Unknown(const Node& node) { return Fail(EvalFault::kUnknown, node); }

  bool Steps(const Node& node, int64_t& out) {
    const auto axis = static_cast<size_t>(node.index);
    if (axis >= environment.steps.size() || environment.steps[axis] < 0) return Unknown(node);
    out = environment.steps[axis];
    return true;
  }

  /// The linear position that a read means in its host array.
  bool Locate(const Node& node, const Array*& array, int64_t& at) {
    const auto ref = static_cast<size_t>(node.index);
    if (ref >= environment.host.size() || !environment.host[ref]) return Unknown(node);
    array = environment.host[ref];
    at = 0;
    if (node.subscripts.empty()) {  // a scalar, which may have come as a one-element array
      return array->size() == 1 || Unknown(node);
    }
    if (node.subscripts.size() != array->shape.size()) return Unknown(node);
    for (size_t d = 0; d < node.subscripts.size(); ++d) {
      const Subscript& subscript = node.subscripts[d];
      int64_t index = 0;
      if (subscript.range) return Unknown(node);
      if (!Integer(*subscript.start, index)) return false;
      const int64_t extent = array->shape[d];
      if (index < 0 || index >= extent) {
        fault.ref = node.index;
        fault.at = index;
        fault.extent = extent;
        fault.dimension = static_cast<int>(d);
        return Fail(EvalFault::kHostRange, node);
      }
      at = at * extent + index;
    }
    return true;
  }

  bool Truth(const Node& node, bool& out) {
    int64_t value = 0;
    if (!Integer(node, value)) return false;
    out = value != 0;
    return true;
  }

  bool Compare(const Node& node, int64_t& out) {
    const Node& left = *node.args[0];
    const Node& right = *node.args[1];
    if (IsFloat(left.dtype) || IsFloat(right.dtype)) {
      double a = 0, b = 0;
      if (!Float(left, a) || !Float(right, b)) return false;
      out = Compares(node.op, a, b);
      return true;
    }
    int64_t a = 0, b = 0;
    if (!Integer(left, a) || !Integer(right, b)) return false;
    out = Compares(node.op, a, b);
    return true;
  }

  // `where` computes both values, subscripts included; only a value that is undefined (x // 0)
  // or unknown is discarded with its side.
  template <typename T, bool (Walk::*Value)(const Node&, T&)>
  bool Choose(const Node& node, T& out) {
    bool condition = false;
    if (!Truth(*node.args[0], condition)) return false;
    if (!(this->*Value)(*node.args[condition ? 1 : 2], out)) return false;
    if (node.op == Op::kIf) return true;
    T discarded{};
    if ((this->*Value)(*node.args[condition ? 2 : 1], discarded)) return true;
    return fault.fault == EvalFault::kDivideByZero || fault.fault == EvalFault::kUnknown;
  }

  bool Integer(const Node& node, int64_t& out) {
    const bool leaf = node.args.empty();
    return leaf ? Leaf(node, out) : Operation(node, out);
  }

  bool Leaf(const Node& node, int64_t& out) {
    switch (node.op) {
      case Op::kConst:
        if (IsFloat(node.dtype)) return Unknown(node);
        out = node.int_value;
        return true;
      case Op::kAxis:
        if (!axes) return Unknown(node);
        out = axes[node.index];
        return true;
      case Op::kSteps:
        return Steps(node, out);
      case Op::kFirstStep:
        if (!axes) return Unknown(node);
        out = axes[node.index] == 0;
        return true;
      case Op::kLastStep:
        if (!axes || !Steps(node, out)) return Unknown(node);
        out = axes[node.index] == out - 1;
        return true;
      case Op::kDim: {
        const auto dim = static_cast<size_t>(node.index);
        if (dim >= environment.dims.size() || !environment.dims[dim]) return Unknown(node);
        out = *environment.dims[dim];
        return true;
      }
      case Op::kRead: {
        const Array* array = nullptr;
        int64_t at = 0;
        if (!Locate(node, array, at)) return false;
        if (IsFloat(array->dtype)) return Unknown(node);
        out = LoadInteger(*array, at);
        return true;
      }
      default:
        return Unknown(node);
    }
  }

  bool Operation(const Node& node, int64_t& out) {
    if (IsComparison(node.op)) return Compare(node, out);
    switch (node.op) {
      case Op::kWhere:
      case Op::kIf:
        return Choose<int64_t, &Walk::Integer>(node, out);
      case Op::kAnd:
      case Op::kOr: {
        bool value = false;
        if (!Truth(*node.args[0], value)) return false;
        if (value == (node.op == Op::kAnd) && !Truth(*node.args[1], value)) return false;
        out = value;
        return true;
      }
      case Op::kCast:
        if (IsFloat(node.args[0]->dtype)) {
          double value = 0;
          if (IsFloat(node.dtype)) return Unknown(node);
          if (!Float(*node.args[0], value)) return false;
          out = FloatToInt(value, node.dtype == DType::kIndex ? DType::kI64 : node.dtype);
          return true;
        }
        break;
      case Op::kClamp: {
        int64_t low = 0, high = 0;
        if (!Integer(*node.args[0], out) || !Integer(*node.args[1], low) ||
            !Integer(*node.args[2], high)) {
          return false;
        }
        out = std::min(std::max(out, low), high);
        return true;
      }
      default:
        break;
    }
    int64_t a = 0, b = 0;
    if (!Integer(*node.args[0], a)) return false;
    if (node.args.size() > 1 && !Integer(*node.args[1], b)) return false;
    bool overflow = false;
    if (!(node.args.size() == 1 ? Unary(node, a, out, overflow)
                                : Binary(node, a, b, out, overflow))) {
      return false;
    }
    if (node.dtype == DType::kIndex) return !overflow || Fail(EvalFault::kOverflow, node);
    if (!IsWeak(node.dtype)) out = Wrap(out, node.dtype);
    return true;
  }

  bool Unary(const Node& node, int64_t a, int64_t& out, bool& overflow) {
    constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
    switch (node.op) {
      case Op::kNeg:
        overflow = a == kMin;
        out = WrappingSub(0, a);
        return true;
      case Op::kAbs:
        overflow = a == kMin;
        out = a < 0 ? WrappingSub(0, a) : a;
        return true;
      case Op::kNot:
        out = a == 0;
        return true;
      case Op::kBitNot:
        out = node.dtype == DType::kBool ? a == 0 : ~a;
        return true;
      case Op::kSign:
        out = (a > 0) - (a < 0);
        return true;
      case Op::kRelu:
        out = a < 0 ? 0 : a;
        return true;
      case Op::kCast:
        out = a;
        return true;
      case Op::kBitcast:
        out = a;
        return !IsFloat(node.dtype) || Unknown(node);
      case Op::kReshape:
      case Op::kBroadcast:
        out = a;
        return node.shape.empty() || Unknown(node);
      default:
        return Unknown(node);
    }
  }

  bool Binary(const Node& node, int64_t a, int64_t b, int64_t& out, bool& overflow) {
    switch (node.op) {
      case Op::kAdd:
        overflow = __builtin_add_overflow(a, b, &out);
        return true;  // the builtin's result is the wrapped one
      case Op::kSub:
        overflow = __builtin_sub_overflow(a, b, &out);
        return true;
      case Op::kMul:
        overflow = __builtin_mul_overflow(a, b, &out);
        return true;
      case Op::kFloorDiv:
      case Op::kCeilDiv:
      case Op::kMod:
      case Op::kQuot:
      case Op::kRem:
        if (b == 0) return Fail(EvalFault::kDivideByZero, node);
        if (b != -1) {
          out = Divide(node.op, a, b);
          return true;
        }
        out = 0;  // a remainder by -1
        if (IsQuotient(node.op)) {
          overflow = __builtin_sub_overflow(int64_t{0}, a, &out);
        }
        return true;
      case Op::kPow:
        if (b < 0) return Fail(EvalFault::kDivideByZero, node);  // as undefined as 1 // 0
        out = Power(a, b, overflow);
        return true;
      case Op::kShl: {
        const bool past = b < 0 || b > 63;
        out = past ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
        overflow = past ? a != 0 : (out >> b) != a;
        return true;
      }
      case Op::kShr:
        out = a >> (b < 0 || b > 63 ? 63 : b);
        return true;
      case Op::kBitAnd:
        out = a & b;
        return true;
      case Op::kBitOr:
        out = a | b;
        return true;
      case Op::kBitXor:
        out = a ^ b;
        return true;
      case Op::kMax:
        out = std::max(a, b);
        return true;
      case Op::kMin:
        out = std::min(a, b);
        return true;
      default:
        return Unknown(node);
    }
  }

  /// What conditions over float scalars need; functions are left to the engines.
  bool Float(const Node& node, double& out) {
    if (!IsFloat(node.dtype)) return Unknown(node);
    if (!FloatValue(node, out)) return false;
    out = RoundTo(out, node.dtype);
    return true;
  }

  bool FloatValue(const Node& node, double& out) {
    switch (node.op) {
      case Op::kConst:
        out = node.float_value;
        return true;
      case Op::kRead: {
        const Array* array = nullptr;
        int64_t at = 0;
        if (!Locate(node, array, at)) return false;
        if (!IsFloat(array->dtype)) return Unknown(node);
        out = array->GetFloat(at);
        return true;
      }
      case Op::kCast: {
        if (IsFloat(node.args[0]->dtype)) return Float(*node.args[0], out);
        int64_t value = 0;
        if (!Integer(*node.args[0], value)) return false;
        // Straight to f32: through a double, a 64-bit integer would be rounded twice.
        out = node.dtype == DType::kF32 ? static_cast<float>(value) : static_cast<double>(value);
        return true;
      }
      case Op::kWhere:
      case Op::kIf:
        return Choose<double, &Walk::Float>(node, out);
      case Op::kNeg:
      case Op::kAbs:
        if (!Float(*node.args[0], out)) return false;
        out = node.op == Op::kNeg ? -out : std::fabs(out);
        return true;
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kDiv:
      case Op::kMax:
      case Op::kMin: {
        double a = 0, b = 0;
        if (!Float(*node.args[0], a) || !Float(*node.args[1], b)) return false;
        out = Arithmetic(node.op, a, b);
        return true;
      }
      default:
        return Unknown(node);
    }
  }

  // Rounding a double to f32 after one operation gives what f32 arithmetic gives.
  static double Arithmetic(Op op, double a, double b) {
    switch (op) {
      case Op::kAdd:
        return a + b;
      case Op::kSub:
        return a - b;
      case Op::kMul:
        return a * b;
      case Op::kDiv:
        return a / b;
      case Op::kMax:
        return a > b || std::isnan(a) ? a : b;
      default:  // Op::kMin
        return a < b || std::isnan(a) ? a : b;
    }
  }
};

}  // namespace

EvalResult Evaluate(const Node& node, const Environment& environment, const int64_t* axes) {
  Walk walk{environment, axes};
  int64_t value = 0;
  if (!walk.Integer(node, value)) return walk.fault;
  EvalResult result;
  result.value = value;
  return result;
}

std::optional<int64_t> Evaluate(const Size& size, const Environment& environment) {
  return size.Evaluate([&](const Node& atom) -> std::optional<int64_t> {
    const EvalResult result = Evaluate(atom, environment, nullptr);
    if (result.fault != EvalFault::kNone) return std::nullopt;
    return result.value;
  });
}

}  // namespace kiln
