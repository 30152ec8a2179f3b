#include "generator/ir/index_range.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>

namespace kiln {
namespace {

using Wide = __int128;

constexpr Wide kLeast = std::numeric_limits<int64_t>::min();
constexpr Wide kMost = std::numeric_limits<int64_t>::max();
constexpr Wide kMostElements = Wide{1} << 31;

constexpr IndexRange kAny = {kLeast, kMost};
constexpr IndexRange kPastAny = {kLeast * 2, kMost * 2};

bool Holds(const IndexRange& outer, const IndexRange& inner) {
  return outer.low <= inner.low && inner.high <= outer.high;
}

IndexRange Around(std::initializer_list<Wide> values) {
  return {std::min(values), std::max(values)};
}
IndexRange Either(const IndexRange& a, const IndexRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}
Wide Magnitude(const IndexRange& a) { return std::max(a.high, -a.low); }

/// Indices have all of 64 bits.
IndexRange RangeOf(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  const int bits = RowOf(dtype).bits;
  if (!IsInteger(dtype) || bits == 0) return kAny;
  if (IsUnsigned(dtype)) return {0, std::min(kMost, (Wide{1} << bits) - 1)};
  return {-(Wide{1} << (bits - 1)), (Wide{1} << (bits - 1)) - 1};
}

bool IsRead(const Node& node) {
  return node.op == Op::kRead || node.op == Op::kLocal ||
         std::any_of(node.args.begin(), node.args.end(),
                     [](const NodePtr& arg) { return IsRead(*arg); });
}

IndexRange Quotient(Op op, const IndexRange& a, const IndexRange& b) {
  const Wide most = Magnitude(a);
  const Wide up = op == Op::kCeilDiv ? b.low - 1 : 0;
  if (b.low > 0) return {std::min<Wide>(a.low, 0), std::max<Wide>((a.high + up) / b.low, 0)};
  if (b.low >= 0) return {std::min<Wide>(a.low, 0), std::max<Wide>(a.high, 1)};
  return {-most, most};
}

IndexRange Remainder(const IndexRange& a, const IndexRange& b, bool sign_of_divisor) {
  const Wide most = std::max<Wide>(Magnitude(b) - 1, 0);
  if (sign_of_divisor && b.low > 0) return {0, most};
  if (!sign_of_divisor && a.low >= 0) return {0, std::min(most, a.high)};
  return {-most, most};
}

IndexRange Shifted(const IndexRange& a, const IndexRange& b) {
  if (a.low == 0 && a.high == 0) return {0, 0};
  if (b.low < 0 || b.high > 62) return kPastAny;
  const Wide one = 1;
  return Around({a.low * (one << b.low), a.low * (one << b.high), a.high * (one << b.low),
                 a.high * (one << b.high)});
}

/// Of a magnitude of at least 2, no power above the 64th fits.
IndexRange Power(const IndexRange& a, const IndexRange& b) {
  Wide most = 1;
  for (Wide i = 0; i < std::min<Wide>(b.high, 64) && most <= kMost; ++i)
    most *= std::max<Wide>(Magnitude(a), 1);
  return a.low >= 0 ? IndexRange{0, most} : IndexRange{-most, most};
}

IndexRange ShiftedDown(const IndexRange& a, const IndexRange& b) {
  const Wide most = b.low < 0 ? a.high : a.high >> std::min<Wide>(b.low, 63);
  return {std::min<Wide>(a.low, 0), std::max<Wide>(most, 0)};
}

/// Some of the bits of what has no sign.
IndexRange CommonBits(const IndexRange& a, const IndexRange& b) {
  if (a.low >= 0 && b.low >= 0) return {0, std::min(a.high, b.high)};
  return {0, a.low >= 0 ? a.high : b.high};
}

/// Numbers of as many bits as the longest of both.
IndexRange Bits(const IndexRange& a, const IndexRange& b) {
  Wide most = 1;
  while (most <= std::max(Magnitude(a), Magnitude(b))) most *= 2;
  return a.low >= 0 && b.low >= 0 ? IndexRange{0, most - 1} : IndexRange{-most, most - 1};
}

std::optional<IndexRange> Of(Op op, const IndexRange& a, const IndexRange& b, const IndexRange& c) {
  switch (op) {
    case Op::kAdd:
      return IndexRange{a.low + b.low, a.high + b.high};
    case Op::kSub:
      return IndexRange{a.low - b.high, a.high - b.low};
    case Op::kMul:
      return Around({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    case Op::kNeg:
      return IndexRange{-a.high, -a.low};
    case Op::kAbs:
      return IndexRange{0, Magnitude(a)};
    case Op::kSign:
      return IndexRange{-1, 1};
    case Op::kMin:
      return IndexRange{std::min(a.low, b.low), std::min(a.high, b.high)};
    case Op::kMax:
      return IndexRange{std::max(a.low, b.low), std::max(a.high, b.high)};
    case Op::kClamp:
      return IndexRange{std::min(std::max(a.low, b.low), c.low),
                        std::min(std::max(a.high, b.high), c.high)};
    case Op::kFloorDiv:
    case Op::kCeilDiv:
    case Op::kQuot:
      return Quotient(op, a, b);
    case Op::kMod:
      return Remainder(a, b, true);
    case Op::kRem:
      return Remainder(a, b, false);
    case Op::kShl:
      return Shifted(a, b);
    case Op::kShr:
      return ShiftedDown(a, b);
    case Op::kPow:
      return Power(a, b);
    case Op::kBitAnd:
      return a.low >= 0 || b.low >= 0 ? CommonBits(a, b) : Bits(a, b);
    case Op::kBitOr:
    case Op::kBitXor:
      return Bits(a, b);
    case Op::kWhere:
    case Op::kIf:
      return Either(b, c);
    case Op::kBroadcast:
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kRoll:
    case Op::kFlip:
    case Op::kTake:
    case Op::kTakeAlong:
      return a;
    default:
      return std::nullopt;
  }
}

/// Coordinates of a tile.
IndexRange RangeOfIota(const Node& iota) {
  const auto extent = iota.shape[static_cast<size_t>(iota.axes[0])].Constant();
  return {0, std::max<Wide>(extent.value_or(kMostElements) - 1, 0)};
}

/// Of an axis that has so many steps.
IndexRange RangeOfStep(const NodePtr& steps, const Kernel& kernel) {
  const auto count = SizeOf(steps, kernel).Constant();
  return {0, std::max<Wide>(count.value_or(kMostElements) - 1, 0)};
}

/// Whether some of the body's values may be any number: by a divisor of 0, or a negative exponent.
bool MayHaveNone(const Node& node, const IndexRange& b) {
  if (node.dtype == DType::kIndex) return false;
  return (IsDivision(node.op) && b.low <= 0 && b.high >= 0) || (node.op == Op::kPow && b.low < 0);
}

/// As long as it takes, before it is known to fit.
IndexRange Exact(const Node& node, const Kernel& kernel, const RangeOfLocal& of_local) {
  switch (node.op) {
    case Op::kConst:
      return IsFloat(node.dtype) ? RangeOf(node.dtype) : Around({Wide{node.int_value}});
    case Op::kAxis:
      return RangeOfStep(kernel[AxisId(node.index)].steps, kernel);
    case Op::kSteps:
    case Op::kDim:
      return {0, kMostElements};
    case Op::kRead:  // of an index, too
      return RangeOf(kernel[RefId(node.index)].dtype);
    case Op::kLocal:
      return of_local(LocalId(node.index));
    case Op::kIota:
      return RangeOfIota(node);
    default:
      break;
  }
  if (node.args.empty()) return RangeOf(node.dtype);
  if (node.op == Op::kConcat) {
    IndexRange all = RangeOf(*node.args[0], kernel, of_local);
    for (const NodePtr& arg : node.args) all = Either(all, RangeOf(*arg, kernel, of_local));
    return all;
  }
  IndexRange args[3];
  for (size_t k = 0; k < std::min<size_t>(node.args.size(), 3); ++k)
    args[k] = RangeOf(*node.args[k], kernel, of_local);
  if (node.op == Op::kCast) {
    const DType from = node.args[0]->dtype;
    return IsFloat(from) ? RangeOf(node.dtype) : args[0];
  }
  if (MayHaveNone(node, args[1])) return RangeOf(node.dtype);
  return Of(node.op, args[0], args[1], args[2]).value_or(RangeOf(node.dtype));
}

}  // namespace

IndexRange AnyIndex() { return kAny; }

/// What does not fit wraps around, or ends the call.
IndexRange RangeOf(const Node& node, const Kernel& kernel, const RangeOfLocal& of_local) {
  const IndexRange of_type = RangeOf(node.dtype);
  const IndexRange exact = Exact(node, kernel, of_local);
  return Holds(of_type, exact) ? exact : of_type;
}

/// A size without such values is computed as the call begins, and looked at there.
bool MayOverflow(const Node& node, const Kernel& kernel, const RangeOfLocal& of_local) {
  const bool may = node.dtype == DType::kIndex && !RowOf(node.op).cpp.checked.empty();
  return may && IsRead(node) && !Holds(kAny, Exact(node, kernel, of_local));
}

}  // namespace kiln
