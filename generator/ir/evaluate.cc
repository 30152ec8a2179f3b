// The value of an index expression: a walk over its tree, with the reason where there is none.
#include "generator/ir/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "generator/ir/integer_operations.h"

namespace kiln {
namespace {

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
    const EvalFault reason = node.args.size() == 1 ? UnaryInteger(node, a, out, overflow)
                                                   : BinaryInteger(node, a, b, out, overflow);
    if (reason != EvalFault::kNone) return Fail(reason, node);
    if (node.dtype == DType::kIndex) return !overflow || Fail(EvalFault::kOverflow, node);
    if (!IsWeak(node.dtype)) out = Wrap(out, node.dtype);
    return true;
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
