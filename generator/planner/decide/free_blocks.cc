#include "generator/planner/decide/free_blocks.h"

#include <algorithm>

#include "generator/plan/walk.h"
#include "generator/planner/analyze/operands.h"

namespace kiln {
namespace {

bool MentionsAxis(const Node& node, AxisId axis) {
  if (AxisId(AxisOf(node)) == axis) return true;
  return std::any_of(node.args.begin(), node.args.end(),
                     [&](const NodePtr& arg) { return MentionsAxis(*arg, axis); }) ||
         std::any_of(node.subscripts.begin(), node.subscripts.end(),
                     [&](const Subscript& s) { return MentionsAxis(*s.start, axis); });
}

bool Walks(const Kernel& kernel, RefId ref, AxisId axis) {
  const std::vector<BlockDim>& block = kernel[ref].block;
  return std::any_of(block.begin(), block.end(), [&](const BlockDim& dim) {
    return dim.index && MentionsAxis(*dim.index, axis);
  });
}

/// The only clipped space that the axis walks, or none where it does anything else in an index map.
SpaceId SpaceWalkedBy(const Plan& plan, AxisId axis) {
  const Kernel& kernel = *plan.kernel;
  SpaceId space;
  for (const RefId r : IdsOf(kernel.refs)) {
    const Ref& ref = kernel[r];
    for (size_t d = 0; d < ref.block.size(); ++d) {
      const BlockDim& dim = ref.block[d];
      if (!dim.index || !MentionsAxis(*dim.index, axis)) continue;
      const auto view = std::find(ref.view_dims.begin(), ref.view_dims.end(), d);
      if (dim.index->op != Op::kAxis || view == ref.view_dims.end()) return {};
      const auto view_axis = view - ref.view_dims.begin();
      const SpaceId own = plan[BufferOf(r)].spaces.begin()[view_axis];
      if (!own || !plan[own].clipped || (space && own != space)) return {};
      space = own;
    }
  }
  return space;
}

/// Whether the first and the last step of an operand's stay are others if the axis has other steps:
/// those of one that the axis does not walk, and those that go on from one step of an outer axis to
/// the next once this one has a single step.
bool StayDependsOn(const Kernel& kernel, RefId ref, AxisId axis) {
  for (const AxisId a : IdsOf(kernel.axes)) {
    if (a <= axis && !kernel[a].parallel && !Walks(kernel, ref, a)) return true;
  }
  return false;
}

/// Whether the body reads which step it is: with other blocks there are others. The first and the
/// last step of a reduction are bodies of their own by now, and do not.
bool BodyReadsStep(const Plan& plan, AxisId axis) {
  using namespace element;
  bool reads = false;
  for (const BodyPlan& body : plan.bodies) {
    for (const Stage& stage : body.stages) {
      ForEachElement(stage, [&](const Element& e) {
        reads = reads ||
                Match(
                    e, [&](const OneOf<Step, Steps, IsStep> auto& of) { return of.axis == axis; },
                    [&](const IsVisit& of) { return StayDependsOn(*plan.kernel, of.ref, axis); },
                    [](const OneOf<Constant, element::Operation, Load, Named, Scalar, Extent,
                                   Iteration, Edge, NoValue> auto&) { return false; });
      });
    }
  }
  return reads;
}

/// Through casts.
const Element& Bare(const Element& e) {
  const auto* cast = AsOp(e, Op::kCast);
  return cast ? Bare(*cast->args[0]) : e;
}

/// Whether the body counts elements from where the block begins: `iota`. Coordinates of the array
/// (`at`) and comparisons with its edges (`inside`) are the same in any block.
bool CountsFromBlock(const Plan& plan, SpaceId space) {
  int counts = 0;
  const auto is_loop = [&](const Element& e) {
    const auto* iteration = As<element::Iteration>(e);
    return iteration && plan[iteration->loop].space == space;
  };
  for (const BodyPlan& body : plan.bodies) {
    for (const Stage& stage : body.stages) {
      ForEachElement(stage, [&](const Element& e) {
        counts += is_loop(e);
        const auto* operation = As<element::Operation>(e);
        if (!operation || operation->args.size() != 2) return;
        if (!is_loop(Bare(*operation->args[0]))) return;
        counts -= Is<element::Edge>(Bare(*operation->args[1]));
      });
    }
  }
  return counts > 0;
}

/// Whether one step of an arbitrary axis leaves something for the next one.
bool Carries(const Plan& plan, AxisId axis) {
  const Kernel& kernel = *plan.kernel;
  if (kernel[axis].parallel) return false;
  for (const RefId r : IdsOf(kernel.refs)) {
    const Role role = kernel[r].role;
    if (role == Role::kScratch && (r == plan.carried || BeginsAnew(kernel, r, axis))) continue;
    if (role == Role::kScratch || role == Role::kSemaphore) return true;
    if (role == Role::kOutput && !Walks(kernel, r, axis)) return true;
  }
  return false;
}

/// Whether all stages are of these kinds, and those within them.
template <typename... Kinds>
bool Only(const Stages& stages) {
  return !AnyStage(stages, [](const Stage& s) { return !Is<Kinds...>(s); });
}

bool IsElementwise(const Plan& plan) {
  return std::all_of(plan.bodies.begin(), plan.bodies.end(), [](const BodyPlan& body) {
    return Only<stage::Loop, stage::Lanes, stage::Define, stage::Store>(body.stages);
  });
}

bool IsMatmul(const Plan& plan) {
  return plan.carried &&
         std::all_of(plan.bodies.begin(), plan.bodies.end(), [](const BodyPlan& body) {
           return std::all_of(body.stages.begin(), body.stages.end(),
                              [](const Stage& s) { return Is<stage::Dot>(s); });
         });
}

/// Whether the place has the space's own coordinate wherever it has one of that space.
bool IsContiguousAlong(const Plan& plan, const Place& place, SpaceId space) {
  const Buffer& buffer = plan[place.buffer];
  for (size_t d = 0; d < place.at.size(); ++d) {
    const Coordinate& c = place.at[d];
    const bool walked = c.loop && plan[c.loop].space == space;
    if ((buffer.spaces[d] == space) != walked || (walked && !c.IsPlain())) return false;
  }
  return true;
}

bool AreContiguousAlong(const Plan& plan, SpaceId space) {
  bool along = true;
  for (const BodyPlan& body : plan.bodies) {
    ForEachPlace(body.stages,
                 [&](const Place& p, bool) { along = along && IsContiguousAlong(plan, p, space); });
  }
  return along;
}

/// Whether all that walks the space is rows or columns of dots, and what is done to their elements
/// one by one.
bool IsAroundDots(const Plan& plan, const Stages& stages, SpaceId space) {
  using namespace stage;
  const auto within = [&](const Stages& list) { return IsAroundDots(plan, list, space); };
  return std::all_of(stages.begin(), stages.end(), [&](const Stage& of) {
    return Match(
        of,
        [&](const Pack& s) {
          const LoopId depth = plan[s.panels].side == Side::kA ? s.col : s.row;
          return plan[depth].space != space;
        },
        [&](const Dot& s) {
          return s.taps.empty() && s.depth != space && Only<Define, Store>(s.body);
        },
        [&](const OneOf<stage::Loop, Lanes> auto& s) { return within(s.body); },
        [&](const If& s) { return within(s.body) && within(s.orelse); },
        [](const OneOf<Define, Store> auto&) { return true; },
        [](const OneOf<Rows, EachRow, AtEdges, Assign, Reduce, Tap, Along, Request, For, While,
                       Assert, Range, Touch, Copy, Wait> auto&) { return false; });
  });
}

bool IsAroundDots(const Plan& plan, SpaceId space) {
  bool dots = false;
  for (const BodyPlan& body : plan.bodies) {
    if (!IsAroundDots(plan, body.stages, space)) return false;
    dots = dots || AnyStage(body.stages, [](const Stage& s) { return Is<stage::Dot>(s); });
  }
  return dots && AreContiguousAlong(plan, space);
}

/// Whether elements along the space have nothing to do with each other: whatever the statements do,
/// they do it side by side.
bool IsSideBySide(const Plan& plan, const Stages& stages, SpaceId space) {
  using namespace stage;
  const auto within = [&](const Stages& list) { return IsSideBySide(plan, list, space); };
  return std::all_of(stages.begin(), stages.end(), [&](const Stage& of) {
    return Match(
        of, [&](const Reduce& s) { return plan[s.loop].space != space && within(s.body); },
        [&](const Along& s) {
          const auto is = [&](LoopId loop) { return loop && plan[loop].space == space; };
          return !is(s.loop) && !is(s.into);
        },
        [&](const OneOf<stage::Loop, Lanes> auto& s) { return within(s.body); },
        [&](const If& s) { return within(s.body) && within(s.orelse); },
        [](const OneOf<Define, Assign, Store> auto&) { return true; },
        [](const OneOf<Rows, EachRow, AtEdges, Dot, Tap, Pack, Request, For, While, Assert, Range,
                       Touch, Copy, Wait> auto&) { return false; });
  });
}

bool IsSideBySide(const Plan& plan, SpaceId space) {
  for (const BodyPlan& body : plan.bodies) {
    if (!IsSideBySide(plan, body.stages, space)) return false;
  }
  return AreContiguousAlong(plan, space);
}

/// What a dot does with the space.
FreeBlock::Use UseOf(const Plan& plan, SpaceId space) {
  using Use = FreeBlock::Use;
  Use use = Use::kPass;
  ForEachStage(plan.bodies.front().stages, [&](const Stage& s) {
    const auto* dot = As<stage::Dot>(s);
    if (!dot || use != Use::kPass) return;
    if (dot->depth == space) use = Use::kDepth;
    if (plan[dot->row].space == space) use = Use::kRows;
    if (plan[dot->col].space == space) use = Use::kColumns;
  });
  return use;
}

/// What the first dot of a matmul multiplies.
DType MultipliedBy(const Plan& plan) {
  for (const Stage& s : plan.bodies.front().stages) {
    if (const auto* dot = As<stage::Dot>(s)) return dot->element;
  }
  return DType::kF32;
}

/// Whether every operand that the axis walks has it in its last dimension: blocks are then pieces
/// of rows.
bool WalksRows(const Kernel& kernel, AxisId axis) {
  return std::all_of(kernel.refs.begin(), kernel.refs.end(), [&](const Ref& ref) {
    for (size_t d = 0; d + 1 < ref.block.size(); ++d) {
      if (ref.block[d].index && MentionsAxis(*ref.block[d].index, axis)) return false;
    }
    return true;
  });
}

}  // namespace

void FindFreeBlocks(Plan& plan) {
  const Kernel& kernel = *plan.kernel;
  if (kernel.fixed_blocks) return;  // measured, and better
  const bool elementwise = IsElementwise(plan), matmul = IsMatmul(plan);
  for (const AxisId axis : IdsOf(kernel.axes)) {
    const SpaceId space = SpaceWalkedBy(plan, axis);
    if (!space || BodyReadsStep(plan, axis) || CountsFromBlock(plan, space)) continue;
    const bool reduces = std::find(plan.reduction_axes.begin(), plan.reduction_axes.end(), axis) !=
                         plan.reduction_axes.end();
    if (reduces ? !matmul : Carries(plan, axis)) continue;
    const bool strip = !elementwise && !matmul && !IsAroundDots(plan, space);
    if (strip && !(WalksRows(kernel, axis) && IsSideBySide(plan, space))) continue;
    const Space& s = plan[space];
    const Ref& ref = kernel[s.ref];
    const Size array = ref.ExtentOf(s.view_axis);
    const std::optional<int64_t> size = s.extent.Constant();
    const Node& steps = *kernel[axis].steps;
    if (!size || steps.op != Op::kCeilDiv || steps.args[1]->op != Op::kConst ||
        steps.args[1]->int_value != *size || ToString(*steps.args[0], kernel) != array.ToString()) {
      continue;
    }
    const FreeBlock::Use use = strip ? FreeBlock::Use::kStrip : UseOf(plan, space);
    FreeBlock block{axis, space, s.extent, array, use};
    if (use == FreeBlock::Use::kDepth) block.element = MultipliedBy(plan);
    plan.free_blocks.push_back(block);
  }
  if (elementwise) {
    // Long passes along rows, or none: a block of a transpose is a compromise of the spec's author.
    const bool rows = !plan.free_blocks.empty() && WalksRows(kernel, plan.free_blocks.back().axis);
    if (!rows) plan.free_blocks.clear();
  }
}

}  // namespace kiln
