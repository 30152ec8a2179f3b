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
      e.kind == Element::Kind::kOp ? Operation(e, &precedence) : Leaf(e, &precedence);
  return precedence < at_least ? "(" + text + ")" : text;
}

std::string ScalarPrinter::Print(const Size& size, int at_least) const {
  if (const std::optional<int64_t> constant = size.Constant()) return std::to_string(*constant);
  return Print(*IndexElement(*plan_.kernel, *size.ToNode()), at_least);
}

std::string ScalarPrinter::Print(const Coordinate& c) const {
  std::string text = c.loop >= 0 ? names_.loop(c.loop) : "";
  if (c.offset) {
    text = text.empty() ? Print(*c.offset) : text + " + " + Print(*c.offset, 12);
  }
  if (text.empty()) return "0";
  if (!c.around) return text;
  return "(" + text + ") % " + Print(*IndexElement(*plan_.kernel, *c.around->ToNode()), 14);
}

std::string ScalarPrinter::Leaf(const Element& e, int* precedence) const {
  switch (e.kind) {
    case Element::Kind::kConst: {
      const bool negative = IsFloat(e.dtype) ? e.float_value < 0 : e.int_value < 0;
      if (negative) *precedence = kUnaryPrecedence;
      return IsFloat(e.dtype) ? FloatLiteral(e.float_value, e.dtype)
                              : IntLiteral(e.int_value, e.dtype);
    }
    case Element::Kind::kLoad:
      if (plan_.buffers[static_cast<size_t>(e.place.buffer)].ref >= 0) {
        const size_t ref =
            static_cast<size_t>(plan_.buffers[static_cast<size_t>(e.place.buffer)].ref);
        if (plan_.kernel->refs[ref].role == Role::kPrefetch) return HostRead(e);
      }
      return e.dtype == DType::kIndex ? "int64_t{LoadOne(" + names_.pointer(e.place) + ")}"
                                      : "LoadOne(" + names_.pointer(e.place) + ")";
    case Element::Kind::kVariable:
      return names_.variable(e.index);
    case Element::Kind::kScalar:
      return e.dtype == DType::kIndex ? "int64_t{" + names_.scalar(e.index) + "}"
                                      : names_.scalar(e.index);
    case Element::Kind::kAxis:
      return CastIndex(names_.axis(e.index), e.dtype);
    case Element::Kind::kSteps:
      return CastIndex(names_.steps(e.index), e.dtype);
    case Element::Kind::kDim:
      return CastIndex(names_.dim(e.index), e.dtype);
    case Element::Kind::kFirstStep:
      *precedence = 8;
      return names_.axis(e.index) + " == 0";
    case Element::Kind::kLastStep:
      *precedence = 8;
      return names_.axis(e.index) + " + 1 == " + names_.steps(e.index);
    case Element::Kind::kFirstVisit:
      *precedence = 4;  // of &&
      return names_.first_visit(e.index);
    case Element::Kind::kLastVisit:
      *precedence = 4;
      return names_.last_visit(e.index);
    case Element::Kind::kLoop:
      return "Signed(" + names_.loop(e.index) + ")";
    case Element::Kind::kLow:
    case Element::Kind::kHigh:
      return "Signed(" + names_.edge(e) + ")";
    case Element::Kind::kOrigin:
      return names_.edge(e);
    case Element::Kind::kNoValue:
      return names_.core + ".no_value()";
    case Element::Kind::kOp:  // Operation's
      break;
  }
  __builtin_unreachable();
}

/// An element of a prefetch array: read in range, or the call ends with a diagnostic.
std::string ScalarPrinter::HostRead(const Element& e) const {
  const Ref& ref =
      plan_.kernel
          ->refs[static_cast<size_t>(plan_.buffers[static_cast<size_t>(e.place.buffer)].ref)];
  std::string text = (e.dtype == DType::kIndex ? "IndexAt(" : "HostAt(") + names_.core + ", " +
                     names_.scalar(e.place.buffer) + ", " + Quoted(ref.name);
  for (const Coordinate& c : e.place.at) text += ", " + Print(c);
  return text + ")";
}

std::string ScalarPrinter::Cast(const Element& e, int* precedence) const {
  const Element& from = *e.args[0];
  if (from.dtype == DType::kIndex) {
    if (e.dtype == DType::kI64 || e.dtype == DType::kIndex) {
      *precedence = 0;
      return Print(from);
    }
    if (e.dtype == DType::kI32 || e.dtype == DType::kF32 || e.dtype == DType::kF64) {
      return CastIndex(Print(from), e.dtype);
    }
  }
  if (e.dtype == DType::kIndex && IsInteger(from.dtype)) {
    return "static_cast<int64_t>(" + Print(from) + ")";
  }
  const bool widens = ValueType(e.dtype) == ValueType(from.dtype) &&
                      (e.dtype == DType::kF32 || e.dtype == DType::kI32) &&
                      from.dtype != DType::kBool;
  if (widens) {
    *precedence = 0;
    return Print(from);
  }
  return "Cast<" + StorageType(from.dtype) + ", " + StorageType(e.dtype) + ">(" + Print(from) + ")";
}

std::string ScalarPrinter::Operation(const Element& e, int* precedence) const {
  if (e.op == Op::kCast) return Cast(e, precedence);
  if (e.op == Op::kBitcast) {
    return "Bitcast<" + StorageType(e.args[0]->dtype) + ", " + StorageType(e.dtype) + ">(" +
           Print(*e.args[0]) + ")";
  }
  if (e.op == Op::kNot || (e.op == Op::kBitNot && e.dtype == DType::kBool)) {
    *precedence = kUnaryPrecedence;
    return "!" + Print(*e.args[0], kUnaryPrecedence + 1);
  }
  if (e.op == Op::kNeg && (IsFloat(e.dtype) || e.dtype == DType::kIndex)) {
    *precedence = kUnaryPrecedence;
    return "-" + Print(*e.args[0], kUnaryPrecedence + 1);
  }
  if (e.op == Op::kIf || (e.op == Op::kWhere && e.dtype == DType::kIndex)) {
    *precedence = kTernaryPrecedence;
    return Print(*e.args[0], kTernaryPrecedence + 1) + " ? " +
           Print(*e.args[1], kTernaryPrecedence + 1) + " : " +
           Print(*e.args[2], kTernaryPrecedence);
  }
  // Elements of host arrays keep their type, index arithmetic has 64 bits.
  const bool index = e.dtype == DType::kIndex ||
                     std::any_of(e.args.begin(), e.args.end(),
                                 [](const ElementPtr& arg) { return arg->dtype == DType::kIndex; });
  const auto argument = [&](const ElementPtr& arg, int at_least) {
    const bool as_index = index && arg->dtype != DType::kIndex && IsInteger(arg->dtype);
    return as_index ? "int64_t{" + Print(*arg) + "}" : Print(*arg, at_least);
  };
  const ScalarSpelling spelling = SpellScalar(e.op, index ? DType::kIndex : e.args[0]->dtype);
  if (!spelling.infix.empty()) {
    *precedence = spelling.precedence;
    // Compilers warn of `a && b || c`, and readers stumble.
    const int raise = e.op == Op::kOr || (e.op == Op::kBitOr && e.dtype == DType::kBool) ? 2 : 0;
    return Print(*e.args[0], spelling.precedence + raise) + " " + std::string(spelling.infix) +
           " " + Print(*e.args[1], spelling.precedence + 1 + raise);
  }
  std::string text = std::string(spelling.function) + "(";
  for (size_t k = 0; k < e.args.size(); ++k) {
    const std::string arg = argument(e.args[k], 0);
    // Literals have to have the type of the others: templates do not convert.
    const bool literal =
        e.args[k]->kind == Element::Kind::kConst && e.args[k]->dtype == DType::kIndex;
    text += (k == 0 ? "" : ", ") + (literal ? "int64_t{" + arg + "}" : arg);
  }
  return text + ")";
}

}  // namespace kiln::render
