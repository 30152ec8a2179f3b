#include "generator/planner/rewrite/joined.h"

#include <algorithm>
#include <map>
#include <utility>

#include "generator/ir/tile_node.h"
#include "generator/planner/analyze/nodes.h"
#include "generator/planner/rewrite/joined_shapes.h"

namespace kiln {
namespace {

/// Rewrites a body for the shapes in which its names are to be seen. It begins with every shape
/// that some statement asks for (`wishes_`), and then gives up those in which another statement
/// cannot see the name.
class Joiner {
 public:
  explicit Joiner(const Kernel& kernel)
      : kernel_(kernel), refs_(kernel.refs.size()), locals_(kernel.locals.size()) {}

  std::shared_ptr<const Kernel> Run() {
    wishes_ = true;
    while (Walk()) continue;
    wishes_ = false;
    while (Walk()) continue;
    if (!joins_) return nullptr;
    auto joined = std::make_shared<Kernel>(kernel_);
    joined->body = body_;
    joined->epilogue = epilogue_;
    for (const RefId r : IdsOf(kernel_.refs))
      if (refs_[r]) JoinView(kernel_, (*joined)[r], *refs_[r]);
    for (const LocalId l : IdsOf(kernel_.locals))
      if (locals_[l]) (*joined)[l].shape = *locals_[l];
    return joined;
  }

 private:
  /// Whether another shape was wished for, or one was given up.
  bool Walk() {
    changed_ = joins_ = false;
    rewritten_.clear();
    seen_.clear();
    body_ = Rewritten(kernel_.body);
    epilogue_ = Rewritten(kernel_.epilogue);
    return changed_;
  }

  /// The shape in which a name is seen, for a reference to all of it; null: to a part, or to what
  /// has no elements.
  std::optional<Shape>* NamedBy(const Node& node) {
    if (node.op == Op::kLocal && node.index >= 0) return &locals_[LocalId(node.index)];
    if (node.op != Op::kRead) return nullptr;
    const RefId ref(node.index);
    return IsAll(node.subscripts, kernel_[ref].view) ? &refs_[ref] : nullptr;
  }
  /// Subscripts may leave out dimensions of extent 1.
  static bool IsAll(const std::vector<Subscript>& subscripts, const Shape& extents) {
    for (size_t d = 0; d < subscripts.size(); ++d) {
      const Subscript& s = subscripts[d];
      const bool is_zero = s.start && IsZero(s.start);
      if (!IsWholeRange(s, extents[d]) && !(extents[d].IsOne() && is_zero && !s.range))
        return false;
    }
    return true;
  }

  bool MayWish(const Node& name, const Shape& as) const {
    if (!wishes_) return false;
    if (name.op == Op::kRead) return CanJoin(kernel_, kernel_[RefId(name.index)], as);
    return Joins(kernel_, kernel_[LocalId(name.index)].shape, as);
  }

  /// The value, which has its elements in the same order, in another shape; null: in that they
  /// would have to be copied.
  NodePtr SeenAs(const NodePtr& node, const Shape& as) {
    if (node->shape == as) return Rewritten(node);
    if (node->op == Op::kReshape) return SeenAs(node->args[0], as);
    const auto [known, added] = seen_.try_emplace({node.get(), ToString(as)});
    if (added) known->second = ComputeSeenAs(node, as);
    return known->second;
  }

  NodePtr ComputeSeenAs(const NodePtr& node, const Shape& as) {
    if (std::optional<Shape>* name = NamedBy(*node)) {
      if (!*name && MayWish(*node, as)) *name = as, changed_ = true;
      if (*name == as) return Renamed(*node, as);
    }
    if (BeyondOne(node->shape) == BeyondOne(as))
      return Share(TileNode(Op::kReshape, node->dtype, as, node->span, {Rewritten(node)}));
    if (!IsElementwise(node->op) && node->op != Op::kBroadcast) return nullptr;
    Node seen = *node;
    seen.shape = as;
    for (NodePtr& arg : seen.args) {
      const std::optional<Shape> beside = SeenBeside(kernel_, arg->shape, node->shape, as);
      const NodePtr in_place = beside ? SeenAs(arg, *beside) : nullptr;
      arg = in_place ? in_place : Broadened(arg, node->shape, as);
      if (!arg) return nullptr;
    }
    return Share(std::move(seen));
  }

  /// A value of fewer elements, such as one of each group of channels, as one of each channel: it
  /// is small enough to be copied.
  NodePtr Broadened(const NodePtr& node, const Shape& whole, const Shape& as) {
    const std::optional<Broadening> to = BroadenedBeside(kernel_, node->shape, whole, as);
    if (!to) return nullptr;
    const NodePtr broad =
        Share(TileNode(Op::kBroadcast, node->dtype, to->whole, node->span, {Rewritten(node)}));
    return Share(TileNode(Op::kReshape, node->dtype, to->joined, node->span, {broad}));
  }

  /// All of it, in that shape.
  static NodePtr Renamed(const Node& name, const Shape& as) {
    Node all = name;
    all.shape = as;
    all.subscripts.clear();
    return Share(std::move(all));
  }

  NodePtr Rewritten(const NodePtr& node) {
    const auto known = rewritten_.find(node.get());
    if (known != rewritten_.end()) return known->second;
    return rewritten_[node.get()] = ComputeRewritten(node);
  }

  NodePtr ComputeRewritten(const NodePtr& node) {
    NodePtr seen = node->op == Op::kReshape ? Regrouped(*node)
                   : IsFold(node->op)       ? Folded(*node)
                                            : nullptr;
    if (seen) {
      joins_ = true;
      return seen;
    }
    if (node->op == Op::kLocal) GiveUp(locals_[LocalId(node->index)]);
    if (node->op == Op::kRead || node->op == Op::kInside || node->op == Op::kAt)
      GiveUp(refs_[RefId(node->index)]);
    Node rewritten = *node;
    bool differs = false;
    for (NodePtr& arg : rewritten.args) differs |= arg != std::exchange(arg, Rewritten(arg));
    differs |= Rewrite(rewritten.subscripts);
    return differs ? Share(std::move(rewritten)) : node;
  }

  /// A reshape of what is seen with fewer dimensions.
  NodePtr Regrouped(const Node& reshape) {
    const NodePtr& arg = reshape.args[0];
    const std::optional<Shape> as = Undivided(arg->shape, reshape.shape);
    if (!as || *as == BeyondOne(arg->shape)) return nullptr;
    NodePtr seen = SeenAs(arg, *as);
    return seen ? Reshaped(seen, reshape.shape) : nullptr;
  }

  /// A fold over all of some dimensions of what is seen with fewer, and then over the rest: the sum
  /// of a group of channels is one of sums of channels.
  NodePtr Folded(const Node& fold) {
    const NodePtr& arg = fold.args[0];
    const std::optional<Shape> as = ShapeBefore(*arg);
    if (!as || !Joins(kernel_, arg->shape, *as)) return nullptr;
    const auto is_folded = [&](size_t d) {
      return arg->shape[d].IsOne() || std::count(fold.axes.begin(), fold.axes.end(), d) > 0;
    };
    Node first = fold;
    first.axes.clear(), first.keep = true, first.shape = *as;
    Node second = first;
    second.shape = arg->shape;
    const auto parts = PartsOf(kernel_, arg->shape, *as);
    for (size_t p = 0; p < parts.size(); ++p) {
      if (std::all_of(parts[p].begin(), parts[p].end(), is_folded)) {
        first.axes.push_back(static_cast<int>(p));
        first.shape[p] = 1;
        for (const size_t d : parts[p]) second.shape[d] = 1;
      }
    }
    if (first.axes.empty()) return nullptr;
    const NodePtr seen = SeenAs(arg, *as);
    if (!seen) return nullptr;
    first.args = {seen};
    NodePtr folded = Reshaped(Share(std::move(first)), second.shape);
    for (size_t d = 0; d < arg->shape.size(); ++d) {
      if (second.shape[d].IsOne() || !is_folded(d)) continue;
      second.axes.push_back(static_cast<int>(d));
      second.shape[d] = 1;
    }
    if (!second.axes.empty()) {
      second.args = {folded};
      folded = Share(std::move(second));
    }
    return Reshaped(folded, fold.shape);
  }

  bool Rewrite(std::vector<Subscript>& subscripts) {
    bool differs = false;
    for (Subscript& s : subscripts) {
      for (NodePtr* at : {&s.start, &s.count})
        if (*at) differs |= *at != std::exchange(*at, Rewritten(*at));
    }
    return differs;
  }

  /// Somebody sees the name in its own shape.
  void GiveUp(std::optional<Shape>& name) {
    if (wishes_ || !name) return;
    name.reset();
    changed_ = true;
  }

  // ---- statements ------------------------------------------------------------------------------

  Actions Rewritten(const Actions& actions) {
    Actions rewritten = actions;
    for (Action& action : rewritten) Rewrite(action);
    return rewritten;
  }

  void Rewrite(Action& action) {
    if (auto* store = std::get_if<action::Store>(&action.what)) return RewriteStore(*store);
    if (auto* define = std::get_if<action::Define>(&action.what)) return RewriteDefine(*define);
    if (const auto* copy = As<action::Copy>(action))
      for (const Window* window : {&copy->source, &copy->target}) GiveUp(refs_[RefId(window->ref)]);
    const auto* wait = As<action::Wait>(action);
    if (wait && wait->window) GiveUp(refs_[RefId(wait->window->ref)]);
    ChangeExpressions(action, [&](NodePtr& node) { node = Rewritten(node); });
    ChangeBlocks(action, [&](Actions& block) { block = Rewritten(block); });
  }

  /// What the value of a store, or its mask, is where the store's window is seen in another shape.
  NodePtr SeenBy(const NodePtr& value, const Shape& window, const Shape& as) {
    const std::optional<Shape> beside = SeenBeside(kernel_, value->shape, window, as);
    return beside ? SeenAs(value, *beside) : nullptr;
  }

  void RewriteDefine(action::Define& define) {
    std::optional<Shape>& name = locals_[LocalId(define.local)];
    const Shape& shape = kernel_[LocalId(define.local)].shape;
    Ask(name, *define.value, [&](const Shape& as) { return Joins(kernel_, shape, as); });
    if (name) {
      if (const NodePtr value = SeenBy(define.value, shape, *name)) {
        define.value = value;
        joins_ = true;
        return;
      }
      GiveUp(name);
    }
    define.value = Rewritten(define.value);
  }

  void RewriteStore(action::Store& store) {
    const RefId ref(store.ref);
    std::optional<Shape>& name = ref ? refs_[ref] : locals_[LocalId(store.local)];
    const Shape& extents = ref ? kernel_[ref].view : kernel_[LocalId(store.local)].shape;
    const bool is_all = IsAll(store.subscripts, extents);
    if (is_all) {
      Ask(name, *store.value, [&](const Shape& as) {
        return ref ? CanJoin(kernel_, kernel_[ref], as) : Joins(kernel_, extents, as);
      });
    }
    if (is_all && name) {
      const NodePtr value = SeenBy(store.value, store.shape, *name);
      const NodePtr mask = store.mask ? SeenBy(store.mask, store.shape, *name) : nullptr;
      if (value && (mask || !store.mask)) {
        store.value = value, store.mask = mask;
        store.shape = *name;
        store.subscripts.clear();
        joins_ = true;
        return;
      }
    }
    GiveUp(name);
    store.value = Rewritten(store.value);
    if (store.mask) store.mask = Rewritten(store.mask);
    Rewrite(store.subscripts);
  }

  /// Asks for the shape that a value of the same extents has before it is given these.
  template <class MayBe>
  void Ask(std::optional<Shape>& name, const Node& value, const MayBe& may_be) {
    if (!wishes_ || name) return;
    const std::optional<Shape> as = ShapeBefore(value);
    if (!as || !may_be(*as)) return;
    name = as;
    changed_ = true;
  }

  std::optional<Shape> ShapeBefore(const Node& value) {
    if (const std::optional<Shape>* name = NamedBy(value); name && *name) return *name;
    if (value.op == Op::kReshape) {
      const Node& arg = *value.args[0];
      const std::optional<Shape> as = Undivided(value.shape, arg.shape);
      return as == BeyondOne(value.shape) ? ShapeBefore(arg) : as;
    }
    if (!IsElementwise(value.op)) return std::nullopt;
    for (const NodePtr& arg : value.args) {
      if (BeyondOne(arg->shape) != BeyondOne(value.shape)) continue;
      if (std::optional<Shape> before = ShapeBefore(*arg)) return before;
    }
    return std::nullopt;
  }

  const Kernel& kernel_;
  Table<std::optional<Shape>, Ref> refs_;
  Table<std::optional<Shape>, Local> locals_;
  bool wishes_ = false, changed_ = false;
  bool joins_ = false;  // whether something is seen with fewer dimensions
  Actions body_, epilogue_;
  std::map<const Node*, NodePtr> rewritten_;
  std::map<std::pair<const Node*, std::string>, NodePtr> seen_;
};

}  // namespace

std::shared_ptr<const Kernel> WithJoinedDimensions(const Kernel& kernel) {
  return Joiner(kernel).Run();
}

}  // namespace kiln
