#include "generator/planner/rewrite/concats.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "generator/ir/tile_node.h"
#include "generator/planner/analyze/nodes.h"
#include "generator/planner/analyze/regroup.h"
#include "generator/planner/rewrite/reads.h"

namespace kiln {
namespace {

const NodePtr& WithoutReshapes(const NodePtr& node) {
  return node->op == Op::kReshape ? WithoutReshapes(node->args[0]) : node;
}

/// The only argument with elements, if the node does something to each of these by itself; -1:
/// there is none.
int OnlyTile(const Node& node) {
  int only = -1;
  if (!IsElementwise(node.op) || ClassOf(node.op) == OpClass::kLazy) return -1;
  for (size_t k = 0; k < node.args.size(); ++k) {
    if (node.args[k]->shape.empty()) continue;
    if (only >= 0) return -1;
    only = static_cast<int>(k);
  }
  return only;
}

/// The concatenation, or the local, of whose elements, each changed by itself, all of the value is
/// made; null: there is none.
const Node* Origin(const Node& node) {
  if (node.op == Op::kConcat || node.op == Op::kLocal) return &node;
  const int only = node.op == Op::kReshape ? 0 : OnlyTile(node);
  return only < 0 ? nullptr : Origin(*node.args[static_cast<size_t>(only)]);
}

/// The same value with `origin` in the place of its own.
NodePtr WithOrigin(const NodePtr& node, const NodePtr& origin) {
  if (node->op == Op::kConcat || node->op == Op::kLocal) return origin;
  Node with = *node;
  NodePtr& arg = with.args[node->op == Op::kReshape ? 0 : static_cast<size_t>(OnlyTile(*node))];
  arg = WithOrigin(arg, origin);
  return Share(std::move(with));
}

/// `node` is done to each part of its argument, a concatenation in some shape.
NodePtr Distributed(const NodePtr& node) {
  const int only = OnlyTile(*node);
  if (only < 0) {
    if (node->op != Op::kReshape) return node;
    Node reshape = *node;
    reshape.args = {Distributed(node->args[0])};
    return reshape.args == node->args ? node : Share(std::move(reshape));
  }
  const NodePtr arg = Distributed(node->args[static_cast<size_t>(only)]);
  const NodePtr& concat = WithoutReshapes(arg);
  Node parts = *concat;
  parts.dtype = node->dtype;
  for (NodePtr& part : parts.args) {
    Node of_part = *node;
    of_part.shape = part->shape;
    of_part.args[static_cast<size_t>(only)] = part;
    part = Share(std::move(of_part));
  }
  NodePtr whole = Share(std::move(parts));
  if (concat == arg) return whole;
  return Share(TileNode(Op::kReshape, node->dtype, node->shape, node->span, {whole}));
}

bool IsOfConcat(const Node& node) {
  const Node* const origin = Origin(node);
  return origin != nullptr && origin->op == Op::kConcat;
}

/// `repeat(x, 2, axis=-1)`, a few times: as a concatenation of parts that are stored by turns;
/// null: it is something else.
NodePtr AsConcat(const Node& reshape) {
  constexpr int64_t kMostTurns = 8;
  if (reshape.op != Op::kReshape || reshape.args[0]->op != Op::kBroadcast) return nullptr;
  const Node& repeated = *reshape.args[0];
  const NodePtr& part = repeated.args[0];
  const size_t rank = repeated.shape.size();
  const std::optional<int64_t> times =
      repeated.shape.empty() ? 0 : repeated.shape.back().Constant();
  if (rank < 2 || rank != part->shape.size() || !part->shape.back().IsOne() || !times ||
      *times < 2 || *times > kMostTurns || repeated.shape[rank - 2].IsOne() ||
      !std::equal(part->shape.begin(), part->shape.end() - 1, repeated.shape.begin()))
    return nullptr;
  Node concat = TileNode(Op::kConcat, repeated.dtype, repeated.shape, repeated.span,
                         std::vector<NodePtr>(static_cast<size_t>(*times), part));
  concat.axes = {static_cast<int>(rank) - 1};
  return PartsAlong(
             TileNode(Op::kReshape, reshape.dtype, reshape.shape, reshape.span, {Share(concat)}))
                 .value_or(Parts{})
                 .by_turns
             ? kiln::Reshaped(Share(std::move(concat)), reshape.shape)
             : nullptr;
}

NodePtr ByTurns(const NodePtr& node) {
  if (node->op == Op::kDot) return node;
  Node with = *node;
  for (NodePtr& arg : with.args) arg = ByTurns(arg);
  if (NodePtr concat = AsConcat(with)) return concat;
  return with.args == node->args ? node : Share(std::move(with));
}

class ConcatsInPlace {
 public:
  explicit ConcatsInPlace(const Kernel& kernel) : kernel_(kernel), times_read_(TimesRead(kernel)) {}

  std::shared_ptr<const Kernel> Run() {
    Actions body = Rewritten(kernel_.body), epilogue = Rewritten(kernel_.epilogue);
    if (!changed_) return nullptr;
    auto kernel = std::make_shared<Kernel>(kernel_);
    kernel->body = std::move(body);
    kernel->epilogue = std::move(epilogue);
    return kernel;
  }

 private:
  Actions Rewritten(Actions actions) {
    for (size_t k = 0; k < actions.size(); ++k) {
      const auto* define = As<action::Define>(actions[k]);
      const std::optional<size_t> reader = define ? ReaderOf(*define, actions, k) : std::nullopt;
      if (!reader) continue;
      NodePtr& value = *ValueOf(actions[*reader]);
      value = WithOrigin(value, define->value);
      actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(k--));
      changed_ = true;
    }
    for (Action& action : actions) {
      NodePtr* const value = ValueOf(action);
      if (value && IsOfConcat(**value))
        changed_ |= *value != std::exchange(*value, Distributed(*value));
      MatchKind(
          action.what,
          [&](action::When& when) {
            when.body = Rewritten(std::move(when.body));
            when.orelse = Rewritten(std::move(when.orelse));
          },
          [&](action::For& loop) { loop.body = Rewritten(std::move(loop.body)); },
          [&](action::While& loop) { loop.body = Rewritten(std::move(loop.body)); },
          [](const auto&) {});
    }
    return actions;
  }

  static NodePtr* ValueOf(Action& action) {
    if (auto* store = std::get_if<action::Store>(&action.what)) return &store->value;
    auto* define = std::get_if<action::Define>(&action.what);
    return define ? &define->value : nullptr;
  }

  /// The statement that alone reads a let of a concatenation, if nothing up to there, itself
  /// included, changes what that is made of.
  std::optional<size_t> ReaderOf(const action::Define& define, Actions& actions, size_t at) const {
    const LocalId let(define.local);
    const bool may_move = kernel_[let].kind == Local::Kind::kLet && times_read_[let] == 1 &&
                          define.value->shape == kernel_[let].shape && IsOfConcat(*define.value);
    if (!may_move) return std::nullopt;
    Reads reads;
    reads.Add(*define.value);
    for (size_t k = at + 1; k < actions.size(); ++k) {
      NodePtr* const value = ValueOf(actions[k]);
      if (!value) return std::nullopt;
      if (const auto* store = As<action::Store>(actions[k]); store && reads.Has(*store))
        return std::nullopt;
      const Node* const origin = Origin(**value);
      if (origin && origin->op == Op::kLocal && LocalId(origin->index) == let) return k;
    }
    return std::nullopt;
  }

  const Kernel& kernel_;
  const Table<int, Local> times_read_;
  bool changed_ = false;
};

}  // namespace

std::shared_ptr<const Kernel> WithRepeatsByTurns(const Kernel& kernel) {
  const std::function<bool(Actions&)> rewrite = [&](Actions& actions) {
    bool changed = false;
    for (Action& action : actions) {
      ChangeExpressions(action, [&](NodePtr& value) {
        changed |= value != std::exchange(value, ByTurns(value));
      });
      ChangeBlocks(action, [&](Actions& block) { changed |= rewrite(block); });
    }
    return changed;
  };
  return Rewritten(kernel, rewrite);
}

std::shared_ptr<const Kernel> WithConcatsInPlace(const Kernel& kernel) {
  return ConcatsInPlace(kernel).Run();
}

std::optional<Parts> PartsAlong(const Node& node) {
  if (node.op == Op::kConcat) return Parts{&node, static_cast<size_t>(node.axes[0]), false, 1};
  if (node.op != Op::kReshape) return std::nullopt;
  const Node& concat = *WithoutReshapes(node.args[0]);
  if (concat.op != Op::kConcat) return std::nullopt;
  const auto along = static_cast<size_t>(concat.axes[0]);
  for (const Group& group : GroupsOf(concat.shape, node.shape)) {
    if (std::count(group.from.begin(), group.from.end(), along) == 0) continue;
    if (group.to.size() != 1) return std::nullopt;
    Parts parts{&concat, group.to[0], false, 1};
    if (along == group.from.front()) {
      for (size_t k = 1; k < group.from.size(); ++k)
        parts.each = parts.each * concat.shape[group.from[k]];
      return parts;
    }
    parts.by_turns = along == group.from.back() &&
                     std::all_of(concat.args.begin(), concat.args.end(),
                                 [&](const NodePtr& part) { return part->shape[along].IsOne(); });
    return parts.by_turns ? std::optional(parts) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace kiln
