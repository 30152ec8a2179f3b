#include <algorithm>

#include "generator/ir/tile_node.h"
#include "generator/plan/walk.h"
#include "generator/planner/lower/lowering.h"

/// Subscripts that only a call can show to be in range are checked before they are used.
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

/// Small constants do not wrap around in any type.
bool IsSmall(const IntegerBounds& bounds) {
  constexpr int64_t kSmall = int64_t{1} << 20;
  const auto high = Constant(bounds.high);
  return bounds.low && high && *bounds.low > -kSmall && *high < kSmall;
}

/// Arithmetic of the body wraps around, so only that of subscripts is followed.
IntegerBounds BoundsOfArithmetic(const Node& node, const IntegerBounds& a, const IntegerBounds& b) {
  if (node.dtype != DType::kIndex && !(IsSmall(a) && IsSmall(b))) return {};
  if (node.op == Op::kAdd) return BoundsOfSum(a, b);
  return node.op == Op::kSub ? BoundsOfDifference(a, b) : BoundsOfProduct(a, b);
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
      return arg(0);
    case Op::kBroadcast:
    case Op::kReduceMin:
    case Op::kReduceMax:
      return arg(0);
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

/// Whatever is known of it: a variable of the body has the values of its type.
IndexRange Lowering::RangeOfLocal(LocalId local) const {
  const auto known = index_ranges_.find(local);
  return known == index_ranges_.end() ? AnyIndex() : known->second;
}

bool Lowering::IsInRange(const Subscript& s, const Size& extent) const {
  const IntegerBounds bounds = BoundsOf(*s.start);
  const Size size = ReachOf(s);
  const Size start = SizeOf(s.start, kernel_);
  const bool low = (bounds.low && *bounds.low >= 0) || (start.Constant() && *start.Constant() >= 0);
  if (!low) return false;
  const auto left =
      Constant(bounds.high ? std::optional<Size>(extent - size - *bounds.high) : std::nullopt);
  if (left && *left >= 0) return true;
  const auto slack = (extent - start - size).Constant();
  return slack && *slack >= 0;
}

/// What is read from memory for a subscript is read once, before the statement and not in its
/// loops.
ElementPtr Lowering::Hoisted(const ElementPtr& start) {
  bool reads = false;
  ForEachLoad(start, [&](const Place&) { reads = true; });
  if (!reads || !guards_.empty()) return start;
  for (const auto& [list, value, variable] : hoisted_) {
    if (list == out_ && SameElement(value, start)) return Variable(variable);
  }
  const VariableId variable = NewVariable("from", DType::kIndex, false);
  hoisted_.push_back({out_, start, variable});
  Emit(stage::Define{variable, start});
  return Variable(variable);
}

/// `name`: what is subscripted, for the diagnostic.
ElementPtr Lowering::CheckedStart(const std::string& name, const Subscript& s, const Size& extent) {
  const ElementPtr start = Hoisted(Scalar(*s.start));
  if (in_view_ || IsInRange(s, extent)) return start;
  const stage::Range range{name, start, Scalar(*ReachOf(s).ToNode()), Scalar(*extent.ToNode())};
  for (size_t k = out_->size(); k-- > 0;) {
    const auto* former = As<stage::Range>((*out_)[k]);
    if (!former) break;
    const bool same = former->of == name && SameElement(former->start, start) &&
                      SameElement(former->size, range.size) &&
                      SameElement(former->extent, range.extent);
    if (same) return start;
  }
  // What is not evaluated is not checked.
  Stage guarded = Of(range);
  for (size_t k = guards_.size(); k-- > 0;) guarded = Of(stage::If{guards_[k], {guarded}, {}});
  Emit(std::move(guarded));
  return start;
}

/// The least and the greatest of the indices are in range, if there are any.
void Lowering::CheckTaken(const Node& take) {
  const Node& arg = *take.args[0];
  const NodePtr& ids = take.args[1];
  const Size& extent = arg.shape[static_cast<size_t>(take.axes[0])];
  const IntegerBounds bounds = BoundsOf(*ids);
  const auto left =
      Constant(bounds.high ? std::optional<Size>(extent - *bounds.high) : std::nullopt);
  if (bounds.low && *bounds.low >= 0 && left && *left >= 1) return;
  if (!checked_.insert({out_, &take}).second) return;
  const Size count = Product(ids->shape);
  const bool perhaps_none = count.Constant().value_or(0) < 1;
  if (perhaps_none) {
    guards_.push_back(MakeOp(Op::kGt, DType::kBool, {Scalar(*count.ToNode()), IndexConstant(0)}));
  }
  const std::string name = arg.op == Op::kRead    ? kernel_[RefId(arg.index)].name
                           : arg.op == Op::kLocal ? kernel_[LocalId(arg.index)].name
                                                  : "a value";
  std::vector<NodePtr> extremes;
  for (const Op op : {Op::kReduceMin, Op::kReduceMax}) {
    Node extreme = TileNode(op, ids->dtype, {}, ids->span, {ids});
    for (size_t d = 0; d < ids->shape.size(); ++d) extreme.axes.push_back(static_cast<int>(d));
    made_.push_back(Share(std::move(extreme)));
    Scalar(*made_.back());  // both of them before either is looked at, so that they are one pass
    made_.push_back(Share(TileNode(Op::kCast, DType::kIndex, {}, ids->span, {made_.back()})));
    extremes.push_back(made_.back());
  }
  for (const NodePtr& extreme : extremes)
    CheckedStart(name, {ids->span, false, extreme, 1, 1, nullptr}, extent);
  if (perhaps_none) guards_.pop_back();
}

/// An argument that is only evaluated where `condition` holds.
ElementPtr Lowering::Guarded(const ElementPtr& condition, bool holds, const Node& node,
                             const Point& point) {
  guards_.push_back(holds ? condition : MakeOp(Op::kNot, DType::kBool, {condition}));
  ElementPtr value = Value(node, point);
  guards_.pop_back();
  return value;
}

}  // namespace kiln
