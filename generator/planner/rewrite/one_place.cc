#include "generator/planner/rewrite/one_place.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "generator/ir/index_range.h"
#include "generator/ir/tile_node.h"
#include "generator/ir/typing.h"
#include "generator/planner/rewrite/reads.h"

namespace kiln {
namespace {

/// Where a mask holds: at one position of a dimension, if that is in range.
struct OnePlace {
  size_t from_last = 0;  // the dimension, counted from the last one
  NodePtr position;      // a scalar of kIndex
  Size extent;
  bool elsewhere = false;  // the mask holds everywhere but there
};

/// The dimension of a shape that is lined up with another's; nothing: it has none, or one of 1,
/// whose element is that of all positions.
std::optional<size_t> DimensionOf(const Shape& shape, size_t from_last) {
  if (from_last >= shape.size()) return std::nullopt;
  const size_t d = shape.size() - 1 - from_last;
  return shape[d].IsOne() ? std::nullopt : std::optional(d);
}

/// The window of a shape at a position of one dimension.
std::vector<Subscript> WindowAt(const Shape& shape, size_t dimension, const NodePtr& position) {
  std::vector<Subscript> window;
  for (size_t d = 0; d < shape.size(); ++d) {
    const NodePtr first = d == dimension ? position : MakeInt(0, DType::kIndex, {});
    window.push_back({{}, true, first, d == dimension ? Size(1) : shape[d], 1, nullptr});
  }
  return window;
}

Shape WithOne(Shape shape, size_t dimension) {
  shape[dimension] = 1;
  return shape;
}

bool IsWholeRead(const Node& node) {
  const bool reads = node.op == Op::kRead || node.op == Op::kLocal;
  return reads && node.subscripts.empty() && !node.shape.empty();
}

/// The value at a position of one dimension, of which 1 is left; null: more than elements of the
/// position would have to be computed.
NodePtr At(const NodePtr& node, size_t from_last, const NodePtr& position) {
  const std::optional<size_t> d = DimensionOf(node->shape, from_last);
  if (!d) return node;
  Node at = *node;
  at.shape = WithOne(node->shape, *d);
  if (IsWholeRead(*node)) {
    at.subscripts = WindowAt(node->shape, *d, position);
    if (node->op == Op::kRead) return Share(std::move(at));
    at.op = Op::kSlice;
    at.args = {node};
    at.index = -1;
    return Share(std::move(at));
  }
  if (node->op == Op::kIota) {
    if (static_cast<size_t>(node->axes[0]) != *d) return Share(std::move(at));
    at = TileNode(Op::kBroadcast, node->dtype, at.shape, node->span,
                  {Cast(position, node->dtype, node->span)});
    return Share(std::move(at));
  }
  const bool of_elements = IsElementwise(node->op) && ClassOf(node->op) != OpClass::kLazy;
  if (!of_elements && node->op != Op::kBroadcast) return nullptr;
  for (NodePtr& arg : at.args) {
    arg = At(arg, from_last, position);
    if (!arg) return nullptr;
  }
  return Share(std::move(at));
}

/// Whether a scalar is made of nothing but scalars, so that it may be computed once more.
bool IsAtHand(const Node& node) {
  bool at_hand =
      node.shape.empty() && (ClassOf(node.op) == OpClass::kLeaf || IsElementwise(node.op));
  ForEachArgument(node, [&](const Node& arg) { at_hand = at_hand && IsAtHand(arg); });
  return at_hand;
}

/// Whether a fold leaves out elements of that value.
bool IsIdentity(Op fold, const Node& value) {
  if (value.op != Op::kConst || value.dtype == DType::kBool) return false;
  const bool is_float = IsFloat(value.dtype);
  const double infinity = std::numeric_limits<double>::infinity();
  switch (fold) {
    case Op::kSum:
      return is_float ? value.float_value == 0 : value.int_value == 0;
    case Op::kReduceMax:
      return is_float && value.float_value == -infinity;
    case Op::kReduceMin:
      return is_float && value.float_value == infinity;
    default:
      return false;
  }
}

class OnePlaces {
 public:
  explicit OnePlaces(const Kernel& kernel) : kernel_(kernel) {}

  bool Rewrite(Actions& actions) {
    for (Action& action : actions) {
      ChangeExpressions(action, [&](NodePtr& node) { node = Picked(node); });
      const auto* define = As<action::Define>(action);
      if (define && kernel_[LocalId(define->local)].kind == Local::Kind::kLet &&
          StaysAsItIs(*define->value, kernel_, [this](RefId ref) { return IsConstant(ref); }))
        lets_[LocalId(define->local)] = define->value;
      if (const auto* loop = As<action::For>(action)) loops_[LocalId(loop->local)] = loop;
      ChangeBlocks(action, [&](Actions& block) { Rewrite(block); });
      if (auto* store = std::get_if<action::Store>(&action.what)) SetOnePlace(action, *store);
    }
    return changed_;
  }

 private:
  bool IsConstant(RefId ref) const {
    return kernel_[ref].role == Role::kPrefetch || kernel_[ref].role == Role::kScalar;
  }

  /// What a name stands for.
  const NodePtr& ValueOf(const NodePtr& node) const {
    if (node->op != Op::kLocal || node->shape.empty()) return node;
    const auto found = lets_.find(LocalId(node->index));
    return found == lets_.end() ? node : ValueOf(found->second);
  }

  const NodePtr& WithoutCasts(const NodePtr& of) const {
    const NodePtr& node = ValueOf(of);
    const bool has_all = node->op == Op::kCast && RowOf(node->dtype).bits >= 32 &&
                         !IsFloat(node->dtype) && !IsFloat(node->args[0]->dtype);
    return has_all ? WithoutCasts(node->args[0]) : node;
  }

  std::optional<OnePlace> PlaceOf(const NodePtr& named) const {
    const NodePtr& mask = ValueOf(named);
    if (mask->op != Op::kEq && mask->op != Op::kNe) return std::nullopt;
    for (const size_t side : {0, 1}) {
      const NodePtr& iota = WithoutCasts(mask->args[side]);
      const NodePtr& position = mask->args[1 - side];
      if (iota->op != Op::kIota || IsFloat(position->dtype) || !IsAtHand(*position)) continue;
      const auto d = static_cast<size_t>(iota->axes[0]);
      if (iota->shape[d].IsOne()) continue;
      return OnePlace{iota->shape.size() - 1 - d, AsIndex(position), iota->shape[d],
                      mask->op == Op::kNe};
    }
    return std::nullopt;
  }

  /// A scalar, as what subscripts begin with.
  NodePtr AsIndex(const NodePtr& node) const {
    if (node->dtype == DType::kIndex) return node;
    const NodePtr& exact = WithoutCasts(node);
    const bool has_name = exact->op == Op::kAxis || exact->op == Op::kRead ||
                          (exact->op == Op::kLocal && loops_.count(LocalId(exact->index)) > 0);
    if (exact->dtype != DType::kIndex && !(has_name && exact->dtype == DType::kI32))
      return Cast(node, DType::kIndex, node->span);
    if (!IsInt32(*exact)) return Cast(node, DType::kIndex, node->span);
    Node index = *exact;
    index.dtype = DType::kIndex;
    return Share(std::move(index));
  }

  IndexRange RangeOfIndex(const Node& node) const {
    return RangeOf(node, kernel_, [this](LocalId local) {
      const auto found = loops_.find(local);
      if (found == loops_.end()) return AnyIndex();
      return IndexRange{RangeOfIndex(*found->second->low).low,
                        RangeOfIndex(*found->second->high).high - 1};
    });
  }

  bool IsInt32(const Node& node) const {
    const IndexRange range = RangeOfIndex(node);
    return range.low >= std::numeric_limits<int32_t>::min() &&
           range.high <= std::numeric_limits<int32_t>::max();
  }

  bool IsInRange(const OnePlace& place) const {
    const IndexRange range = RangeOfIndex(*place.position);
    if (range.low < 0) return false;
    if (place.extent.Constant()) return range.high < *place.extent.Constant();
    if (place.position->op != Op::kLocal) return false;
    const auto loop = loops_.find(LocalId(place.position->index));
    return loop != loops_.end() && SizeOf(loop->second->high, kernel_) == place.extent;
  }

  NodePtr Compare(Op op, const NodePtr& a, const NodePtr& b) const {
    return Share(TileNode(op, DType::kBool, {}, a->span, {a, b}));
  }
  NodePtr InRange(const OnePlace& place) const {
    const NodePtr zero = MakeInt(0, DType::kIndex, place.position->span);
    return Share(TileNode(Op::kAnd, DType::kBool, {}, place.position->span,
                          {Compare(Op::kGe, place.position, zero),
                           Compare(Op::kLt, place.position, place.extent.ToNode())}));
  }

  /// What a fold of `where(mask, value, identity)` folds without all that is left out; null: it is
  /// no such fold.
  NodePtr Chosen(const Node& fold) const {
    const NodePtr& where = fold.args[0];
    if (where->op != Op::kWhere) return nullptr;
    const std::optional<OnePlace> place = PlaceOf(where->args[0]);
    if (!place || !IsIdentity(fold.op, *where->args[place->elsewhere ? 1 : 2])) return nullptr;
    const std::optional<size_t> d = DimensionOf(where->shape, place->from_last);
    if (!d || std::count(fold.axes.begin(), fold.axes.end(), static_cast<int>(*d)) == 0)
      return nullptr;
    const bool in_range = IsInRange(*place);
    // Of a dimension that may be empty there is no element to read in place of what is not there.
    if (!in_range && place->extent.Constant().value_or(0) < 1) return nullptr;
    NodePtr position = place->position;
    if (!in_range) {
      const NodePtr zero = MakeInt(0, DType::kIndex, position->span);
      const NodePtr last = (place->extent - Size(1)).ToNode();
      position =
          Share(TileNode(Op::kClamp, DType::kIndex, {}, position->span, {position, zero, last}));
    }
    NodePtr at = At(where->args[place->elsewhere ? 2 : 1], place->from_last, position);
    if (!at) return nullptr;
    const Shape shape = WithOne(where->shape, *d);
    if (!in_range) {
      Node guarded = *where;
      guarded.shape = at->shape;
      guarded.args = {InRange(*place), at, where->args[place->elsewhere ? 1 : 2]};
      at = Share(std::move(guarded));
    }
    if (at->shape == shape) return at;
    return Share(TileNode(Op::kBroadcast, at->dtype, shape, at->span, {at}));
  }

  NodePtr Picked(const NodePtr& node) {
    Node with = *node;
    for (NodePtr& arg : with.args) arg = Picked(arg);
    const NodePtr chosen = IsFold(node->op) ? Chosen(with) : nullptr;
    if (chosen) {
      with.args = {chosen};
      changed_ = true;
    }
    return with.args == node->args ? node : Share(std::move(with));
  }

  /// `x = where(mask, value, x)`, or a store under such a mask.
  void SetOnePlace(Action& action, const action::Store& whole) {
    if (!whole.subscripts.empty()) return;
    std::optional<OnePlace> place;
    NodePtr value = whole.value;
    if (whole.mask) {
      place = PlaceOf(whole.mask);
      if (place && place->elsewhere) return;
    } else if (value->op == Op::kWhere) {
      place = PlaceOf(value->args[0]);
      if (!place) return;
      const Node& rest = *value->args[place->elsewhere ? 1 : 2];
      if (!IsOfTarget(whole, rest) || !rest.subscripts.empty()) return;
      value = value->args[place->elsewhere ? 2 : 1];
    }
    const std::optional<size_t> d =
        place ? DimensionOf(whole.shape, place->from_last) : std::nullopt;
    const NodePtr at = d ? At(value, place->from_last, place->position) : nullptr;
    if (!at) return;
    action::Store store = whole;
    store.subscripts = WindowAt(whole.shape, *d, place->position);
    store.shape = WithOne(whole.shape, *d);
    store.mask = nullptr;
    store.value = at;
    const bool in_range = IsInRange(*place);
    action.what = std::move(store);
    if (!in_range) action.what = action::When{InRange(*place), {action}, {}};
    changed_ = true;
  }

  const Kernel& kernel_;
  std::map<LocalId, NodePtr> lets_;
  std::map<LocalId, const action::For*> loops_;
  bool changed_ = false;
};

}  // namespace

std::shared_ptr<const Kernel> WithOnePlaceOfMasks(const Kernel& kernel) {
  OnePlaces places(kernel);
  return Rewritten(kernel, [&](Actions& actions) { return places.Rewrite(actions); });
}

}  // namespace kiln
