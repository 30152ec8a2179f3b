#include "generator/planner/make_plan.h"

#include <algorithm>
#include <stdexcept>

#include "generator/plan/plan.h"
#include "generator/plan/verify.h"
#include "generator/plan/walk.h"
#include "generator/planner/analyze/alias.h"
#include "generator/planner/analyze/operands.h"
#include "generator/planner/analyze/spaces.h"
#include "generator/planner/decide/free_blocks.h"
#include "generator/planner/decide/in_place.h"
#include "generator/planner/decide/live_depth.h"
#include "generator/planner/decide/live_rows.h"
#include "generator/planner/decide/one_body.h"
#include "generator/planner/decide/prefetch.h"
#include "generator/planner/fuse/branches.h"
#include "generator/planner/fuse/fuse.h"
#include "generator/planner/fuse/hoist.h"
#include "generator/planner/fuse/recompute.h"
#include "generator/planner/fuse/reduced.h"
#include "generator/planner/fuse/rows_together.h"
#include "generator/planner/fuse/shared_memory.h"
#include "generator/planner/lower/lower.h"

namespace kiln {
namespace {

void UsedAxes(const Node& node, std::vector<bool>& used) {
  if (AxisOf(node) >= 0) used[static_cast<size_t>(node.index)] = true;
  for (const NodePtr& arg : node.args) UsedAxes(*arg, used);
  for (const Subscript& s : node.subscripts) UsedAxes(*s.start, used);
}

std::vector<bool> AxesOfIndex(const Kernel& kernel, const Ref& ref) {
  std::vector<bool> used(kernel.axes.size());
  for (const BlockDim& dim : ref.block) {
    if (dim.index) UsedAxes(*dim.index, used);
    if (dim.extent) UsedAxes(*dim.extent, used);
  }
  return used;
}

/// Whether an axis is in an index map itself, outside of the subscripts of prefetch arrays.
bool UsesItself(const Node& node, int axis) {
  if (AxisOf(node) == axis) return true;
  return std::any_of(node.args.begin(), node.args.end(),
                     [&](const NodePtr& arg) { return UsesItself(*arg, axis); });
}

/// An axis outside of all index maps brings every block back. One that only looks an index up, such
/// as the visits of a group's tiles, may find the same block many times.
std::vector<Reuse> FindReuse(const Kernel& kernel, const Ref& ref) {
  const std::vector<bool> used = AxesOfIndex(kernel, ref);
  std::vector<Reuse> all;
  for (size_t a = 0; a < used.size(); ++a) {
    const int axis = static_cast<int>(a);
    const bool itself = std::any_of(ref.block.begin(), ref.block.end(), [&](const BlockDim& dim) {
      return dim.index && UsesItself(*dim.index, axis);
    });
    Reuse reuse{{axis}, {}};
    for (size_t inner = a + 1; inner < used.size(); ++inner) {
      if (used[inner]) reuse.window.push_back(static_cast<int>(inner));
    }
    if (itself || reuse.window.empty()) continue;
    if (!all.empty() && all.back().window == reuse.window)
      all.back().axes.push_back(axis);
    else
      all.push_back(std::move(reuse));
  }
  return all;
}

/// Scratch that lives in register tiles: dots alone start from it and store to it.
bool OnlyDotsTouch(const std::vector<BodyPlan>& bodies, int ref) {
  for (const BodyPlan& body : bodies) {
    for (const Stage& stage : body.stages) {
      if (stage.kind == Stage::Kind::kDot) {
        for (const Stage& s : stage.body) {
          bool loads = false;
          ForEachLoad(s.value, [&](const Place& p) { loads = loads || p.buffer == ref; });
          if (loads) return false;
        }
        continue;
      }
      bool touched = false;
      ForEachPlace(stage, [&](const Place& p, bool) { touched = touched || p.buffer == ref; });
      if (touched) return false;
    }
  }
  return true;
}

void MarkAssigned(Plan& plan, const Stages& stages) {
  for (const Stage& stage : stages) {
    if (stage.kind == Stage::Kind::kAssign) {
      plan.variables[static_cast<size_t>(stage.variable)].changes = true;
    }
    MarkAssigned(plan, stage.body);
    MarkAssigned(plan, stage.orelse);
  }
}

/// Whether some statement is for the last step alone.
bool AsksForLast(const std::vector<Action>& actions) {
  return std::any_of(actions.begin(), actions.end(), [](const Action& a) {
    const bool own =
        a.condition && (a.condition->op == Op::kLastStep || a.condition->op == Op::kLastVisit);
    return own || AsksForLast(a.body) || AsksForLast(a.orelse);
  });
}

void MakeBodies(Plan& plan, SpaceAnalysis& spaces, const Reduction& reduction,
                Diagnostics& diagnostics) {
  const int accumulator = reduction.accumulator;
  struct Case {
    const char* name;
    std::optional<bool> first, last;
  };
  std::vector<Case> cases{{"", std::nullopt, std::nullopt}};
  const bool finishes = AsksForLast(plan.kernel->body) || !plan.kernel->epilogue.empty();
  if (accumulator >= 0 && finishes) {
    cases = {{"SingleStep", true, true},
             {"First", true, false},
             {"Middle", false, false},
             {"Last", false, true}};
  } else if (accumulator >= 0) {
    cases = {{"First", true, std::nullopt}, {"Middle", false, std::nullopt}};
  }
  for (const Case& c : cases) {
    Stages stages = LowerBody(plan, spaces, {reduction, c.first, c.last}, diagnostics);
    plan.spaces = spaces.spaces();  // lowering numbers those of its own
    MoveIntoBranches(plan, stages, accumulator);
    Fuse(plan, stages);
    // An output's sums are wanted after the last step, scratch's are not.
    const bool scratch = accumulator >= 0 &&
                         plan.kernel->refs[static_cast<size_t>(accumulator)].role == Role::kScratch;
    CarryAccumulators(plan, stages, accumulator, scratch && c.last.value_or(false));
    Fuse(plan, stages);
    plan.bodies.push_back({c.name, std::move(stages)});
  }
  for (BodyPlan& body : plan.bodies) {
    Contract(plan, body.stages);
    RecomputeCheapValues(plan, body.stages);
  }
  ShareMemory(plan);
  for (Variable& variable : plan.variables) variable.changes = false;
  for (const BodyPlan& body : plan.bodies) MarkAssigned(plan, body.stages);
}

Dots FindDots(const Plan& plan) {
  Dots dots;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      if (stage.kind != Stage::Kind::kDot) return;
      const bool bytes = stage.element == DType::kI8 || stage.element == DType::kU8;
      dots |= Dots{true, stage.element == DType::kBF16, bytes};
    });
  }
  return dots;
}

/// Scratch has no use for extents of 1, and its rows are then neighbours; but a manual copy looks
/// at the shape that the spec gave, and register tiles have rows and columns, be it one.
void DropOnes(Plan& plan) {
  std::vector<bool> copied(plan.buffers.size());
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      if (stage.kind != Stage::Kind::kCopy) return;
      copied[static_cast<size_t>(stage.from.buffer)] = true;
      copied[static_cast<size_t>(stage.place.buffer)] = true;
    });
  }
  for (size_t r = 0; r < plan.kernel->refs.size(); ++r) {
    if (plan.kernel->refs[r].role != Role::kScratch || copied[r]) continue;
    Buffer& buffer = plan.buffers[r];
    const size_t kept = static_cast<int>(r) == plan.accumulator ? 2 : 0;
    for (size_t d = 0; d + kept < buffer.extents.size(); ++d)
      buffer.dropped[d] = buffer.extents[d].IsOne();
  }
}

}  // namespace

std::vector<int> CutOrder(const Kernel& kernel, const std::vector<OperandPlan>& operands) {
  std::vector<bool> first(kernel.axes.size());
  for (size_t r = 0; r < kernel.refs.size(); ++r) {
    const bool right = operands[r].layout == OperandPlan::Layout::kPackedB ||
                       operands[r].layout == OperandPlan::Layout::kPackedBT;
    if (!right) continue;
    const std::vector<bool> used = AxesOfIndex(kernel, kernel.refs[r]);
    for (size_t a = 0; a < used.size(); ++a) first[a] = first[a] || used[a];
  }
  std::vector<int> order;
  for (const bool wanted : {true, false}) {
    for (size_t a = 0; a < kernel.axes.size(); ++a) {
      if (kernel.axes[a].parallel && first[a] == wanted) order.push_back(static_cast<int>(a));
    }
  }
  return order;
}

std::unique_ptr<Plan> MakePlan(const Kernel& kernel, Diagnostics& diagnostics) {
  auto plan = std::make_unique<Plan>();
  plan->kernel = &kernel;
  const Reduction reduction = FindReduction(kernel);
  plan->reduction_axes = reduction.axes;
  plan->reduction_stay = reduction.stay;
  plan->carried = reduction.stay < 0 ? reduction.accumulator : -1;
  SpaceAnalysis spaces(kernel, plan->carried);
  plan->operands = PlanOperands(kernel);
  const std::vector<bool> reduced = ReducedRefs(kernel);
  for (size_t r = 0; r < kernel.refs.size(); ++r) {
    const Ref& ref = kernel.refs[r];
    Buffer buffer;
    buffer.name = ref.name;
    buffer.ref = static_cast<int>(r);
    buffer.dtype = ref.dtype;
    buffer.extents = ref.view;
    buffer.spaces = spaces.SpacesOfRef(static_cast<int>(r));
    buffer.dropped.assign(ref.view.size(), false);
    plan->buffers.push_back(std::move(buffer));
    OperandPlan& operand = plan->operands[r];
    operand.reuse = FindReuse(kernel, ref);
    operand.reduced = reduced[r];
  }
  MakeBodies(*plan, spaces, reduction, diagnostics);
  const int accumulator = reduction.accumulator;
  if (accumulator >= 0 && kernel.refs[static_cast<size_t>(accumulator)].role == Role::kScratch &&
      OnlyDotsTouch(plan->bodies, accumulator))
    plan->accumulator = accumulator;
  DropOnes(*plan);
  for (size_t r = 0; r < kernel.refs.size(); ++r) {
    const std::vector<int>& of_view = spaces.SpacesOfRef(static_cast<int>(r));
    for (size_t a = 0; a < of_view.size() && !kernel.refs[r].block.empty(); ++a) {
      const bool clipped = of_view[a] >= 0 && plan->spaces[static_cast<size_t>(of_view[a])].clipped;
      plan->operands[r].clipped[static_cast<size_t>(kernel.refs[r].view_dims[a])] = clipped;
    }
  }
  CopyAliasedInputs(*plan);
  plan->cut_axes = CutOrder(kernel, plan->operands);
  plan->dots = FindDots(*plan);
  FindLiveRows(*plan);
  FindLiveDepths(*plan);
  FindFreeBlocks(*plan);
  FindInPlace(*plan);
  FindPrefetches(*plan);
  MakeOneBody(*plan);
  HoistConstants(*plan);
  NameMiddles(*plan);
  TakeRowsTogether(*plan);
  if (diagnostics.HasErrors()) return nullptr;
  // Better no text than one that writes where it must not.
  if (const std::string flaw = FlawOf(*plan); !flaw.empty())
    throw std::logic_error("the plan of " + kernel.name + " is unsound: it " + flaw);
  return plan;
}

namespace {

/// The call checks arguments once and hands them to whichever specialization it chooses.
bool HaveSameArguments(const Kernel& a, const Kernel& b) {
  const auto same = [](const Ref& x, const Ref& y) {
    return x.name == y.name && x.role == y.role && x.dtype == y.dtype && x.view_of == y.view_of &&
           x.array.size() == y.array.size();
  };
  const auto same_dim = [](const Dim& x, const Dim& y) { return x.name == y.name; };
  return std::equal(a.refs.begin(), a.refs.end(), b.refs.begin(), b.refs.end(), same) &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), same_dim);
}

}  // namespace

std::vector<std::unique_ptr<Plan>> MakePlans(const Kernel& kernel, Diagnostics& diagnostics) {
  std::vector<std::unique_ptr<Plan>> plans;
  plans.push_back(MakePlan(kernel, diagnostics));
  for (const Variant& variant : kernel.variants) {
    if (!HaveSameArguments(kernel, *variant.kernel)) {
      diagnostics.Add({Severity::kError,
                       "tier",
                       variant.span,
                       "not supported yet: a variant with other arguments in generated code",
                       "let variants set sizes of blocks; make instances for the rest",
                       {},
                       variant.lock});
      return {};
    }
    plans.push_back(MakePlan(*variant.kernel, diagnostics));
  }
  const bool all =
      std::all_of(plans.begin(), plans.end(), [](const auto& plan) { return plan != nullptr; });
  if (!all) plans.clear();
  return plans;
}

}  // namespace kiln
