#include "generator/planner/rewrite/apart.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "generator/ir/tile_node.h"
#include "generator/planner/analyze/nodes.h"
#include "generator/planner/rewrite/reads.h"
#include "generator/planner/rewrite/value_numbers.h"

namespace kiln {
namespace {

using Axes = std::vector<int>;

/// Fewer elements are written out, or lanes run along another dimension.
bool IsLong(const Size& size) { return size.Constant().value_or(16) >= 16; }

/// Whether a transpose changes what lanes run along, from one long dimension to another.
bool Turns(const Node& node) {
  if (node.op != Op::kTranspose || node.shape.empty()) return false;
  const size_t last = node.shape.size() - 1;
  return node.axes[last] != static_cast<int>(last) && IsLong(node.shape[last]) &&
         IsLong(node.args[0]->shape[last]);
}

bool IsPointwise(const Node& node) {
  return IsElementwise(node.op) && ClassOf(node.op) != OpClass::kLazy;
}

/// The shape whose transpose by `axes` has that one.
Shape Back(const Shape& shape, const Axes& axes) {
  Shape back(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) back[static_cast<size_t>(axes[d])] = shape[d];
  return back;
}

/// A value as the transpose of another.
struct Transposed {
  NodePtr of;
  Axes axes;
};

NodePtr TurnedBack(const NodePtr& node, const Axes& axes);

/// `node` as an operation on what its arguments are transposes of; null: not all of them are.
NodePtr OfTurnedBack(const Node& node, const Axes& axes) {
  Node of = node;
  of.shape = Back(node.shape, axes);
  for (NodePtr& arg : of.args) {
    arg = TurnedBack(arg, axes);
    if (!arg) return nullptr;
  }
  return Share(std::move(of));
}

std::optional<Transposed> AsTranspose(const NodePtr& node) {
  if (Turns(*node)) return Transposed{node->args[0], node->axes};
  if (!IsPointwise(*node)) return std::nullopt;
  for (const NodePtr& arg : node->args) {
    const auto turned = arg->shape == node->shape ? AsTranspose(arg) : std::nullopt;
    if (!turned) continue;
    const NodePtr of = OfTurnedBack(*node, turned->axes);
    return of ? std::optional(Transposed{of, turned->axes}) : std::nullopt;
  }
  return std::nullopt;
}

bool IsLine(const Shape& shape) {
  return std::count_if(shape.begin(), shape.end(), [](const Size& s) { return !s.IsOne(); }) <= 1;
}

/// What has to be transposed by `axes` for that value, which broadcasts to as many dimensions; null
/// where that would itself have to be moved.
NodePtr TurnedBack(const NodePtr& node, const Axes& axes) {
  if (node->shape.empty()) return node;
  if (IsLine(node->shape)) {
    Shape shape(axes.size() - node->shape.size(), Size(1));
    shape.insert(shape.end(), node->shape.begin(), node->shape.end());
    return Reshaped(node, Back(shape, axes));
  }
  if (node->shape.size() != axes.size()) return nullptr;
  if (const auto turned = AsTranspose(node)) return turned->axes == axes ? turned->of : nullptr;
  if (node->op == Op::kIota) {
    Node iota = *node;
    iota.shape = Back(node->shape, axes);
    iota.axes[0] = axes[static_cast<size_t>(node->axes[0])];
    return Share(std::move(iota));
  }
  const bool is_made = IsPointwise(*node) || node->op == Op::kBroadcast;
  return is_made ? OfTurnedBack(*node, axes) : nullptr;
}

/// Whether the dimensions but those of 1 are in the order in which they were.
bool KeepsOrder(const Shape& shape, const Axes& axes) {
  int last = -1;
  for (size_t d = 0; d < axes.size(); ++d) {
    if (shape[d].IsOne()) continue;
    if (axes[d] < last) return false;
    last = axes[d];
  }
  return true;
}

/// The fold of a transpose, as the transpose of a fold; null: it is none.
NodePtr FoldedFirst(const Node& fold) {
  if (!IsReduction(fold.op) || (!IsFold(fold.op) && fold.axes.size() > 1)) return nullptr;
  const auto turned = AsTranspose(fold.args[0]);
  if (!turned) return nullptr;
  Node of = fold;
  of.args = {turned->of};
  for (int& axis : of.axes) axis = turned->axes[static_cast<size_t>(axis)];
  std::sort(of.axes.begin(), of.axes.end());
  // Where dimensions of the fold are among those that are left of the argument.
  Axes left;
  for (size_t d = 0; d < turned->axes.size(); ++d)
    if (fold.keep || !HasAxis(fold, d)) left.push_back(turned->axes[d]);
  Axes sorted = left;
  std::sort(sorted.begin(), sorted.end());
  for (int& axis : left)
    axis = static_cast<int>(std::find(sorted.begin(), sorted.end(), axis) - sorted.begin());
  of.shape = Back(fold.shape, left);
  const NodePtr folded = Share(std::move(of));
  if (KeepsOrder(fold.shape, left)) return Reshaped(folded, fold.shape);
  Node transpose = TileNode(Op::kTranspose, fold.dtype, fold.shape, fold.span, {folded});
  transpose.axes = left;
  return Share(std::move(transpose));
}

/// What is cast and then moved, as what is moved and then cast, so that an input need not be copied
/// for it; null: it is something else. Lanes that indices choose are looked up in floats.
NodePtr CastLast(const Node& move) {
  if (move.args.empty() || move.args[0]->shape.empty()) return nullptr;
  const Node& cast = *move.args[0];
  const bool takes_rows = move.op == Op::kTake && !HasAxis(move, cast.shape.size() - 1);
  if (move.op != Op::kRoll && !takes_rows) return nullptr;
  if (cast.op != Op::kCast || cast.args[0]->op != Op::kRead) return nullptr;
  const DType dtype = cast.args[0]->dtype;
  if (IsPacked(dtype) || dtype == DType::kBool) return nullptr;
  Node moved = move;
  moved.dtype = dtype;
  moved.args[0] = cast.args[0];
  Node last = cast;
  last.shape = move.shape;
  last.args = {Share(std::move(moved))};
  return Share(std::move(last));
}

bool HasSteps(const Subscript& subscript) { return subscript.stride != 1; }

/// Whether a window leaves out elements between those along which lanes run.
bool LeavesLanesOut(const Node& node) {
  return !node.subscripts.empty() && HasSteps(node.subscripts.back());
}

bool IsRepeated(const Node& broadcast) {
  return broadcast.op == Op::kBroadcast && !IsLine(broadcast.args[0]->shape);
}

/// Whether elements are in other places behind the operation.
bool Rearranges(Op op) {
  return op == Op::kFlip || op == Op::kRoll || op == Op::kTake || op == Op::kTakeAlong;
}

/// Whether an element is made of others than that of its place.
bool LooksAcross(const Node& node) {
  switch (node.op) {
    case Op::kSlice:
      return std::any_of(node.subscripts.begin(), node.subscripts.end(), HasSteps);
    case Op::kBroadcast:
      return IsRepeated(node);
    default:
      return Rearranges(node.op) || IsReduction(node.op) || ClassOf(node.op) == OpClass::kScan;
  }
}

/// Whether neighbours of a value, before it is transposed, are other elements than neighbours of
/// what it is read from; `regrouped`: by a reshape as well.
bool IsScattered(const Node& node, bool regrouped = false) {
  if (Rearranges(node.op)) return true;
  switch (node.op) {
    case Op::kRead:
      return LeavesLanesOut(node);
    case Op::kTranspose:
      return regrouped || IsScattered(*node.args[0]);
    case Op::kReshape:
      return IsScattered(*node.args[0], regrouped || RegroupsDimensions(node));
    case Op::kSlice:
      if (LeavesLanesOut(node)) return true;
      break;
    case Op::kBroadcast:
      if (regrouped && IsRepeated(node)) return true;
      break;
    default:
      if (!IsPointwise(node)) return false;
  }
  return std::any_of(node.args.begin(), node.args.end(),
                     [&](const NodePtr& arg) { return IsScattered(*arg, regrouped); });
}

/// Whether elements along which lanes run go on with the first behind the last.
bool RunsAround(const Node& node) {
  if (node.op == Op::kRoll) return HasAxis(node, node.shape.size() - 1);
  return IsPointwise(node) && std::any_of(node.args.begin(), node.args.end(),
                                          [](const NodePtr& arg) { return RunsAround(*arg); });
}

/// Whether vectors can do what a node does to lanes, or what is done to these before, not both.
bool NeedsMemory(const Node& node) {
  if (Turns(node)) return IsScattered(*node.args[0]);
  const bool leaves_order = (node.op == Op::kFlip && HasAxis(node, node.shape.size() - 1)) ||
                            (node.op == Op::kSlice && LeavesLanesOut(node));
  return leaves_order && RunsAround(*node.args[0]);
}

/// The statements of one list.
class MovesApart {
 public:
  explicit MovesApart(Kernel* kernel) : kernel_(*kernel), numbers_(*kernel) {}

  bool Rewrite(Actions& actions) {
    for (size_t k = 0; k < actions.size(); ++k) {
      if (auto* define = std::get_if<action::Define>(&actions[k].what)) Rewrite(define->value);
      if (auto* store = std::get_if<action::Store>(&actions[k].what)) {
        Rewrite(store->value);
        if (store->mask) Rewrite(store->mask);
      }
      ChangeBlocks(actions[k],
                   [this](Actions& block) { changed_ |= MovesApart(&kernel_).Rewrite(block); });
      numbers_.Pass(actions[k]);
      actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(k), lets_.begin(), lets_.end());
      k += lets_.size();
      lets_.clear();
    }
    return changed_;
  }

 private:
  void Rewrite(NodePtr& root) {
    const NodePtr apart = Apart(root);
    changed_ |= apart != root;
    root = names_.empty() ? apart : WithNames(apart);
  }

  NodePtr Apart(const NodePtr& node) {
    if (ClassOf(node->op) == OpClass::kLazy) return node;
    Node with = *node;
    for (NodePtr& arg : with.args) arg = Apart(arg);
    if (const NodePtr folded = FoldedFirst(with)) return folded;
    if (const NodePtr cast = CastLast(with)) return cast;
    if (LooksAcross(with))
      for (NodePtr& arg : with.args) arg = WithNamedTransposes(arg);
    if (NeedsMemory(with)) with.args[0] = Named(with.args[0]);
    return with.args == node->args ? node : Share(std::move(with));
  }

  NodePtr WithNamedTransposes(const NodePtr& node) {
    if (Turns(*node)) return Named(node);
    const bool passes = IsPointwise(*node) || node->op == Op::kSlice || node->op == Op::kReshape ||
                        node->op == Op::kBroadcast;
    if (!passes) return node;
    Node with = *node;
    for (NodePtr& arg : with.args) arg = WithNamedTransposes(arg);
    return with.args == node->args ? node : Share(std::move(with));
  }

  NodePtr WithNames(const NodePtr& node) {
    if (Turns(*node)) {
      const auto name = names_.find(numbers_.Of(node));
      if (name != names_.end()) return name->second;
    }
    Node with = *node;
    for (NodePtr& arg : with.args) arg = WithNames(arg);
    return with.args == node->args ? node : Share(std::move(with));
  }

  /// A let of the value, in front of the statement at hand or of one before.
  NodePtr Named(const NodePtr& value) {
    const auto [name, added] = names_.try_emplace(numbers_.Of(value));
    if (!added) return name->second;
    return name->second = ReadOf(NewLet("moved", value, &kernel_, &lets_), *value);
  }

  Kernel& kernel_;
  ValueNumbers numbers_;
  std::map<int, NodePtr> names_;  // of values of this list, which do not change
  Actions lets_;                  // in front of the statement at hand
  bool changed_ = false;
};

}  // namespace

std::shared_ptr<const Kernel> WithMovesApart(const Kernel& of) {
  auto kernel = std::make_shared<Kernel>(of);
  const bool body = MovesApart(kernel.get()).Rewrite(kernel->body);
  const bool epilogue = MovesApart(kernel.get()).Rewrite(kernel->epilogue);
  return body || epilogue ? kernel : nullptr;
}

}  // namespace kiln
