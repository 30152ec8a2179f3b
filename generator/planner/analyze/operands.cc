#include "generator/planner/analyze/operands.h"

#include <algorithm>
#include <functional>

#include "generator/plan/stays.h"
#include "generator/planner/analyze/nodes.h"

namespace kiln {
namespace {

using Layout = OperandPlan::Layout;

struct Use {
  Layout layout;
  DType partner;  // what it is multiplied with
  bool matrix;    // one of several
};

/// Calls `visit` with every node of the statement's own expressions, parents first.
void ForEachNode(const Action& action, const std::function<void(const Node&)>& visit) {
  const std::function<void(const Node&)> walk = [&](const Node& node) {
    visit(node);
    for (const NodePtr& arg : node.args) walk(*arg);
    for (const Subscript& s : node.subscripts) walk(*s.start);
  };
  ForEachExpression(action, walk);
}

/// Manual copies see rows, not panels.
void CountCopies(const Actions& actions, Table<int, Ref>& reads) {
  ForEachAction(actions, [&](const Action& action) {
    const auto* copy = As<action::Copy>(action);
    if (!copy) return;
    ++reads[RefId(copy->source.ref)];
    ++reads[RefId(copy->target.ref)];
  });
}

OperandPlan::Start StartOf(const Ref& ref) {
  using Start = OperandPlan::Start;
  if (ref.init) return Start::kValue;
  if (ref.init_undefined) return Start::kUndefined;
  return ref.alias >= 0 ? Start::kAlias : Start::kNothing;
}

/// Whether all that is read is one of the matrices of a stack of them.
bool ReadsMatrix(const Node& read, const Shape& view) {
  const size_t rank = view.size();
  for (size_t d = 0; d < read.subscripts.size(); ++d) {
    const Subscript& s = read.subscripts[d];
    if (d + 2 < rank ? s.range : !IsWholeRange(s, view[d])) return false;
  }
  return rank == 2 || read.subscripts.size() == rank;
}

Layout LayoutOf(Side side, bool transposed) {
  if (side == Side::kA) return transposed ? Layout::kPackedAT : Layout::kPackedA;
  return transposed ? Layout::kPackedBT : Layout::kPackedB;
}

}  // namespace

Table<OperandPlan, Ref> PlanOperands(const Kernel& kernel) {
  Table<OperandPlan, Ref> operands(kernel.refs.size());
  Table<int, Ref> reads(kernel.refs.size()), dots(kernel.refs.size());
  Table<std::vector<Use>, Ref> uses(kernel.refs.size());
  const auto visit = [&](const Node& node) {
    if (node.op == Op::kRead) ++reads[RefId(node.index)];
    // The mask of a block's edge needs its coordinates, which panels do not keep.
    if (node.op == Op::kInside || node.op == Op::kAt) reads[RefId(node.index)] += 2;
    if (node.op != Op::kDot) return;
    for (size_t k = 0; k < 2; ++k) {
      const DotOperand operand = OperandOfDot(*node.args[k]);
      const Node& value = *operand.value;
      if (value.op != Op::kRead) continue;
      const Shape& view = kernel[RefId(value.index)].view;
      const bool matrix = view.size() > 2 && k == 1 && ReadsMatrix(value, view);
      if (!value.subscripts.empty() && !matrix) continue;
      ++dots[RefId(value.index)];
      uses[RefId(value.index)].push_back(
          {LayoutOf(k == 0 ? Side::kA : Side::kB, operand.transposed),
           OperandOfDot(*node.args[1 - k]).value->dtype, matrix});
    }
  };
  for (const Actions* actions : {&kernel.body, &kernel.epilogue})
    ForEachAction(*actions, [&](const Action& action) { ForEachNode(action, visit); });
  CountCopies(kernel.body, reads);
  CountCopies(kernel.epilogue, reads);

  for (const RefId r : IdsOf(kernel.refs)) {
    const Ref& ref = kernel[r];
    OperandPlan& plan = operands[r];
    plan.clipped.assign(ref.block.size(), false);
    plan.start = StartOf(ref);
    if (ref.role != Role::kInput) continue;
    plan.reason = "read element by element";
    if (uses[r].empty()) continue;
    const Use& first = uses[r][0];
    const bool alike = std::all_of(uses[r].begin(), uses[r].end(),
                                   [&](const Use& u) { return u.layout == first.layout; });
    const bool whole = std::none_of(ref.block.begin(), ref.block.end(), [](const BlockDim& d) {
      return d.kind == BlockDim::Kind::kElement || d.kind == BlockDim::Kind::kBounded;
    });
    const bool same_type = std::all_of(uses[r].begin(), uses[r].end(), [&](const Use& u) {
      return DotElement(ref.dtype, u.partner) == ref.dtype;
    });
    const bool stack =
        std::all_of(uses[r].begin(), uses[r].end(), [](const Use& u) { return u.matrix; });
    if (dots[r] != reads[r]) {
      plan.reason = "read by more than dots";
    } else if (!alike) {
      plan.reason = "multiplied from both sides";
    } else if (ref.view.size() < 2 || (ref.view.size() > 2 && !stack) || !whole ||
               ref.memory != Memory::kVmem) {
      plan.reason = "not a matrix";
    } else if (!same_type) {
      plan.reason = "multiplied as another type";
    } else {
      plan.layout = first.layout;
      plan.reason = stack ? "only dots read its matrices: its copy packs each"
                          : "only dots read it: its copy packs it";
    }
  }
  return operands;
}

namespace {

bool IsTrailing(const Kernel& kernel, const Axes& axes) {
  if (axes.empty()) return false;
  for (size_t k = 0; k < axes.size(); ++k) {
    const AxisId axis(kernel.axes.size() - axes.size() + k);
    if (axes[k] != axis || kernel[axis].parallel) return false;
  }
  return true;
}

/// `acc = 0` under `when first(...)`.
Reduction BegunBy(const Kernel& kernel, const Action& action) {
  const auto* when = As<action::When>(action);
  if (!when || !when->orelse.empty()) return {};
  Reduction reduction;
  const Node& c = *when->condition;
  if (c.op == Op::kFirstStep) {
    reduction.axes = {AxisId(c.index)};
  } else if (c.op == Op::kFirstVisit) {
    const std::optional<Axes> axes = StayAxes(kernel, RefId(c.index));
    if (axes)
      reduction.axes = *axes;
    else  // looked up
      reduction.stay = RefId(c.index);
  }
  if (!reduction.stay && !IsTrailing(kernel, reduction.axes)) return {};
  for (const Action& inner : when->body) {
    const auto* store = As<action::Store>(inner);
    if (!store || store->ref < 0 || !store->IsWhole() || !IsZero(store->value)) continue;
    const RefId ref(store->ref);
    const Role role = kernel[ref].role;
    const bool stays =
        role == Role::kOutput &&
        (reduction.stay ? ref == reduction.stay : StayIs(kernel, ref, reduction.axes));
    if (role == Role::kScratch || stays) reduction.accumulator = ref;
  }
  return reduction;
}

bool AddsDot(const Action& action, RefId ref) {
  if (const auto* when = As<action::When>(action)) {
    return std::any_of(when->body.begin(), when->body.end(),
                       [&](const Action& inner) { return AddsDot(inner, ref); });
  }
  const auto* store = As<action::Store>(action);
  if (!store || RefId(store->ref) != ref || !store->IsWhole()) return false;
  const Node& v = *store->value;
  const auto is_acc = [&](const NodePtr& e) {
    return e->op == Op::kRead && RefId(e->index) == ref && e->subscripts.empty();
  };
  return v.op == Op::kAdd && ((is_acc(v.args[0]) && v.args[1]->op == Op::kDot) ||
                              (is_acc(v.args[1]) && v.args[0]->op == Op::kDot));
}

bool Touches(const Action& action, RefId ref) {
  return AnyAction({action}, [&](const Action& a) {
    const auto* store = As<action::Store>(a);
    const auto* copy = As<action::Copy>(a);
    const auto is = [&](int index) { return RefId(index) == ref; };
    bool touches =
        (store && is(store->ref)) || (copy && (is(copy->source.ref) || is(copy->target.ref)));
    ForEachNode(a, [&](const Node& node) {
      touches = touches || (node.op == Op::kRead && is(node.index));
    });
    return touches;
  });
}

/// The first of the statements that has to do with it.
const Action* FirstTouch(const Actions& actions, RefId ref) {
  const auto first = std::find_if(actions.begin(), actions.end(),
                                  [&](const Action& a) { return Touches(a, ref); });
  return first == actions.end() ? nullptr : &*first;
}

}  // namespace

RefId BegunWith(const Kernel& kernel, RefId scratch) {
  const Action* first = FirstTouch(kernel.body, scratch);
  const auto* when = first ? As<action::When>(*first) : nullptr;
  if (!when || when->condition->op != Op::kFirstVisit) return {};
  const Action* inner = FirstTouch(when->body, scratch);
  const auto* store = inner ? As<action::Store>(*inner) : nullptr;
  if (!store || RefId(store->ref) != scratch || !store->IsWhole()) return {};
  bool reads = false;
  ForEachNode(*inner, [&](const Node& node) {
    reads = reads || (node.op == Op::kRead && RefId(node.index) == scratch);
  });
  return reads ? RefId() : RefId(when->condition->index);
}

bool BeginsAnew(const Kernel& kernel, RefId scratch, AxisId axis) {
  const RefId output = BegunWith(kernel, scratch);
  if (!output) return false;
  const std::vector<BlockDim>& block = kernel[output].block;
  return std::any_of(block.begin(), block.end(), [&](const BlockDim& dim) {
    return dim.index && dim.index->op == Op::kAxis && AxisId(dim.index->index) == axis;
  });
}

Reduction FindReduction(const Kernel& kernel) {
  for (const Action& when : kernel.body) {
    Reduction reduction = BegunBy(kernel, when);
    if (!reduction.accumulator) continue;
    const bool adds = std::any_of(kernel.body.begin(), kernel.body.end(), [&](const Action& a) {
      return AddsDot(a, reduction.accumulator);
    });
    if (adds) return reduction;
  }
  return {};
}

}  // namespace kiln
