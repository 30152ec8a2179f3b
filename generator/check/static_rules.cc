#include "generator/check/static_rules.h"

#include <algorithm>
#include <set>

#include "generator/check/sample_sizes.h"
#include "generator/check/shape_rules.h"

namespace kiln {
namespace {

// [undefined] and [coverage] of outputs and scratch -------------------------------------------

/// Runs the body on what is known of each buffer before a step, until that does not change: what
/// some step may define counts as defined before the next. A buffer that is surely undefined
/// before and after every step never holds a value.
class Definedness {
 public:
  explicit Definedness(const Kernel& kernel)
      : kernel_(kernel),
        undefined_(kernel.refs.size(), false),
        locals_(kernel.locals.size(), false),
        store_(kernel.refs.size()),
        spoils_(kernel.refs.size(), false) {
    for (size_t i = 0; i < kernel.refs.size(); ++i) {
      const Ref& ref = kernel.refs[i];
      undefined_[i] = (ref.role == Role::kOutput && !ref.init && ref.memory != Memory::kAny) ||
                      ref.role == Role::kScratch;
    }
    for (std::vector<bool> before; before != undefined_;) {
      before = undefined_;
      Run(kernel.body);
      Branch(kernel.epilogue, {});
      for (size_t i = 0; i < before.size(); ++i) undefined_[i] = undefined_[i] && before[i];
    }
  }

  void Report(Diagnostics& diagnostics) const {
    bool scratch_at_fault = false;
    for (const Role role : {Role::kScratch, Role::kOutput}) {
      for (size_t i = 0; i < kernel_.refs.size(); ++i) {
        const Ref& ref = kernel_.refs[i];
        if (ref.role != role || !undefined_[i]) continue;
        if (role == Role::kOutput && scratch_at_fault && store_[i]) continue;  // its consequence
        if (role == Role::kScratch && !store_[i]) continue;                    // a use reports it
        scratch_at_fault = scratch_at_fault || role == Role::kScratch;
        Report(ref, store_[i], diagnostics);
      }
    }
  }

 private:
  void Report(const Ref& ref, const Action* action, Diagnostics& diagnostics) const {
    if (!action) {
      if (ref.init_undefined) return;
      diagnostics.Error("coverage", ref.span,
                        "no statement stores into the output `" + ref.name + "`");
      return;
    }
    const auto* store = As<action::Store>(*action);  // else a copy
    const Ref* source = store ? UndefinedSource(*store->value, ref) : nullptr;
    if (source) {
      diagnostics.Error(
          "undefined", action->span,
          "`" + ref.name + "` is computed from `" + source->name + "`, which holds nothing",
          "store into `" + source->name + "`, or copy into it, before");
      return;
    }
    const bool output = ref.role == Role::kOutput;
    diagnostics.Error("undefined", action->span,
                      "`" + ref.name + "` is computed from its own undefined value: " +
                          (output ? "an output block holds nothing at the start of each stay"
                                  : "scratch holds nothing when the parallel coordinates change"),
                      std::string("set it on the first step: when first(…): ") + ref.name + " = 0" +
                          (output ? "; or give the output `init: 0`" : ""));
  }

  /// The first buffer but `target` that a value reads and that is undefined; null: none.
  const Ref* UndefinedSource(const Node& node, const Ref& target) const {
    if (node.op == Op::kRead && undefined_[static_cast<size_t>(node.index)]) {
      const Ref& source = kernel_[RefId(node.index)];
      if (&source != &target) return &source;
    }
    for (const NodePtr& arg : node.args) {
      if (const Ref* source = UndefinedSource(*arg, target)) return source;
    }
    return nullptr;
  }

  bool Undefined(const Node& node) const {
    switch (node.op) {
      case Op::kRead:
        return undefined_[static_cast<size_t>(node.index)];
      case Op::kLocal:
        return locals_[static_cast<size_t>(node.index)];
      case Op::kWhere:
      case Op::kIf:
        return Undefined(*node.args[0]) || (Undefined(*node.args[1]) && Undefined(*node.args[2]));
      case Op::kAnd:
      case Op::kOr:
        return Undefined(*node.args[0]);
      case Op::kConcat:
        return AllUndefined(node);
      case Op::kBitAnd:
      case Op::kBitOr:
        // Of bools, a defined one may decide alone.
        if (node.args[0]->dtype == DType::kBool) return AllUndefined(node);
        break;
      default:
        break;
    }
    return std::any_of(node.args.begin(), node.args.end(),
                       [&](const NodePtr& a) { return Undefined(*a); });
  }

  bool AllUndefined(const Node& node) const {
    return std::all_of(node.args.begin(), node.args.end(),
                       [&](const NodePtr& a) { return Undefined(*a); });
  }

  void Run(const Actions& actions) {
    for (const Action& action : actions) Run(action);
  }

  void Run(const Action& action) {
    Match(
        action,
        [&](const action::Define& define) {
          locals_[static_cast<size_t>(define.local)] = Undefined(*define.value);
        },
        [&](const action::Store& store) { Store(action, store); },
        [&](const action::When& when) { Branch(when.body, when.orelse); },
        [&](const action::For& loop) { Branch(loop.body, {}); },
        [&](const action::While& loop) { Branch(loop.body, {}); },
        [&](const action::Copy& copy) {
          const size_t target = static_cast<size_t>(copy.target.ref);
          undefined_[target] = false;
          if (!store_[target]) store_[target] = &action;
        },
        [](const action::Assert&) {}, [](const action::Wait&) {});
  }

  void Store(const Action& action, const action::Store& store) {
    const bool value = Undefined(*store.value);
    std::vector<bool>& state = store.ref >= 0 ? undefined_ : locals_;
    const size_t index = static_cast<size_t>(store.ref >= 0 ? store.ref : store.local);
    const bool whole = store.IsWhole();
    state[index] = whole ? value : state[index] && value;
    if (store.ref < 0) return;
    if (!store_[index] || (value && !spoils_[index])) store_[index] = &action;
    spoils_[index] = spoils_[index] || value;
  }

  /// Either list may run: undefined only if it is so after both.
  void Branch(const Actions& one, const Actions& other) {
    const auto refs = undefined_;
    const auto locals = locals_;
    Run(one);
    const auto refs_one = std::move(undefined_);
    const auto locals_one = std::move(locals_);
    undefined_ = refs;
    locals_ = locals;
    Run(other);
    for (size_t i = 0; i < undefined_.size(); ++i) undefined_[i] = undefined_[i] && refs_one[i];
    for (size_t i = 0; i < locals_.size(); ++i) locals_[i] = locals_[i] && locals_one[i];
  }

  const Kernel& kernel_;
  std::vector<bool> undefined_;  // by ref: surely undefined
  std::vector<bool> locals_;
  // By ref: the first store or copy into it, of an undefined value if there is one.
  std::vector<const Action*> store_;
  std::vector<bool> spoils_;  // by ref: whether that is of one
};

void CheckUndefined(const Kernel& kernel, Diagnostics& diagnostics) {
  Definedness(kernel).Report(diagnostics);
}

// [revisit] and [race] -------------------------------------------------------------------------

struct MapUse {
  std::set<int> axes;
  bool host = false;
};

void Collect(const Node& node, MapUse& use) {
  if (AxisOf(node) >= 0) use.axes.insert(node.index);
  if (node.op == Op::kRead) use.host = true;
  for (const NodePtr& arg : node.args) Collect(*arg, use);
  for (const Subscript& s : node.subscripts) Collect(*s.start, use);
}

MapUse UseOf(const Ref& ref) {
  MapUse use;
  for (const BlockDim& dim : ref.block) {
    Collect(*dim.index, use);
    if (dim.extent) Collect(*dim.extent, use);
  }
  return use;
}

bool SurelyOneStep(const Axis& axis) {
  return axis.steps->op == Op::kConst && axis.steps->int_value <= 1;
}

/// The axis stands alone in the map, so that different steps surely mean different blocks.
bool Plain(const Ref& ref, int axis) {
  return std::any_of(ref.block.begin(), ref.block.end(), [&](const BlockDim& dim) {
    return dim.index->op == Op::kAxis && dim.index->index == axis;
  });
}

void CheckRace(const Kernel& kernel, const Ref& ref, const MapUse& use, Diagnostics& diagnostics) {
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    const Axis& axis = kernel.axes[a];
    if (!axis.parallel || SurelyOneStep(axis) || use.axes.count(static_cast<int>(a))) continue;
    diagnostics.Error("race", MapSpan(ref),
                      "every step of the parallel axis `" + axis.name +
                          "` writes the same block of `" + ref.name + "`",
                      "use `" + axis.name + "` in its index, or make the axis arbitrary");
    return;
  }
}

void CheckRevisit(const Kernel& kernel, const Ref& ref, const MapUse& use,
                  Diagnostics& diagnostics) {
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    const Axis& axis = kernel.axes[a];
    if (axis.parallel || SurelyOneStep(axis) || use.axes.count(static_cast<int>(a))) continue;
    for (size_t b = a + 1; b < kernel.axes.size(); ++b) {
      const Axis& faster = kernel.axes[b];
      if (SurelyOneStep(faster) || !Plain(ref, static_cast<int>(b))) continue;
      diagnostics.Error(
          "revisit", MapSpan(ref),
          "blocks of `" + ref.name + "` are left and visited again: its index does not use `" +
              axis.name + "`, and `" + faster.name + "`, which it uses, runs faster",
          "make `" + axis.name +
              "` the last (minor) axis of the grid; what a block held is lost when it is left");
      return;
    }
  }
}

void CheckVisits(const Kernel& kernel, Diagnostics& diagnostics) {
  for (const Ref& ref : kernel.refs) {
    if (ref.role != Role::kOutput || !IsPipelined(ref)) continue;
    const MapUse use = UseOf(ref);
    if (use.host) continue;  // decided when the prefetched values are known
    CheckRace(kernel, ref, use, diagnostics);
    CheckRevisit(kernel, ref, use, diagnostics);
  }
}

// [tail] ---------------------------------------------------------------------------------------

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

/// What counts for nothing in a reduction of floats.
const char* NeutralOf(Op op) {
  switch (op) {
    case Op::kReduceMax:
    case Op::kArgmax:
      return "-inf";
    case Op::kReduceMin:
    case Op::kArgmin:
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
    } else if (IsReduction(node.op)) {
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

void CheckStaticRules(const Kernel& kernel, const Binding* binding, Diagnostics& diagnostics) {
  CheckUndefined(kernel, diagnostics);
  TailCheck(kernel, binding, diagnostics).Run();
  if (!binding) CheckShapes(kernel, diagnostics);
  // Trying sizes out names blocks and grid points; where the grid itself depends on values that
  // only a call has, the maps alone must do.
  if (!binding && !CheckSampleSizes(kernel, diagnostics)) CheckVisits(kernel, diagnostics);
}

}  // namespace kiln
