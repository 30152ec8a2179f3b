#include "generator/render/print/scalars.h"

#include <algorithm>

#include "generator/plan/stays.h"
#include "generator/render/print/cpp.h"
#include "generator/render/print/operations.h"

namespace kiln::render {

std::string CastIndex(const std::string& value, DType dtype) {
  if (dtype == DType::kIndex || dtype == DType::kI64) return value;
  return "static_cast<" + ValueType(dtype) + ">(" + value + ")";
}

std::string ScalarPrinter::Print(const Element& e, int at_least) const {
  int precedence = kCallPrecedence;
  const std::string text =
      Is<element::Operation>(e) ? Operation(e, &precedence) : Leaf(e, &precedence);
  return precedence < at_least ? "(" + text + ")" : text;
}

std::string ScalarPrinter::Print(const Size& size, int at_least) const {
  if (const std::optional<int64_t> constant = size.Constant()) {
    return size.param() >= 0 && names_.param ? names_.param(size.param())
                                             : std::to_string(*constant);
  }
  return Print(*IndexElement(*plan_.kernel, *size.ToNode()), at_least);
}

std::string ScalarPrinter::Print(const Coordinate& c) const {
  std::string text = c.loop ? names_.loop(c.loop) : "";
  if (c.loop && c.stride != 1) text += " * " + std::to_string(c.stride);
  if (c.offset) {
    text = text.empty() ? Print(*c.offset) : text + " + " + Print(*c.offset, 12);
  }
  if (text.empty()) return "0";
  if (!c.around) return text;
  return "(" + text + ") % " + Print(*IndexElement(*plan_.kernel, *c.around->ToNode()), 14);
}

std::string ScalarPrinter::Leaf(const Element& e, int* precedence) const {
  using namespace element;
  const DType dtype = e.dtype;
  return Match(
      e,
      [&](const Constant& constant) {
        if (IsNamed(constant)) return names_.param(constant.param);
        const bool negative = IsFloat(dtype) ? constant.float_value < 0 : constant.int_value < 0;
        if (negative) *precedence = kUnaryPrecedence;
        return IsFloat(dtype) ? FloatLiteral(constant.float_value, dtype)
                              : IntLiteral(constant.int_value, dtype);
      },
      [&](const Load& load) { return Read(load.place, dtype); },
      [&](const Named& named) { return names_.variable(named.variable); },
      [&](const Scalar& scalar) {
        const std::string name = names_.scalar(scalar.ref);
        return dtype == DType::kIndex ? "int64_t{" + name + "}" : name;
      },
      [&](const Step& step) { return CastIndex(names_.axis(step.axis), dtype); },
      [&](const Steps& steps) { return CastIndex(names_.steps(steps.axis), dtype); },
      [&](const Extent& extent) { return CastIndex(names_.dim(extent.dim), dtype); },
      [&](const IsStep& is) {
        *precedence = 8;
        const std::string axis = names_.axis(is.axis);
        return is.end == End::kFirst ? axis + " == 0" : axis + " + 1 == " + names_.steps(is.axis);
      },
      [&](const IsVisit& is) {
        *precedence = 4;  // of &&
        return names_.visit(is);
      },
      [&](const Iteration& iteration) { return "Signed(" + names_.loop(iteration.loop) + ")"; },
      [&](const Edge& edge) {
        return edge.which == Edge::Which::kOrigin ? names_.edge(edge)
                                                  : "Signed(" + names_.edge(edge) + ")";
      },
      [&](const NoValue&) { return names_.core + ".no_value()"; },
      [](const element::Operation&) -> std::string { __builtin_unreachable(); });
}

std::string ScalarPrinter::Read(const Place& place, DType dtype) const {
  const Ref* ref = plan_.RefOf(place.buffer);
  if (ref && ref->role == Role::kPrefetch) return HostRead(place, dtype);
  const std::string load = "LoadOne(" + names_.pointer(place) + ")";
  return dtype == DType::kIndex ? "int64_t{" + load + "}" : load;
}

/// An element of a prefetch array: read in range, or the call ends with a diagnostic.
std::string ScalarPrinter::HostRead(const Place& place, DType dtype) const {
  const RefId ref = plan_[place.buffer].ref;
  calls_ = true;
  std::string text = (dtype == DType::kIndex ? "IndexAt(" : "HostAt(") + names_.core + ", " +
                     names_.scalar(ref) + ", " + Quoted((*plan_.kernel)[ref].name);
  for (const Coordinate& c : place.at) text += ", " + Print(c);
  return text + ")";
}

std::string ScalarPrinter::Cast(const Element& from, DType to, int* precedence) const {
  if (from.dtype == DType::kIndex) {
    if (to == DType::kI64 || to == DType::kIndex) {
      *precedence = 0;
      return Print(from);
    }
    if (to == DType::kI32 || to == DType::kF32 || to == DType::kF64) {
      return CastIndex(Print(from), to);
    }
  }
  if (to == DType::kIndex && IsInteger(from.dtype)) {
    return "static_cast<int64_t>(" + Print(from) + ")";
  }
  const bool widens = ValueType(to) == ValueType(from.dtype) &&
                      (to == DType::kF32 || to == DType::kI32) && from.dtype != DType::kBool;
  if (widens) {
    *precedence = 0;
    return Print(from);
  }
  calls_ = true;
  return "Cast<" + StorageType(from.dtype) + ", " + StorageType(to) + ">(" + Print(from) + ")";
}

/// Index arithmetic that the runtime looks after: "MulIndex(core, 12, ids_0, bm)".
std::string ScalarPrinter::CheckedIndex(const element::Operation& operation) const {
  calls_ = true;
  std::string text = std::string(RowOf(operation.op).cpp.checked) + "(" + names_.core + ", " +
                     std::to_string(operation.line);
  for (const ElementPtr& arg : operation.args) text += ", " + Print(*arg);
  return text + ")";
}

std::string ScalarPrinter::Operation(const Element& e, int* precedence) const {
  const auto& [op, args, line] = *As<element::Operation>(e);
  if (line > 0) return CheckedIndex(*As<element::Operation>(e));
  if (op == Op::kCast) return Cast(*args[0], e.dtype, precedence);
  if (op == Op::kBitcast) {
    calls_ = true;
    return "Bitcast<" + StorageType(args[0]->dtype) + ", " + StorageType(e.dtype) + ">(" +
           Print(*args[0]) + ")";
  }
  if (op == Op::kNot || (op == Op::kBitNot && e.dtype == DType::kBool)) {
    *precedence = kUnaryPrecedence;
    return "!" + Print(*args[0], kUnaryPrecedence + 1);
  }
  if (op == Op::kNeg && (IsFloat(e.dtype) || e.dtype == DType::kIndex)) {
    *precedence = kUnaryPrecedence;
    return "-" + Print(*args[0], kUnaryPrecedence + 1);
  }
  if (op == Op::kIf || (op == Op::kWhere && e.dtype == DType::kIndex)) {
    *precedence = kTernaryPrecedence;
    const std::string first = Print(*args[1], kTernaryPrecedence + 1);
    return Print(*args[0], kTernaryPrecedence + 1) + " ? " +
           (IsIndexLiteral(*args[1]) ? "int64_t{" + first + "}" : first) + " : " +
           Print(*args[2], kTernaryPrecedence);
  }
  // Elements of host arrays keep their type, index arithmetic has 64 bits.
  const bool index = e.dtype == DType::kIndex ||
                     std::any_of(args.begin(), args.end(),
                                 [](const ElementPtr& arg) { return arg->dtype == DType::kIndex; });
  const auto argument = [&](const ElementPtr& arg, int at_least) {
    const bool as_index = index && arg->dtype != DType::kIndex && IsInteger(arg->dtype);
    return as_index ? "int64_t{" + Print(*arg) + "}" : Print(*arg, at_least);
  };
  const ScalarSpelling spelling = SpellScalar(op, index ? DType::kIndex : args[0]->dtype);
  if (!spelling.infix.empty()) {
    *precedence = spelling.precedence;
    // Compilers warn of `a && b || c`, and readers stumble.
    const int raise = op == Op::kOr || (op == Op::kBitOr && e.dtype == DType::kBool) ? 2 : 0;
    return Print(*args[0], spelling.precedence + raise) + " " + std::string(spelling.infix) + " " +
           Print(*args[1], spelling.precedence + 1 + raise);
  }
  calls_ = true;
  std::string text = std::string(spelling.function) + "(";
  for (size_t k = 0; k < args.size(); ++k) {
    const std::string arg = argument(args[k], 0);
    text += (k == 0 ? "" : ", ") + (IsIndexLiteral(*args[k]) ? "int64_t{" + arg + "}" : arg);
  }
  return text + ")";
}

}  // namespace kiln::render
