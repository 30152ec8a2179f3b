#include <algorithm>
#include <limits>

#include "generator/ir/tile_node.h"
#include "generator/planner/lower/lowering.h"

/// Bounds of integers in terms of sizes, which only a call knows.
namespace kiln {
namespace {

std::optional<int64_t> Constant(const std::optional<Size>& size) {
  return size ? size->Constant() : std::nullopt;
}

/// Whether a size is made of dimensions and constants.
bool IsFixed(const Size& size) {
  bool fixed = true;
  const auto look = [&](const Node& node, const auto& self) -> void {
    fixed = fixed && AxisOf(node) < 0 && node.op != Op::kLocal && node.op != Op::kRead;
    for (const NodePtr& arg : node.args) self(*arg, self);
  };
  size.ForEachAtom([&](const Node& atom) { look(atom, look); });
  return fixed;
}

// Bounds of an operation from those of its arguments. An end that is not a constant is not
// compared.

IntegerBounds BoundsOfClamp(const IntegerBounds& low, const IntegerBounds& high) {
  IntegerBounds between;
  if (low.low && high.low) between.low = std::min(*low.low, *high.low);
  between.high = high.high;
  return between;
}

/// By a divisor that is known to be one positive constant.
IntegerBounds BoundsOfMod(const IntegerBounds& by) {
  const auto divisor = Constant(by.high);
  const bool fixed = divisor && by.low == divisor && *divisor > 0;
  return fixed ? IntegerBounds{0, Size(*divisor - 1)} : IntegerBounds();
}

IntegerBounds BoundsOfMin(const IntegerBounds& a, const IntegerBounds& b) {
  IntegerBounds least;
  if (a.low && b.low) least.low = std::min(*a.low, *b.low);
  least.high = Constant(b.high) || !a.high ? b.high : a.high;
  return least;
}

IntegerBounds BoundsOfMax(const IntegerBounds& a, const IntegerBounds& b) {
  IntegerBounds most;
  most.low = a.low && b.low ? std::max(*a.low, *b.low) : a.low ? a.low : b.low;
  const auto x = Constant(a.high), y = Constant(b.high);
  if (x && y) most.high = Size(std::max(*x, *y));
  return most;
}

IntegerBounds BoundsOfSum(const IntegerBounds& a, const IntegerBounds& b) {
  IntegerBounds sum;
  if (a.low && b.low) sum.low = *a.low + *b.low;
  if (a.high && b.high) sum.high = *a.high + *b.high;
  return sum;
}

IntegerBounds BoundsOfDifference(const IntegerBounds& a, const IntegerBounds& b) {
  IntegerBounds difference;
  const auto most = Constant(b.high);
  if (a.low && most) difference.low = *a.low - *most;
  if (a.high && b.low) difference.high = *a.high - Size(*b.low);
  return difference;
}

/// Of what is not negative, by a constant that is not.
IntegerBounds BoundsOfProduct(const IntegerBounds& a, const IntegerBounds& b) {
  IntegerBounds product;
  const auto factor = Constant(b.high);
  if (a.low && factor && b.low == factor && *factor >= 0 && *a.low >= 0) {
    product.low = *a.low * *factor;
    if (a.high) product.high = *a.high * Size(*factor);
  }
  return product;
}

/// Whether a type has all values within the bounds, none of which then wraps around. Sizes fit
/// 32 bits.
bool Fit(const IntegerBounds& bounds, DType dtype) {
  if (dtype == DType::kIndex) return true;
  const int bits = RowOf(dtype).bits;
  if (!IsInteger(dtype) || bits == 0 || !bounds.low || !bounds.high) return false;
  const int64_t most = std::numeric_limits<int64_t>::max() >>
                       (IsUnsigned(dtype) ? 63 - std::min(bits, 63) : 64 - bits);
  const int64_t least = IsUnsigned(dtype) ? 0 : -most - 1;
  const auto high = Constant(bounds.high);
  return *bounds.low >= least && (high ? *high <= most : bits >= 32);
}
IntegerBounds IfTheyFit(const IntegerBounds& bounds, DType dtype) {
  return Fit(bounds, dtype) ? bounds : IntegerBounds();
}

/// Arithmetic of the body wraps around: there only that of constants is followed.
IntegerBounds BoundsOfArithmetic(const Node& node, const IntegerBounds& a, const IntegerBounds& b) {
  const bool constant = a.low && b.low && Constant(a.high) && Constant(b.high);
  if (node.dtype != DType::kIndex && !constant) return {};
  if (node.op == Op::kAdd) return IfTheyFit(BoundsOfSum(a, b), node.dtype);
  if (node.op == Op::kSub) return IfTheyFit(BoundsOfDifference(a, b), node.dtype);
  return IfTheyFit(BoundsOfProduct(a, b), node.dtype);
}

/// Whether a reduction is of no elements in no call: else it is what its type has.
bool ReducesSome(const Node& reduction) {
  return std::all_of(reduction.axes.begin(), reduction.axes.end(), [&](int axis) {
    return reduction.args[0]->shape[static_cast<size_t>(axis)].Constant().value_or(0) > 0;
  });
}

}  // namespace

/// What is known of an integer, or of all integers of a tile, from the text alone.
IntegerBounds Lowering::BoundsOf(const Node& node) const {
  const auto arg = [&](size_t k) { return BoundsOf(*node.args[k]); };
  switch (node.op) {
    case Op::kConst:
      if (IsFloat(node.dtype)) return {};
      return {node.int_value, Size(node.int_value)};
    case Op::kAxis: {
      const Size steps = SizeOf(kernel_[AxisId(node.index)].steps, kernel_);
      if (!IsFixed(steps)) return {0, std::nullopt};
      return {0, steps - Size(1)};
    }
    case Op::kDim:
      return {0, SizeOf(std::make_shared<const Node>(node), kernel_)};
    case Op::kLocal: {
      const auto known = local_bounds_.find(LocalId(node.index));
      return known == local_bounds_.end() ? IntegerBounds() : known->second;
    }
    case Op::kIota:
      return {0, node.shape[static_cast<size_t>(node.axes[0])] - Size(1)};
    case Op::kCast:
      if (!IsInteger(node.args[0]->dtype) && node.args[0]->dtype != DType::kIndex) return {};
      return IfTheyFit(arg(0), node.dtype);
    case Op::kBroadcast:
      return arg(0);
    case Op::kReduceMin:
    case Op::kReduceMax:
      return ReducesSome(node) ? arg(0) : IntegerBounds();
    case Op::kClamp:
      return BoundsOfClamp(arg(1), arg(2));
    case Op::kMod:
      return BoundsOfMod(arg(1));
    case Op::kMin:
      return BoundsOfMin(arg(0), arg(1));
    case Op::kMax:
      return BoundsOfMax(arg(0), arg(1));
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
      return BoundsOfArithmetic(node, arg(0), arg(1));
    default:
      return {};
  }
}

}  // namespace kiln
