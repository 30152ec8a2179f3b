#include "generator/planner/rewrite/moves.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/ir/tile_node.h"
#include "generator/planner/rewrite/reads.h"

namespace kiln {
namespace {

bool Moves(Op op) {
  switch (op) {
    case Op::kRead:
    case Op::kIota:
    case Op::kReshape:
    case Op::kBroadcast:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kFlip:
    case Op::kRoll:
      return true;
    default:
      return false;
  }
}

bool IsLocal(const Node& node, LocalId local) {
  return node.op == Op::kLocal && LocalId(node.index) == local;
}

/// Whether a value reads a local.
bool ReadsLocal(const Node& node, LocalId local) {
  bool reads = IsLocal(node, local);
  ForEachArgument(node, [&](const Node& arg) { reads = reads || ReadsLocal(arg, local); });
  return reads;
}

/// Whether a value reads the whole of a local, whatever conditions say.
bool SurelyReads(const Node& node, LocalId local) {
  if (IsLocal(node, local)) return node.subscripts.empty();
  return ClassOf(node.op) != OpClass::kLazy &&
         std::any_of(node.args.begin(), node.args.end(),
                     [&](const NodePtr& arg) { return SurelyReads(*arg, local); });
}

NodePtr With(const NodePtr& node, LocalId local, const NodePtr& value) {
  if (IsLocal(*node, local)) return value;
  Node with = *node;
  for (NodePtr& arg : with.args) arg = With(arg, local, value);
  return with.args == node->args ? node : Share(std::move(with));
}

/// Whether the local is a part of an operand of a product.
bool IsMultiplied(const Node& node, LocalId local, bool within = false) {
  if (IsLocal(node, local)) return within;
  return std::any_of(node.args.begin(), node.args.end(), [&](const NodePtr& arg) {
    return IsMultiplied(*arg, local, within || node.op == Op::kDot);
  });
}

/// Whether a statement adds the local to what it stores to.
bool IsAddedBy(const Action& action, LocalId local) {
  const auto* store = As<action::Store>(action);
  if (!store || store->mask || store->value->op != Op::kAdd) return false;
  return IsOfTarget(*store, *store->value->args[0]) && IsLocal(*store->value->args[1], local);
}

class MovesInPlace {
 public:
  explicit MovesInPlace(const Kernel& kernel)
      : kernel_(kernel), times_read_(TimesRead(kernel)), of_bytes_(kernel.locals.size()) {
    for (const Actions* actions : {&kernel.body, &kernel.epilogue}) {
      ForEachAction(*actions, [&](const Action& action) {
        const auto* define = As<action::Define>(action);
        if (define) of_bytes_[LocalId(define->local)] = ReadsBytes(*define->value);
      });
    }
  }

  std::shared_ptr<const Kernel> Run() {
    if (kernel_.HasAliases()) return nullptr;
    return Rewritten(kernel_, [this](Actions& actions) {
      Rewrite(actions);
      return changed_;
    });
  }

 private:
  /// The last first, so that a chain of names ends in what reads the last of them.
  void Rewrite(Actions& actions) {
    for (size_t k = actions.size(); k-- > 0;) {
      ChangeBlocks(actions[k], [&](Actions& block) { Rewrite(block); });
      const auto* define = As<action::Define>(actions[k]);
      const std::optional<size_t> reader = define ? ReaderOf(*define, actions, k) : std::nullopt;
      if (!reader) continue;
      const LocalId let(define->local);
      const NodePtr value = define->value;
      ChangeExpressions(actions[*reader], [&](NodePtr& node) { node = With(node, let, value); });
      actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(k));
      changed_ = true;
    }
  }

  /// The statement that alone reads a let, if nothing up to there changes what that is made of.
  std::optional<size_t> ReaderOf(const action::Define& define, const Actions& actions,
                                 size_t at) const {
    const LocalId let(define.local);
    const Local& local = kernel_[let];
    if (local.kind != Local::Kind::kLet || times_read_[let] != 1 || local.shape.empty() ||
        define.value->shape != local.shape || define.value->dtype != local.dtype)
      return std::nullopt;
    Reads reads;
    reads.Add(*define.value);
    if (!std::all_of(reads.refs.begin(), reads.refs.end(), [&](int ref) { return IsInput(ref); }))
      return std::nullopt;
    for (size_t k = at + 1; k < actions.size(); ++k) {
      if (!Is<action::Define>(actions[k]) && !Is<action::Store>(actions[k])) return std::nullopt;
      bool reads_it = false, surely = false;
      ForEachExpression(actions[k], [&](const Node& node) {
        reads_it = reads_it || ReadsLocal(node, let);
        surely = surely || SurelyReads(node, let);
      });
      if (reads_it)
        return surely && MayMove(*define.value, let, actions[k]) ? std::optional(k) : std::nullopt;
      const auto* store = As<action::Store>(actions[k]);
      if (store && reads.Has(*store)) return std::nullopt;
    }
    return std::nullopt;
  }

  /// What copies by hand bring is looked at where it has its name.
  bool IsInput(int ref) const {
    return kernel_[RefId(ref)].role == Role::kInput && kernel_[RefId(ref)].memory == Memory::kVmem;
  }

  bool MayMove(const Node& value, LocalId let, const Action& reader) const {
    if (Moves(value.op)) return true;
    if (value.op == Op::kDot) return IsAddedBy(reader, let);
    bool multiplied = false;
    ForEachExpression(
        reader, [&](const Node& node) { multiplied = multiplied || IsMultiplied(node, let); });
    return multiplied && IsElementwise(value.op) && ReadsBytes(value);
  }

  /// As dequantised weights do.
  bool ReadsBytes(const Node& node) const {
    const int bits = RowOf(node.dtype).bits;
    bool any = (node.op == Op::kRead && !node.shape.empty() && bits > 0 && bits <= 8) ||
               (node.op == Op::kLocal && of_bytes_[LocalId(node.index)]);
    ForEachArgument(node, [&](const Node& arg) { any = any || ReadsBytes(arg); });
    return any;
  }

  const Kernel& kernel_;
  const Table<int, Local> times_read_;
  Table<bool, Local> of_bytes_;  // made of elements of 8 bits or less
  bool changed_ = false;
};

}  // namespace

std::shared_ptr<const Kernel> WithMovesInPlace(const Kernel& kernel) {
  return MovesInPlace(kernel).Run();
}

}  // namespace kiln
