#include <cmath>

#include "tests/random/make/maker.h"

/// Expressions that look along an axis from element to element: scans, sorts, reversals.
namespace kiln::soak {
namespace {

std::string Axis(size_t axis) { return ", axis=" + std::to_string(axis) + ")"; }

}  // namespace

size_t Maker::AxisOf(const Extents& shape) {
  return static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(shape.size()) - 1));
}

std::optional<Value> Maker::MakeScan(DType dtype, const Extents& shape, int depth) {
  if (shape.empty()) return std::nullopt;
  const std::string name = PickEntry("function", {"cumsum", "cumsum", "cumprod"});
  const size_t axis = AxisOf(shape);
  Value x = MakeClean(dtype, shape, depth);
  const double count = static_cast<double>(shape[axis].value);
  // As with products along an axis: what leaves the range of floats depends on the order.
  constexpr double kMostBits = 100;
  const bool product = name == "cumprod";
  if (product && IsFloat(dtype) && std::log2(x.facts.bound) * count > kMostBits)
    return std::nullopt;
  Value value = Build(name + "($0" + Axis(axis), dtype, {x});
  if (product) {
    value.facts.same =
        x.facts.same && (!IsFloat(dtype) || (x.facts.bound <= 1 && x.facts.grain >= 1));
    value.facts.bound = IsFloat(dtype) && x.facts.bound > 1 ? kUnbounded : x.facts.bound;
    value.facts.grain = x.facts.grain >= 1 ? 1 : 0;
  } else {
    value.facts.same = x.facts.same && SumsExactly(x.facts, count, dtype);
    value.facts.bound = x.facts.bound * count;
    value.facts.grain = x.facts.grain;
  }
  Fit(value.facts, dtype);
  return value;
}

std::optional<Value> Maker::MakeExtremeScan(DType dtype, const Extents& shape, int depth) {
  if (shape.empty() || dtype == DType::kBool) return std::nullopt;
  const std::string name = PickEntry("function", {"cummax", "cummin"});
  const Value x = MakeClean(dtype, shape, depth);
  Value value = x;
  value.term = {name + "($0" + Axis(AxisOf(shape)), {x.term}};
  return value;
}

std::optional<Value> Maker::MakeSort(DType dtype, const Extents& shape, int depth) {
  if (shape.empty()) return std::nullopt;
  ++need_same_;
  const Value x = MakeClean(dtype, shape, depth);
  --need_same_;
  Value value = x;
  const std::string order = dice_.Chance(0.4) ? ", descending=true" : "";
  value.term = {"sort($0" + order + Axis(AxisOf(shape)), {x.term}};
  return value;
}

std::optional<Value> Maker::MakeArgsort(DType dtype, const Extents& shape, int depth) {
  if (shape.empty()) return std::nullopt;
  const size_t axis = AxisOf(shape);
  ++need_same_;
  const Value x = MakeClean(AnyDType(), shape, depth);
  --need_same_;
  const std::string order = dice_.Chance(0.4) ? ", descending=true" : "";
  Value value = Build("argsort($0" + order + Axis(axis), dtype, {x});
  value.facts.bound = static_cast<double>(shape[axis].value);
  value.facts.grain = 1;
  return value;
}

std::optional<Value> Maker::MakeFlip(DType dtype, const Extents& shape, int depth) {
  if (shape.empty()) return std::nullopt;
  const Value x = MakeClean(dtype, shape, depth);
  Value value = x;
  value.term = {"flip($0, " + std::to_string(AxisOf(shape)) + ")", {x.term}};
  return value;
}

std::optional<Value> Maker::MakeRepeat(DType dtype, const Extents& shape, int depth) {
  if (shape.empty()) return std::nullopt;
  const size_t axis = AxisOf(shape);
  const int64_t whole = shape[axis].value;
  const int64_t times = whole % 3 == 0 ? 3 : whole % 2 == 0 ? 2 : 1;
  // An extent that has a name may be another one for other sizes.
  if (shape[axis].text != std::to_string(whole)) return std::nullopt;
  Extents fewer = shape;
  fewer[axis] = {std::to_string(whole / times), whole / times};
  const Value x = MakeClean(dtype, fewer, depth);
  Value value = x;
  value.term = {"repeat(" + std::string("$0, ") + std::to_string(times) + Axis(axis), {x.term}};
  value.shape = shape;
  return value;
}

/// The largest along an axis, and where they are, under two names.
bool Maker::DefineTop(Block& to) {
  if (refs_.empty()) return false;
  Extents shape = dice_.Pick(refs_).view;
  if (shape.empty()) return false;
  const size_t axis = AxisOf(shape);
  const int64_t whole = shape[axis].value;
  if (whole < 1 || shape[axis].text != std::to_string(whole)) return false;
  ++need_same_;
  const Value x = MakeClean(AnyDType(), shape, 2);
  --need_same_;
  const int64_t k = dice_.Between(1, whole);
  const std::string values = Name("t"), ids = Name("t");
  to.push_back({"let " + values + ", " + ids + " = top_k($0, " + std::to_string(k) + Axis(axis),
                {x.term},
                {},
                {}});
  shape[axis] = {std::to_string(k), k};
  Value value = x;
  value.term = {values, {}};
  value.shape = shape;
  scope_.push_back(value);
  value.term = {ids, {}};
  value.dtype = DType::kI32;
  value.facts = FactsOf(DType::kI32, shape.size());
  value.facts.bound = static_cast<double>(whole);
  value.facts.grain = 1;
  scope_.push_back(value);
  return true;
}

}  // namespace kiln::soak
