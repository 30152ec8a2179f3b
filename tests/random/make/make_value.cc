#include <algorithm>
#include <cmath>

#include "tests/random/make/maker.h"

/// Expressions of a wanted dtype and shape: leaves, edges, and the rules that expressions grow by.
namespace kiln::soak {
namespace {

Value Scalar(const std::string& text, DType dtype) {
  return {{text, {}}, dtype, {}, FactsOf(dtype, 0)};
}

bool IsCompute(DType dtype) { return ComputeType(dtype) == dtype && dtype != DType::kBool; }

bool Always(DType) { return true; }
bool IsBool(DType dtype) { return dtype == DType::kBool; }
bool IsI32(DType dtype) { return dtype == DType::kI32; }
bool IsComputeInt(DType dtype) { return IsCompute(dtype) && !IsFloat(dtype); }
bool IsComputeFloat(DType dtype) { return IsCompute(dtype) && IsFloat(dtype); }
bool IsDotResult(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kF64;
}
bool HasBits(DType dtype) { return dtype != DType::kBool; }

/// The entries of these names.
std::vector<std::string> Asked(const std::string& prefix, const std::vector<std::string>& names) {
  std::vector<std::string> entries;
  for (const std::string& name : names) entries.push_back(prefix + name);
  return entries;
}

std::string CastText(DType dtype) { return std::string(kiln::Name(dtype)) + "($0)"; }

}  // namespace

Value Maker::Literal(DType dtype) {
  const std::string name = std::string(kiln::Name(dtype));
  if (dtype == DType::kBool) return Scalar(dice_.Chance(0.5) ? "true" : "false", dtype);
  Value value = WeakLiteral(dtype);
  value.term = {name + "($0)", {value.term}};
  return value;
}

/// A literal that takes its type from the other side.
Value Maker::WeakLiteral(DType dtype) {
  Value value = Scalar("", dtype);
  if (RowOf(dtype).powers) {
    value.term.text = dice_.Pick({"0.25", "0.5", "1", "2.0", "4"});
    value.facts.bound = 4;
    value.facts.grain = 0.25;
    return value;
  }
  if (IsFloat(dtype) && dice_.Chance(0.3)) {
    value.term.text = dice_.Pick({"0.5", "0.25", "1.5", "2.0", "0.75"});
    value.facts.bound = 2;
    value.facts.grain = 0.25;
    return value;
  }
  if (IsFloat(dtype) && need_same_ == 0 && Want("literal nan", 0.005)) {
    value.term.text = "nan";
    value.facts.bound = kUnbounded;
    value.facts.grain = 0;
    return value;
  }
  if (IsFloat(dtype) && need_same_ == 0 && Want("literal inf", 0.01)) {
    value.term.text = "inf";
    return value;
  }
  const int64_t most = IsPacked(dtype) ? 7 : 100;
  const int64_t number = dice_.Chance(0.8) ? dice_.Between(0, 4) : dice_.Between(5, most);
  value.term.text = std::to_string(number);
  if (dice_.Chance(0.1)) value.term.text = "0x" + std::to_string(number % 8);
  value.facts.bound = static_cast<double>(number);
  value.facts.grain = 1;
  return value;
}

Value Maker::ReadOf(const RefInfo& ref) const {
  Value value{{ref.name, {}}, ref.dtype, ref.view, ref.facts};
  value.facts.same = !ref.loose && ref.facts.same;
  return value;
}

/// What may be read as it is, with a shape that broadcasts to `shape`.
std::vector<Value> Maker::LeavesFor(DType dtype, const Extents& shape) {
  std::vector<Value> leaves;
  const auto add = [&](const Value& value) {
    if (value.dtype != dtype || !Broadcasts(value.shape, shape)) return;
    if (need_same_ > 0 && !value.facts.same) return;
    leaves.push_back(value);
  };
  for (const RefInfo& ref : refs_) {
    if (ref.readable) add(ReadOf(ref));
  }
  for (const Value& value : scope_) add(value);
  return leaves;
}

Value Maker::Leaf(DType dtype, const Extents& shape) {
  if (AsksForSpecialFloats() && IsFloat(dtype) && need_same_ == 0 && dice_.Chance(0.7))
    return Literal(dtype);
  const std::vector<Value> leaves = LeavesFor(dtype, shape);
  if (!leaves.empty() && dice_.Chance(0.9)) {
    // The fullest ones, mostly.
    std::vector<double> weights;
    for (const Value& leaf : leaves)
      weights.push_back(1 + 4 * static_cast<double>(leaf.shape.size()));
    return leaves[dice_.Weighted(weights)];
  }
  if (!plain_ && dice_.Chance(0.4)) {
    if (auto part = Part(dtype, shape)) return *part;
  }
  // Something of another type rather than a constant.
  if (dice_.Chance(0.85)) {
    std::vector<Value> others;
    for (const RefInfo& ref : refs_) {
      if (ref.readable && Broadcasts(ref.view, shape)) others.push_back(ReadOf(ref));
    }
    for (const Value& value : scope_) {
      if (Broadcasts(value.shape, shape)) others.push_back(value);
    }
    std::vector<double> weights;
    for (const Value& other : others) {
      const bool rounds = !IsFloat(dtype) && IsFloat(other.dtype);
      const bool may = other.facts.same || (need_same_ == 0 && !rounds);
      weights.push_back(may ? 1 + 4 * static_cast<double>(other.shape.size()) : 0);
    }
    if (std::any_of(weights.begin(), weights.end(), [](double weight) { return weight > 0; }))
      return Cast(dtype, others[dice_.Weighted(weights)]);
  }
  // Positions rather than a constant: what is read from another place is another value.
  if (!plain_ && !shape.empty() && dice_.Chance(0.75)) return Cast(dtype, Positions(shape));
  return Literal(dtype);
}

Value Maker::Build(const std::string& text, DType dtype, const std::vector<Value>& args) {
  Value value;
  value.term.text = text;
  value.dtype = dtype;
  std::vector<const Value*> pointers;
  for (const Value& arg : args) {
    value.term.args.push_back(arg.term);
    value.facts.same = value.facts.same && arg.facts.same;
    pointers.push_back(&arg);
  }
  value.shape = JoinShapes(pointers);
  value.facts.edges = JoinEdges(pointers, value.shape.size());
  return value;
}

Value Maker::Cast(DType dtype, Value value) {
  if (value.dtype == dtype) return value;
  if (RowOf(dtype).powers) return CastToPower(dtype, value);
  Value cast = Build(CastText(dtype), dtype, {value});
  cast.facts.bound = value.facts.bound;
  cast.facts.grain = value.facts.grain;
  if (dtype == DType::kBool) cast.facts.bound = 1;
  Fit(cast.facts, dtype);
  return cast;
}

/// What is positive, and the same in each engine: a last bit may decide between a power and twice
/// of it, which nothing that is computed from it forgives.
Value Maker::CastToPower(DType dtype, const Value& value) {
  if (!value.facts.same) return Whole(Literal(dtype), value.shape);
  Value cast = Build(std::string(kiln::Name(dtype)) + "(abs(f32($0)) + 1)", dtype, {value});
  cast.facts.bound = 2 * (value.facts.bound + 1);
  cast.facts.grain = 1;
  Fit(cast.facts, dtype);
  return cast;
}

Value Maker::Whole(Value value, const Extents& shape) {
  if (value.shape == shape) return value;
  std::string text = "broadcast($0, [";
  for (size_t d = 0; d < shape.size(); ++d) text += (d > 0 ? ", " : "") + shape[d].text;
  Value whole = value;
  whole.term = {text + "])", {value.term}};
  whole.shape = shape;
  whole.facts.edges = JoinEdges({&value}, shape.size());
  return whole;
}

Value Maker::MakeWhole(DType dtype, const Extents& shape, int depth) {
  return Whole(Make(dtype, shape, depth), shape);
}

Value Maker::MakeClean(DType dtype, const Extents& shape, int depth) {
  Value value = MakeWhole(dtype, shape, depth);
  if (value.facts.Clean()) return value;
  if (auto cleaned = Cleaned(value)) return *cleaned;
  return Whole(Literal(dtype), shape);
}

Value Maker::Same(DType dtype, const Extents& shape, int depth) {
  ++need_same_;
  Value value = Make(dtype, shape, depth);
  --need_same_;
  return value;
}

std::optional<Value> Maker::Cleaned(Value value) {
  const std::vector<std::string> none(value.shape.size());
  return WithEdges(std::move(value), none);
}

/// With masks for the edges that are not allowed.
std::optional<Value> Maker::WithEdges(Value value, const std::vector<std::string>& allowed) {
  const size_t rank = value.shape.size();
  for (size_t d = 0; d < rank; ++d) {
    std::set<std::string> bad = value.facts.edges[d];
    bad.erase(allowed[d]);
    for (const std::string& edge : bad) {
      // "n0 by b1 at i2": the elements before the edge.
      const size_t by = edge.find(" by "), at = edge.find(" at ");
      if (by == std::string::npos || at == std::string::npos || dice_.Chance(0.3)) {
        const auto inside = InsideOf(value, d, edge);
        if (inside) {
          value = *inside;
          continue;
        }
      }
      if (by == std::string::npos || at == std::string::npos) return std::nullopt;
      const std::string dim = edge.substr(0, by), block = edge.substr(by + 4, at - by - 4);
      std::string shape = block;
      for (size_t e = d + 1; e < rank; ++e) shape += ", 1";
      Term mask{"(iota([" + shape + "], 0) + i32(" + edge.substr(at + 4) + ") * " + block + " < " +
                    dim + ")",
                {}};
      Value cleaned = value;
      cleaned.term = {"where($0, $1, $2)", {mask, value.term, Literal(value.dtype).term}};
      cleaned.facts.edges[d].erase(edge);
      cleaned.facts.bound = std::max(value.facts.bound, 100.0);
      cleaned.facts.grain = std::min(value.facts.grain, 0.25);
      value = cleaned;
    }
  }
  return value;
}

/// Where the mask of an operand of that shape says what is past the edge.
std::optional<Value> Maker::InsideOf(const Value& value, size_t d, const std::string& edge) {
  for (const RefInfo& ref : refs_) {
    if (!ref.whole_index || ref.view != value.shape || ref.edges[d] != edge) continue;
    Value cleaned = value;
    cleaned.term = {"where(inside(" + ref.name + "), $0, $1)",
                    {value.term, Literal(value.dtype).term}};
    for (size_t e = 0; e < ref.edges.size(); ++e) cleaned.facts.edges[e].erase(ref.edges[e]);
    cleaned.facts.bound = std::max(value.facts.bound, 100.0);
    cleaned.facts.grain = std::min(value.facts.grain, 0.25);
    return cleaned;
  }
  return std::nullopt;
}

Value Maker::Condition(int depth) {
  ++need_same_;
  Value value = MakeClean(DType::kBool, {}, depth);
  --need_same_;
  return value;
}

Value Maker::Mask(const Extents& shape, int depth) { return Same(DType::kBool, shape, depth); }

Value Maker::Make(DType dtype, const Extents& shape, int depth) {
  if (depth <= 0 || dice_.Chance(0.12)) return Leaf(dtype, shape);
  const std::vector<Rule>& rules = Rules();
  std::vector<double> weights;
  for (const Rule& rule : rules) {
    const bool may = rule.makes(dtype) && (!plain_ || IsElementwise(rule));
    const bool wanted =
        std::any_of(rule.entries.begin(), rule.entries.end(),
                    [&](const std::string& entry) { return focus_.count(entry) > 0; });
    weights.push_back(may ? rule.weight * (wanted ? 8 : 1) : 0);
  }
  for (int tries = 0; tries < 3; ++tries) {
    const Rule& rule = rules[dice_.Weighted(weights)];
    auto value = (this->*rule.make)(dtype, shape, depth - 1);
    if (!value || !Broadcasts(value->shape, shape)) continue;
    if (need_same_ > 0 && !value->facts.same) continue;
    if (dice_.Chance(0.3)) made_.push_back(*value);
    return *value;
  }
  return Leaf(dtype, shape);
}

/// What has been written before, as people do who give it no name.
std::optional<Value> Maker::MakeAgain(DType dtype, const Extents& shape, int) {
  std::vector<Value> fit;
  for (const Value& value : made_)
    if (value.dtype == dtype && Broadcasts(value.shape, shape)) fit.push_back(value);
  if (fit.empty()) return std::nullopt;
  return dice_.Pick(fit);
}

std::optional<Value> Maker::MakeHost(DType dtype, const Extents&, int) {
  Value value = HostScalar();
  return Cast(dtype, value);
}

const std::vector<Maker::Rule>& Maker::Rules() {
  static const std::vector<Rule> rules = {
      {{"cast"}, 3, Always, &Maker::MakeCast},
      {{"operator /", "operator *", "operator -"}, 6, IsCompute, &Maker::MakeArithmetic},
      {Asked("function ", FloatFunctions()), 2.5, IsComputeFloat, &Maker::MakeFloatFunction},
      {{"function abs", "function sign", "operator unary -", "operator unary +"},
       1,
       IsCompute,
       &Maker::MakeNumeric},
      {{"function max", "function min", "function clamp"}, 2, Always, &Maker::MakeExtreme},
      {{"function where", "operator if"}, 2, Always, &Maker::MakeSelect},
      {{"operator <", "operator <=", "operator >",
        "operator >=", "operator ==", "operator !=", "operator chain"},
       5,
       IsBool,
       &Maker::MakeComparison},
      {{"operator &", "operator |", "operator ^", "operator ~", "operator and", "operator or",
        "operator not"},
       2,
       IsBool,
       &Maker::MakeLogic},
      {{"operator &", "operator |", "operator ^", "operator ~", "operator <<", "operator >>"},
       1.5,
       IsComputeInt,
       &Maker::MakeBits},
      {{"operator //", "operator %", "function rem", "function quot", "function cdiv"},
       1,
       IsCompute,
       &Maker::MakeDivision},
      {{"operator **"}, 0.4, IsCompute, &Maker::MakePower},
      {{"function bitcast"}, 0.5, HasBits, &Maker::MakeBitcast},
      {{"function iota", "function at"}, 2, IsI32, &Maker::MakePosition},
      {{"function inside"}, 0.6, IsBool, &Maker::MakePosition},
      {{"function sum", "function prod", "function mean", "keyword keep"},
       1.5,
       IsCompute,
       &Maker::MakeReduction},
      {{"function sum", "function max", "keyword keep"}, 0.8, Always, &Maker::MakeFold},
      {{"op max_of", "op min_of"}, 0.7, Always, &Maker::MakeReduction},
      {{"function argmax", "function argmin"}, 1.2, IsI32, &Maker::MakeArgmax},
      {{"function any", "function all"}, 0.8, IsBool, &Maker::MakeAnyAll},
      {{"function cumsum", "function cumprod"}, 0.5, IsCompute, &Maker::MakeScan},
      {{"function cummax", "function cummin"}, 0.3, Always, &Maker::MakeExtremeScan},
      {{"function sort"}, 0.5, Always, &Maker::MakeSort},
      {{"function argsort"}, 0.4, IsI32, &Maker::MakeArgsort},
      {{"function dot"}, 1.5, IsDotResult, &Maker::MakeDot},
      {{"function transpose", "attribute T", "attribute mT"}, 0.6, Always, &Maker::MakeTranspose},
      {{"function reshape"}, 0.4, Always, &Maker::MakeReshape},
      {{"function expand"}, 0.4, Always, &Maker::MakeExpand},
      {{"function squeeze"}, 0.3, Always, &Maker::MakeSqueeze},
      {{"function concat"}, 0.4, Always, &Maker::MakeConcat},
      {{"function roll"}, 0.5, Always, &Maker::MakeRoll},
      {{"function flip"}, 0.5, Always, &Maker::MakeFlip},
      {{"function repeat"}, 0.3, Always, &Maker::MakeRepeat},
      {{"function take"}, 0.4, Always, &Maker::MakeTake},
      {{"subscript point", "subscript slice", "subscript ds", "subscript ..."},
       1,
       Always,
       &Maker::MakeSlice},
      {{"function broadcast"}, 0.2, Always, &Maker::MakeBroadcast},
      {{"function first", "function last"}, 0.6, IsBool, &Maker::MakeVisit},
      {{"function steps"}, 0.6, Always, &Maker::MakeHost},
      {{}, 1.5, Always, &Maker::MakeAgain},
  };
  return rules;
}

/// A number that is known before the grid starts, or a program id.
Value Maker::HostScalar() {
  std::vector<std::string> texts;
  for (const AxisInfo& axis : axes_) {
    texts.push_back("i32(" + axis.name + ")");
    texts.push_back("i32(steps(" + axis.name + "))");
  }
  for (const DimInfo& dim : dims_) texts.push_back("i32(" + dim.name + ")");
  for (const Key& scalar : draft_.scalars) {
    if (scalar.value == "i32") texts.push_back(scalar.name);
  }
  for (const AxisInfo& axis : axes_) {
    if (!axis.permutation.empty())
      texts.insert(texts.end(), 3, axis.permutation + "[" + axis.name + "]");
  }
  for (const Value& loop : loops_) texts.push_back("i32(" + loop.term.text + ")");
  if (texts.empty()) texts.push_back("i32(3)");
  Value value{{dice_.Pick(texts), {}}, DType::kI32, {}, FactsOf(DType::kI32, 0)};
  value.facts.bound = 128;
  return value;
}

}  // namespace kiln::soak
