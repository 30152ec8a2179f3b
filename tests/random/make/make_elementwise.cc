#include <algorithm>
#include <cmath>

#include "tests/random/make/maker.h"

/// Expressions of which each element is computed from the same elements of others.
namespace kiln::soak {
namespace {

/// The types that arithmetic in `dtype` may be given.
std::vector<DType> Promoted(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return {DType::kF32, DType::kF32,      DType::kF32,    DType::kBF16,     DType::kBF16,
              DType::kF16, DType::kF8E4M3FN, DType::kF8E5M2, DType::kF8E8M0FNU};
    case DType::kI32:
      return {DType::kI32, DType::kI32,  DType::kI8, DType::kU8, DType::kI16,
              DType::kU16, DType::kBool, DType::kI4, DType::kU4};
    default:
      return {dtype};
  }
}

}  // namespace

const std::vector<std::string>& FloatFunctions() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Operation& row : Functions()) {
      if (row.call == CallRule::kFloats || row.op == Op::kRelu) all.emplace_back(row.name);
    }
    return all;
  }();
  return names;
}

const std::vector<std::string>& RoundedFunctions() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> rounded;
    for (const std::string& name : FloatFunctions()) {
      if (FindFunction(name)->roundings > 1) rounded.push_back(name);
    }
    return rounded;
  }();
  return names;
}

bool Maker::IsElementwise(const Rule& rule) {
  static const std::vector<Production> elementwise = {
      &Maker::MakeCast,     &Maker::MakeArithmetic, &Maker::MakeFloatFunction, &Maker::MakeNumeric,
      &Maker::MakeSelect,   &Maker::MakeComparison, &Maker::MakeLogic,         &Maker::MakeBits,
      &Maker::MakeDivision, &Maker::MakePower,      &Maker::MakeBitcast,       &Maker::MakeExtreme};
  return std::find(elementwise.begin(), elementwise.end(), rule.make) != elementwise.end();
}

std::optional<Value> Maker::MakeCast(DType dtype, const Extents& shape, int depth) {
  const DType from = AnyDType();
  if (from == dtype) return std::nullopt;
  // What is cut to an integer, or compared with 0, is decided by the last bit.
  const bool decides = !IsFloat(dtype) && IsFloat(from);
  return Cast(dtype, decides ? Same(from, shape, depth) : Make(from, shape, depth));
}

std::optional<Value> Maker::MakeArithmetic(DType dtype, const Extents& shape, int depth) {
  const std::string op = PickEntry(
      "operator", IsFloat(dtype) ? std::vector<std::string>{"+", "-", "*", "+", "-", "*", "/"}
                                 : std::vector<std::string>{"+", "-", "*"});
  const std::vector<DType> types = Promoted(dtype);
  Value a = Make(dice_.Pick(types), shape, depth);
  Value b = dice_.Chance(0.2) ? WeakLiteral(dtype) : Make(dice_.Pick(types), shape, depth);
  // Two small types are computed in the wide one, but a bool alone is no number to a literal.
  if (a.dtype == DType::kBool) a = Cast(dtype, a);
  if (dice_.Chance(0.1)) std::swap(a, b);
  Value value = Build("($0 " + op + " $1)", dtype, {a, b});
  const Facts &x = a.facts, &y = b.facts;
  value.facts.bound = op == "*" ? x.bound * y.bound : op == "/" ? kUnbounded : x.bound + y.bound;
  value.facts.grain = op == "*" ? x.grain * y.grain : op == "/" ? 0 : std::min(x.grain, y.grain);
  if (std::isnan(value.facts.bound)) value.facts.bound = kUnbounded;
  Fit(value.facts, dtype);
  return value;
}

std::optional<Value> Maker::MakeFloatFunction(DType dtype, const Extents& shape, int depth) {
  const std::vector<std::string>& rough = RoundedFunctions();
  const auto is_rough = [&](const std::string& name) {
    return std::find(rough.begin(), rough.end(), name) != rough.end();
  };
  std::vector<std::string> names;
  for (const std::string& name : FloatFunctions()) {
    if (need_same_ == 0 || !is_rough(name)) names.push_back(name);
  }
  // Each is an operation of the same name.
  std::vector<double> weights;
  for (const std::string& one : names)
    weights.push_back(Weight("op " + one, Weight("function " + one, 1)));
  const std::string name = names[dice_.Weighted(weights)];
  const Operation& row = *FindFunction(name);
  const bool rounds = row.jumps && row.roundings == 0;  // to an integer
  std::vector<Value> args;
  std::string text;
  for (int k = 0; k < row.args; ++k) {
    const DType from = dice_.Pick(Promoted(dtype));
    // Where it jumps, to NaN or elsewhere, the last bit decides.
    args.push_back(row.jumps ? Same(from, shape, depth) : Make(from, shape, depth));
    text += (k == 0 ? "($" : ", $") + std::to_string(k);
  }
  Value value = Build(name + text + ")", dtype, args);
  const Facts& x = args[0].facts;
  value.facts.same = !is_rough(name);
  for (const Value& arg : args) value.facts.same = value.facts.same && arg.facts.same;
  value.facts.bound = row.roundings > 0 ? kUnbounded : x.bound + 1;
  value.facts.grain = rounds ? 1 : row.roundings == 0 ? x.grain : 0;
  Fit(value.facts, dtype);
  return value;
}

std::optional<Value> Maker::MakeNumeric(DType dtype, const Extents& shape, int depth) {
  const std::string name = PickEntry("function", {"abs", "sign", "-", "+"});
  const DType from = name == "+" ? dtype : dice_.Pick(Promoted(dtype));  // + leaves what it has
  Value x = name == "sign" ? Same(from, shape, depth) : Make(from, shape, depth);
  Value value = Build(name.size() == 1 ? "(" + name + "$0)" : name + "($0)", dtype, {x});
  value.facts.bound = name == "sign" ? 1 : x.facts.bound;
  value.facts.grain = name == "sign" ? 1 : x.facts.grain;
  if (name == "sign" && std::isinf(x.facts.bound)) value.facts.bound = kUnbounded;  // of NaN
  Fit(value.facts, dtype);
  return value;
}

std::optional<Value> Maker::MakeExtreme(DType dtype, const Extents& shape, int depth) {
  const std::string name = PickEntry("function", {"max", "min", "clamp"});
  Value a = Make(dtype, shape, depth);
  Value b =
      dice_.Chance(0.3) && dtype != DType::kBool ? WeakLiteral(dtype) : Make(dtype, shape, depth);
  std::vector<Value> args = {a, b};
  if (name == "clamp")
    args.push_back(dice_.Chance(0.5) && dtype != DType::kBool ? WeakLiteral(dtype)
                                                              : Make(dtype, {}, depth));
  Value value = Build(name == "clamp" ? "clamp($0, $1, $2)" : name + "($0, $1)", dtype, args);
  value.facts.bound = 0;
  value.facts.grain = kUnbounded;
  for (const Value& arg : args) {
    value.facts.bound = std::max(value.facts.bound, arg.facts.bound);
    value.facts.grain = std::min(value.facts.grain, arg.facts.grain);
  }
  return value;
}

std::optional<Value> Maker::MakeSelect(DType dtype, const Extents& shape, int depth) {
  const bool lazy = Want("operator if", 0.3);
  Value c = lazy ? Condition(depth) : Mask(shape, depth);
  // A condition that folds leaves one of the two alone, which must not be weak or smaller then.
  Value a = lazy ? MakeWhole(dtype, shape, depth) : Make(dtype, shape, depth);
  Value b = lazy                                         ? MakeWhole(dtype, shape, depth)
            : dice_.Chance(0.3) && dtype != DType::kBool ? WeakLiteral(dtype)
                                                         : Make(dtype, shape, depth);
  if (dice_.Chance(0.2)) std::swap(a, b);
  Value value = lazy ? Build("($1 if $0 else $2)", dtype, {c, a, b})
                     : Build("where($0, $1, $2)", dtype, {c, a, b});
  value.facts.bound = std::max(a.facts.bound, b.facts.bound);
  value.facts.grain = std::min(a.facts.grain, b.facts.grain);
  return value;
}

std::optional<Value> Maker::MakeComparison(DType, const Extents& shape, int depth) {
  const std::string op = PickEntry("operator", {"<", "<=", ">", ">=", "==", "!="});
  const DType of = AnyDType();
  if (of == DType::kBool) return std::nullopt;
  Value a = Same(of, shape, depth);
  Value b = dice_.Chance(0.5) ? WeakLiteral(of) : Same(of, shape, depth);
  if (Want("operator chain", 0.1)) {
    Value c = Same(of, shape, depth);
    Value value =
        Build("($0 " + op + " $1 " + PickEntry("operator", {"<", "<=", ">", "=="}) + " $2)",
              DType::kBool, {b, a, c});
    Fit(value.facts, DType::kBool);
    return value;
  }
  Value value = Build("($0 " + op + " $1)", DType::kBool, {a, b});
  Fit(value.facts, DType::kBool);
  return value;
}

std::optional<Value> Maker::MakeLogic(DType, const Extents& shape, int depth) {
  Value a = Make(DType::kBool, shape, depth);
  Value value;
  if (shape.empty() && dice_.Chance(0.5)) {
    a = Condition(depth);
    value = Want("operator not", 0.3)
                ? Build("(not $0)", DType::kBool, {a})
                : Build("($0 " + PickEntry("operator", {"and", "or"}) + " $1)", DType::kBool,
                        {a, Condition(depth)});
  } else if (Want("operator ~", 0.25)) {
    value = Build("(~$0)", DType::kBool, {a});
  } else {
    value = Build("($0 " + PickEntry("operator", {"&", "|", "^"}) + " $1)", DType::kBool,
                  {a, Make(DType::kBool, shape, depth)});
  }
  Fit(value.facts, DType::kBool);
  return value;
}

std::optional<Value> Maker::MakeBits(DType dtype, const Extents& shape, int depth) {
  const std::string op = PickEntry("operator", {"&", "|", "^", "<<", ">>", "~"});
  const std::vector<DType> types = Promoted(dtype);
  Value a = Cast(dtype, Make(dice_.Pick(types), shape, depth));
  Value value =
      op == "~" ? Build("(~$0)", dtype, {a})
                : Build("($0 " + op + " $1)", dtype,
                        {a, dice_.Chance(0.4) ? WeakLiteral(dtype) : Make(dtype, shape, depth)});
  Fit(value.facts, dtype);
  return value;
}

/// Divisions whose divisor is never 0.
std::optional<Value> Maker::MakeDivision(DType dtype, const Extents& shape, int depth) {
  std::vector<std::string> names = {"//", "%", "rem"};
  if (!IsFloat(dtype)) names.insert(names.end(), {"cdiv", "quot"});
  const std::string name = PickEntry("function", names);
  Value a = Same(dtype, shape, depth);
  Value b = dice_.Chance(0.6) ? WeakLiteral(dtype) : Same(dtype, shape, depth);
  const std::string divisor = IsFloat(dtype)      ? "(abs($1) + 1)"
                              : IsUnsigned(dtype) ? "max($1, 1)"
                              : dice_.Chance(0.5) ? "max($1, 1)"
                                                  : "($1 | 1)";
  const std::string text =
      name.size() > 2 ? name + "($0, " + divisor + ")" : "($0 " + name + " " + divisor + ")";
  Value value = Build(text, dtype, {a, b});
  Fit(value.facts, dtype);
  return value;
}

std::optional<Value> Maker::MakePower(DType dtype, const Extents& shape, int depth) {
  Value a = Make(dice_.Pick(Promoted(dtype)), shape, depth);
  if (a.dtype == DType::kBool) a = Cast(dtype, a);
  const int64_t exponent = dice_.Between(0, 3);
  Value value = Build("($0 ** " + std::to_string(exponent) + ")", dtype, {a});
  if (IsFloat(dtype)) value.facts.same = false;
  Fit(value.facts, dtype);
  return value;
}

std::optional<Value> Maker::MakeBitcast(DType dtype, const Extents& shape, int depth) {
  std::vector<DType> same;
  for (const DType from :
       {DType::kI4, DType::kU4, DType::kI8, DType::kU8, DType::kF8E4M3FN, DType::kF8E5M2,
        DType::kF8E8M0FNU, DType::kI16, DType::kU16, DType::kBF16, DType::kF16, DType::kI32,
        DType::kU32, DType::kF32, DType::kI64, DType::kF64}) {
    if (from != dtype && RowOf(from).bits == RowOf(dtype).bits) same.push_back(from);
  }
  if (same.empty()) return std::nullopt;
  const DType from = dice_.Pick(same);
  Value x = Same(from, shape, depth);
  if (IsFloat(from) && (std::isinf(x.facts.bound) || IsFloat(dtype)))
    return std::nullopt;  // the bits of a NaN
  // Bits that are no NaN: the bits of a NaN say whose it is.
  const std::string bits = SizeOf(dtype) == 1   ? "0x3b"
                           : SizeOf(dtype) == 2 ? "0x3bff"
                           : SizeOf(dtype) == 4 ? "0x3fffffff"
                                                : "0x3fffffffffffffff";
  const bool masked = IsFloat(dtype) && !IsFloat(from);
  const std::string argument =
      masked ? std::string(kiln::Name(from)) + "($0 & " + bits + ")" : "$0";
  Value value =
      Build("bitcast(" + std::string(kiln::Name(dtype)) + ", " + argument + ")", dtype, {x});
  if (masked) value.facts.bound = 2;
  Fit(value.facts, dtype);
  return value;
}

}  // namespace kiln::soak
