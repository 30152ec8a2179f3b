// [tail]: reductions, sorts and dots over the ragged last block of an input.
#include "generator/check/tail_rules.h"

#include <algorithm>

namespace kiln {
namespace {

/// Whether `require` or the dimension's constraints make `extent` a multiple of `block`.
bool KnownMultiple(const Kernel& kernel, const Binding* binding, const Size& extent,
                   const Size& block) {
  if (extent == block) return true;
  if (binding) {
    const auto n = Evaluate(extent, *binding);
    const auto by = Evaluate(block, *binding);
    if (n && by && *by > 0) return *n % *by == 0;
  }
  const auto size = block.Constant();
  if (const auto n = extent.Constant()) return size && *size > 0 && *n % *size == 0;
  bool known = false;
  extent.ForEachAtom([&](const Node& atom) {
    if (atom.op != Op::kDim || !size) return;
    const Dim& dim = kernel[DimId(atom.index)];
    known = known || dim.multiple_of % *size == 0;
  });
  const std::string wanted = extent.ToString() + " % ";
  for (const Require& require : kernel.require) {  // `m % bm == 0`, alone or in an `and`
    std::vector<const Node*> todo = {require.condition.get()};
    while (!todo.empty()) {
      const Node& node = *todo.back();
      todo.pop_back();
      if (node.op == Op::kAnd) {
        for (const NodePtr& arg : node.args) todo.push_back(arg.get());
      } else if (node.op == Op::kEq && node.args[0]->op == Op::kMod &&
                 node.args[1]->op == Op::kConst && node.args[1]->int_value == 0) {
        const Node& mod = *node.args[0];
        const bool same = SizeOf(mod.args[0], kernel) == extent;
        const auto by = SizeOf(mod.args[1], kernel);
        known = known ||
                (same && (by == block || (size && by.Constant() && *by.Constant() % *size == 0)));
      }
    }
  }
  return known;
}

/// The grid really reaches the ragged block: the index is an axis with cdiv(extent, block) steps.
bool ReachesEdge(const Kernel& kernel, const BlockDim& dim, const Size& extent) {
  if (dim.index->op != Op::kAxis) return false;
  const Node& steps = *kernel[AxisId(dim.index->index)].steps;
  return steps.op == Op::kCeilDiv && SizeOf(steps.args[0], kernel) == extent &&
         SizeOf(steps.args[1], kernel) == dim.size;
}

/// What counts for nothing in a reduction of floats, or comes last.
const char* NeutralOf(Op op) {
  switch (op) {
    case Op::kReduceMax:
    case Op::kArgmax:
    case Op::kTopPositions:
      return "-inf";
    case Op::kReduceMin:
    case Op::kArgmin:
    case Op::kSort:
    case Op::kArgsort:
      return "inf";
    case Op::kProd:
      return "1";
    default:
      return "0";
  }
}

std::string TailHint(Op op, const Ref& ref) {
  const std::string neutral = NeutralOf(op);
  const std::string masked = "where(inside(" + ref.name + "), " + ref.name + ", " + neutral + ")";
  if (op == Op::kMean) {
    return "`mean` counts what is past the edge, too: divide sum(" + masked +
           ") by how many there "
           "are, or require divisibility";
  }
  return "give `" + ref.name + "` a `pad`" + (neutral == "0" ? "" : " of " + neutral) +
         ", mask it with " + masked + ", or require divisibility";
}

class TailCheck {
 public:
  TailCheck(const Kernel& kernel, const Binding* binding, Diagnostics& diagnostics)
      : kernel_(kernel),
        binding_(binding),
        diagnostics_(diagnostics),
        lets_(kernel.locals.size()) {}

  /// Only what every step does: under a condition the edge may be excluded.
  void Run() {
    for (const Action& action : kernel_.body) {
      if (const auto* store = As<action::Store>(action); store && !store->mask)
        Check(*store->value);
      if (const auto* define = As<action::Define>(action)) {
        Check(*define->value);
        lets_[static_cast<size_t>(define->local)] = define->value.get();
      }
    }
  }

 private:
  /// The unguarded read of a ragged input that ends up along `axis` of `node`, or null.
  const Node* RaggedRead(const Node& node, size_t axis, std::string& dimension) const {
    const auto follow = [&](const Node& arg) -> const Node* {
      const size_t missing = node.shape.size() - arg.shape.size();
      if (axis < missing || arg.shape[axis - missing].IsOne()) return nullptr;
      return RaggedRead(arg, axis - missing, dimension);
    };
    if (node.op == Op::kRead && node.subscripts.empty()) {
      return IsRagged(node, axis, dimension) ? &node : nullptr;
    }
    if (node.op == Op::kLocal) {
      const size_t local = static_cast<size_t>(node.index);
      const bool is_let =
          kernel_.locals[local].kind == Local::Kind::kLet;  // a var may have changed
      return is_let && lets_[local] ? RaggedRead(*lets_[local], axis, dimension) : nullptr;
    }
    if (node.op == Op::kTranspose) {
      return RaggedRead(*node.args[0], static_cast<size_t>(node.axes[axis]), dimension);
    }
    const OpClass of = ClassOf(node.op);
    if (node.op == Op::kCast || of == OpClass::kArithmetic || of == OpClass::kFunction) {
      for (const NodePtr& arg : node.args) {
        if (const Node* read = follow(*arg)) return read;
      }
    }
    return nullptr;
  }

  bool IsRagged(const Node& read, size_t axis, std::string& dimension) const {
    const Ref& ref = kernel_[RefId(read.index)];
    if (ref.role != Role::kInput || ref.pad || !IsPipelined(ref)) return false;
    const size_t d = ref.view_dims[axis];
    const BlockDim& dim = ref.block[d];
    if (dim.kind != BlockDim::Kind::kBlocked || !ReachesEdge(kernel_, dim, ref.array[d]) ||
        KnownMultiple(kernel_, binding_, ref.array[d], dim.size)) {
      return false;
    }
    dimension =
        ref.array[d].ToString() + " is not known to be a multiple of " + dim.size.ToString();
    return true;
  }

  void Report(const Node& read, const Node& consumer, const std::string& dimension) {
    const Ref& ref = kernel_[RefId(read.index)];
    diagnostics_.Error("tail", consumer.span,
                       "`" + std::string(Name(consumer.op)) + "` runs over the ragged edge of `" +
                           ref.name + "`: " + dimension +
                           ", and elements past the edge are undefined",
                       TailHint(consumer.op, ref), {{ref.span, "`" + ref.name + "` has no `pad`"}});
  }

  void Check(const Node& node) {
    std::string dimension;
    if (node.op == Op::kDot) {
      const size_t rank = node.args[0]->shape.size();
      for (const size_t side : {size_t{0}, size_t{1}}) {
        const Node* read = RaggedRead(*node.args[side], side == 0 ? rank - 1 : rank - 2, dimension);
        if (read) Report(*read, node, dimension);
      }
    } else if (IsReduction(node.op) || ClassOf(node.op) == OpClass::kOrder) {
      for (int axis : node.axes) {
        const Node* read = RaggedRead(*node.args[0], static_cast<size_t>(axis), dimension);
        if (!read) continue;
        Report(*read, node, dimension);
        break;
      }
    }
    if (node.op == Op::kWhere || node.op == Op::kIf) return;  // may be discarded
    for (const NodePtr& arg : node.args) Check(*arg);
  }

  const Kernel& kernel_;
  const Binding* binding_;
  Diagnostics& diagnostics_;
  std::vector<const Node*> lets_;  // by local: the value of a `let` that every step makes
};

}  // namespace

void CheckTails(const Kernel& kernel, const Binding* binding, Diagnostics& diagnostics) {
  TailCheck(kernel, binding, diagnostics).Run();
}

}  // namespace kiln
