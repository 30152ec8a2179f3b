#include "generator/planner/analyze/joined.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "generator/ir/tile_node.h"
#include "generator/planner/analyze/joined_shapes.h"
#include "generator/planner/analyze/nodes.h"

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
    const auto is_seen = [](const std::optional<Shape>& shape) { return shape.has_value(); };
    if (std::none_of(refs_.begin(), refs_.end(), is_seen)) return nullptr;
    auto joined = std::make_shared<Kernel>(kernel_);
    joined->body = body_;
    joined->epilogue = epilogue_;
    for (const RefId r : IdsOf(kernel_.refs))
      if (refs_[r]) JoinView((*joined)[r], *refs_[r]);
    for (const LocalId l : IdsOf(kernel_.locals))
      if (locals_[l]) (*joined)[l].shape = *locals_[l];
    return joined;
  }

 private:
  /// Whether another shape was wished for, or one was given up.
  bool Walk() {
    changed_ = false;
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
    if (name.op == Op::kRead) return CanJoin(kernel_[RefId(name.index)], as);
    return Joins(kernel_[LocalId(name.index)].shape, as);
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
      const std::optional<Shape> beside = SeenBeside(arg->shape, node->shape, as);
      arg = beside ? SeenAs(arg, *beside) : nullptr;
      if (!arg) return nullptr;
    }
    return Share(std::move(seen));
  }

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
    if (node->op == Op::kReshape && Joins(node->args[0]->shape, node->shape)) {
      if (NodePtr seen = SeenAs(node->args[0], node->shape)) return seen;
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
    const auto node = [&](NodePtr& n) { n = Rewritten(n); };
    const auto window = [&](Window& w) {
      GiveUp(refs_[RefId(w.ref)]);
      Rewrite(w.subscripts);
    };
    MatchKind(
        action.what, [&](action::Store& store) { RewriteStore(store); },
        [&](action::Define& define) { RewriteDefine(define); },
        [&](action::When& when) {
          node(when.condition);
          when.body = Rewritten(when.body);
          when.orelse = Rewritten(when.orelse);
        },
        [&](action::For& loop) {
          node(loop.low), node(loop.high);
          loop.body = Rewritten(loop.body);
        },
        [&](action::While& loop) {
          node(loop.condition);
          loop.body = Rewritten(loop.body);
        },
        [&](action::Assert& check) { node(check.condition); },
        [&](action::Copy& copy) {
          window(copy.source), window(copy.target);
          for (NodePtr& at : copy.slot) node(at);
        },
        [&](action::Wait& wait) {
          if (wait.window) window(*wait.window);
          for (NodePtr& at : wait.slot) node(at);
        });
  }

  /// What the value of a store, or its mask, is where the store's window is seen in another shape.
  NodePtr SeenBy(const NodePtr& value, const Shape& window, const Shape& as) {
    const std::optional<Shape> beside = SeenBeside(value->shape, window, as);
    return beside ? SeenAs(value, *beside) : nullptr;
  }

  void RewriteDefine(action::Define& define) {
    std::optional<Shape>& name = locals_[LocalId(define.local)];
    const Shape& shape = kernel_[LocalId(define.local)].shape;
    Ask(name, *define.value, [&](const Shape& as) { return Joins(shape, as); });
    if (name) {
      if (const NodePtr value = SeenBy(define.value, shape, *name)) {
        define.value = value;
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
      Ask(name, *store.value,
          [&](const Shape& as) { return ref ? CanJoin(kernel_[ref], as) : Joins(extents, as); });
    }
    if (is_all && name) {
      const NodePtr value = SeenBy(store.value, store.shape, *name);
      const NodePtr mask = store.mask ? SeenBy(store.mask, store.shape, *name) : nullptr;
      if (value && (mask || !store.mask)) {
        store.value = value, store.mask = mask;
        store.shape = *name;
        store.subscripts.clear();
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
      if (Joins(value.shape, arg.shape)) return arg.shape;
      return BeyondOne(arg.shape) == BeyondOne(value.shape) ? ShapeBefore(arg) : std::nullopt;
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
  Actions body_, epilogue_;
  std::map<const Node*, NodePtr> rewritten_;
  std::map<std::pair<const Node*, std::string>, NodePtr> seen_;
};

}  // namespace

std::shared_ptr<const Kernel> WithJoinedDimensions(const Kernel& kernel) {
  return Joiner(kernel).Run();
}

}  // namespace kiln
