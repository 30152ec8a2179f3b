#include <algorithm>
#include <cmath>

#include "tests/random/make/maker.h"

/// Expressions that look at all elements along an axis: sums, products, the largest.
namespace kiln::soak {
namespace {

std::string Number(size_t value) { return std::to_string(value); }

/// What is known of `count` elements folded into one; false: nothing that can be compared.
bool FitFolded(const std::string& name, const Facts& of, double count, Value& value) {
  // A product that leaves the range of floats in one order, and not in another, multiplies zeros
  // by an infinity.
  constexpr double kMostBits = 100;
  const bool floats = IsFloat(value.dtype);
  if (name == "prod" && floats && std::log2(of.bound) * count > kMostBits) return false;
  if (name == "max" || name == "min") {
    value.facts.bound = of.bound;
    value.facts.grain = of.grain;
  } else if (name == "prod") {
    value.facts.same = of.same && (!floats || (of.bound <= 1 && of.grain >= 1));
    value.facts.bound = floats && of.bound > 1 ? kUnbounded : of.bound;
    value.facts.grain = of.grain >= 1 ? 1 : 0;
  } else {
    value.facts.same = of.same && SumsExactly(of, count, value.dtype);
    value.facts.bound = name == "mean" ? of.bound : of.bound * count;
    value.facts.grain = name == "mean" ? 0 : of.grain;
  }
  Fit(value.facts, value.dtype);
  return true;
}

}  // namespace

/// A mask that holds at one position along an axis, or past its end.
Term Maker::OnePlace(const Extents& shape, size_t axis) {
  const std::string past = dice_.Chance(0.15) ? " + 1" : "";
  return {"iota(" + ShapeText(shape) + ", " + Number(axis) + ") == i32(" +
              IndexBelow(shape[axis], 1) + past + ")",
          {}};
}

/// What is folded: now and then a product, as kernels that pay have.
Value Maker::MakeFolded(DType dtype, const Extents& shape, int depth) {
  const bool may = dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kF64;
  if (may && !plain_ && dice_.Chance(0.25)) {
    const auto product = MakeDot(dtype, shape, depth);
    if (product && (need_same_ == 0 || product->facts.same)) return *product;
  }
  return MakeWhole(dtype, shape, depth);
}

std::optional<Value> Maker::MakeReduction(DType dtype, const Extents& shape, int depth) {
  std::vector<std::string> names = {"max", "min"};
  const bool computes = ComputeType(dtype) == dtype && dtype != DType::kBool;
  if (computes) names = {"sum", "sum", "max", "min", "prod"};
  if (computes && IsFloat(dtype)) names.push_back("mean");
  const std::string name = PickEntry("function", names);
  const bool extreme = name == "max" || name == "min";
  size_t axis = 0;
  Extents from = Grown(shape, &axis);
  if (Count(from) > kMostOfTemporary) return std::nullopt;
  static const std::vector<DType> narrow = {DType::kBF16, DType::kF8E4M3FN, DType::kF8E5M2,
                                            DType::kF8E8M0FNU};
  const DType of = extreme || !dice_.Chance(0.3) ? dtype
                   : dtype == DType::kF32        ? dice_.Pick(narrow)
                   : dtype == DType::kI32        ? AnyDType()
                                                 : dtype;
  if (!extreme && ComputeType(of) != dtype) return std::nullopt;
  Value x = MakeFolded(of, from, extreme ? depth : std::min(depth, 2));
  if (!x.facts.Clean(axis)) {
    auto cleaned = Cleaned(x);
    if (!cleaned) return std::nullopt;
    x = *cleaned;
  }
  if (name == "sum" && dice_.Chance(0.15) && from[axis].value > 0)
    x.term = {"where($0, $1, 0)", {OnePlace(from, axis), x.term}};
  const bool keep = Want("keyword keep", 0.15);
  const bool all = x.facts.Clean() && shape.empty() && from.size() == 1 && dice_.Chance(0.4);
  const std::string place = dice_.Chance(0.2) ? "-" + Number(from.size() - axis) : Number(axis);
  Value value =
      Build(name + "($0" + (all ? "" : ", axis=" + place) + (keep ? ", keep=true" : "") + ")",
            dtype, {x});
  value.shape = Without(from, axis);
  value.facts.edges = Without(x.facts.edges, axis);
  if (keep) {
    value.shape.insert(value.shape.begin() + static_cast<long>(axis), Extent{"1", 1});
    value.facts.edges.insert(value.facts.edges.begin() + static_cast<long>(axis),
                             std::set<std::string>());
    if (!Broadcasts(value.shape, shape)) {
      value.term = {"squeeze($0, " + Number(axis) + ")", {value.term}};
      value.shape = Without(value.shape, axis);
      value.facts.edges = Without(value.facts.edges, axis);
    }
  }
  if (!FitFolded(name, x.facts, static_cast<double>(from[axis].value), value)) return std::nullopt;
  return value;
}

/// The largest, or the sum, over two axes or more, beside the elements that it is made of.
std::optional<Value> Maker::MakeFold(DType dtype, const Extents& shape, int depth) {
  if (shape.size() < 2 || Count(shape) > kMostOfTemporary) return std::nullopt;
  const bool sums = ComputeType(dtype) == dtype && dtype != DType::kBool && dice_.Chance(0.5);
  const std::string name = PickEntry(
      "function", sums ? std::vector<std::string>{"sum"} : std::vector<std::string>{"max", "min"});
  Value x = MakeFolded(dtype, shape, std::min(depth, 2));
  if (!x.facts.Clean()) {
    auto cleaned = Cleaned(x);
    if (!cleaned) return std::nullopt;
    x = *cleaned;
  }
  Value value = x;
  double count = 1;
  std::string axes;
  const auto left_out = static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(shape.size())));
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis == left_out && shape.size() > 2) continue;
    count *= static_cast<double>(shape[axis].value);
    axes += (axes.empty() ? "" : ", ") + Number(axis);
    value.shape[axis] = Extent{"1", 1};
  }
  const Extents folded = value.shape;
  value = Build(name + "($0, axis=[" + axes + "], keep=true)", dtype, {x});
  value.shape = folded;
  value.facts.edges.assign(shape.size(), {});
  if (!FitFolded(name, x.facts, count, value)) return std::nullopt;
  return value;
}

std::optional<Value> Maker::MakeArgmax(DType dtype, const Extents& shape, int depth) {
  const std::string name = PickEntry("function", {"argmax", "argmin"});
  size_t axis = 0;
  const Extents from = Grown(shape, &axis);
  const DType of = AnyDType();
  if (of == DType::kBool || Count(from) > kMostOfTemporary) return std::nullopt;
  ++need_same_;
  Value x = MakeClean(of, from, depth);
  --need_same_;
  const bool flat = shape.empty() && dice_.Chance(0.4);
  Value value = Build(name + (flat ? "($0)" : "($0, axis=" + Number(axis) + ")"), dtype, {x});
  value.shape = Without(from, axis);
  value.facts.edges = Without(x.facts.edges, axis);
  value.facts.bound = static_cast<double>(from[axis].value);
  value.facts.grain = 1;
  return value;
}

std::optional<Value> Maker::MakeAnyAll(DType dtype, const Extents& shape, int depth) {
  const std::string name = PickEntry("function", {"any", "all"});
  size_t axis = 0;
  const Extents from = Grown(shape, &axis);
  if (Count(from) > kMostOfTemporary) return std::nullopt;
  Value x = MakeClean(DType::kBool, from, depth);
  Value value = Build(name + "($0, axis=" + Number(axis) + ")", dtype, {x});
  value.shape = Without(from, axis);
  value.facts.edges = Without(x.facts.edges, axis);
  Fit(value.facts, dtype);
  return value;
}

/// What a product of that shape can run over: mostly what operands have.
Extent Maker::InnerExtent(const Extents& shape) {
  const size_t rank = shape.size();
  std::vector<Extent> found;
  for (const RefInfo& ref : refs_) {
    if (!ref.readable || ref.view.size() < 2) continue;
    const Extent &row = ref.view[ref.view.size() - 2], &col = ref.view.back();
    if (row == shape[rank - 2] || row == shape[rank - 1]) found.push_back(col);
    if (col == shape[rank - 1] || col == shape[rank - 2]) found.push_back(row);
  }
  return found.empty() || dice_.Chance(0.1) ? AnyExtent() : dice_.Pick(found);
}

std::optional<Value> Maker::MakeDot(DType dtype, const Extents& shape, int depth) {
  if (shape.size() < 2) return std::nullopt;
  const size_t rank = shape.size();
  static const std::vector<DType> floats = {DType::kF32,   DType::kBF16, DType::kF32,
                                            DType::kBF16,  DType::kF16,  DType::kF8E4M3FN,
                                            DType::kF8E5M2};
  static const std::vector<DType> integers = {DType::kI8, DType::kU8, DType::kI32};
  const std::vector<DType> types = dtype == DType::kF64 ? std::vector<DType>{DType::kF64}
                                   : IsFloat(dtype)     ? floats
                                                        : integers;
  const Extent inner = InnerExtent(shape);
  Extents left = shape, right = shape;
  left[rank - 1] = inner;
  right[rank - 2] = inner;
  if (Count(left) * static_cast<double>(shape[rank - 1].value) > 20 * kMostOfTemporary)
    return std::nullopt;
  if (Count(left) > kMostOfTemporary || Count(right) > kMostOfTemporary) return std::nullopt;
  // Operands as they are read are what dots are made for.
  const int deep = dice_.Chance(0.6) ? 0 : depth;
  const auto side = [&](Extents extents) {
    const bool transposed = Want("attribute mT", 0.3);
    if (transposed) std::swap(extents[rank - 1], extents[rank - 2]);
    Value value = MakeWhole(dice_.Pick(types), extents, deep);
    if (!transposed) return value;
    value.term = {rank == 2 && dice_.Chance(0.7) ? "$0.T" : "$0.mT", {value.term}};
    std::swap(value.shape[rank - 1], value.shape[rank - 2]);
    std::swap(value.facts.edges[rank - 1], value.facts.edges[rank - 2]);
    return value;
  };
  Value a = side(left), b = side(right);
  if (!a.facts.Clean(rank - 1)) {
    auto cleaned = Cleaned(a);
    if (!cleaned) return std::nullopt;
    a = *cleaned;
  }
  if (!b.facts.Clean(rank - 2)) {
    auto cleaned = Cleaned(b);
    if (!cleaned) return std::nullopt;
    b = *cleaned;
  }
  Value value;
  value.term = {"dot($0, $1)", {a.term, b.term}};
  value.dtype = dtype;
  value.shape = shape;
  value.facts.edges.resize(rank);
  for (size_t d = 0; d + 2 < rank; ++d) {
    value.facts.edges[d] = a.facts.edges[d];
    value.facts.edges[d].insert(b.facts.edges[d].begin(), b.facts.edges[d].end());
  }
  value.facts.edges[rank - 2] = a.facts.edges[rank - 2];
  value.facts.edges[rank - 1] = b.facts.edges[rank - 1];
  Facts product;
  product.bound = a.facts.bound * b.facts.bound;
  product.grain = a.facts.grain * b.facts.grain;
  const double count = static_cast<double>(inner.value);
  value.facts.same = a.facts.same && b.facts.same && SumsExactly(product, count, dtype);
  value.facts.bound = std::isnan(product.bound) ? kUnbounded : product.bound * count;
  value.facts.grain = product.grain;
  Fit(value.facts, dtype);
  return value;
}

}  // namespace kiln::soak
