#include <algorithm>

#include "generator/ir/tile_node.h"
#include "generator/plan/walk.h"
#include "generator/planner/lower/lowering.h"

/// Subscripts that only a call can show to be in range are checked before they are used.
namespace kiln {

/// Whatever is known of it: a variable of the body has the values of its type.
IndexRange Lowering::RangeOfLocal(LocalId local) const {
  const auto known = index_ranges_.find(local);
  return known == index_ranges_.end() ? AnyIndex() : known->second;
}

bool Lowering::IsInRange(const Subscript& s, const Size& extent) const {
  const Size size = ReachOf(s);
  const Size start = SizeOf(s.start, kernel_);
  const bool low = IsNotNegative(*s.start) || (start.Constant() && *start.Constant() >= 0);
  if (!low) return false;
  if (EndsBefore(*s.start, extent - size + Size(1))) return true;
  const auto slack = (extent - start - size).Constant();
  return slack && *slack >= 0;
}

/// Whether an integer, or all of a tile, is surely 0 or more.
bool Lowering::IsNotNegative(const Node& node) const {
  if (RangeOf(node, kernel_, [this](LocalId local) { return RangeOfLocal(local); }).low >= 0)
    return true;
  const IntegerBounds bounds = BoundsOf(node);
  return bounds.low && *bounds.low >= 0;
}

/// Whether it is surely less than `end`.
bool Lowering::EndsBefore(const Node& node, const Size& end) const {
  const auto most = RangeOf(node, kernel_, [this](LocalId local) { return RangeOfLocal(local); });
  if (end.Constant() && most.high < *end.Constant()) return true;
  const IntegerBounds bounds = BoundsOf(node);
  const auto left = bounds.high ? (end - *bounds.high).Constant() : std::nullopt;
  return left && *left >= 1;
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

/// The least and the greatest of the indices are in range, if there are any and the text does not
/// say so.
void Lowering::CheckTaken(const Node& take) {
  const Node& arg = *take.args[0];
  const NodePtr& ids = take.args[1];
  const Size& extent = arg.shape[static_cast<size_t>(take.axes[0])];
  std::vector<Op> open;
  if (!IsNotNegative(*ids)) open.push_back(Op::kReduceMin);
  if (!EndsBefore(*ids, extent)) open.push_back(Op::kReduceMax);
  if (open.empty()) return;
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
  for (const Op op : open) {
    Node extreme = TileNode(op, ids->dtype, {}, ids->span, {ids});
    for (size_t d = 0; d < ids->shape.size(); ++d) extreme.axes.push_back(static_cast<int>(d));
    const NodePtr found = Share(std::move(extreme));
    made_.push_back(found);
    Scalar(*found);  // both of them before either is looked at, so that they are one pass
    extremes.push_back(Share(TileNode(Op::kCast, DType::kIndex, {}, ids->span, {found})));
    made_.push_back(extremes.back());
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
