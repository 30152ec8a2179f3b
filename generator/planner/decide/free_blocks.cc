#include "generator/planner/decide/free_blocks.h"

#include <algorithm>

#include "generator/plan/walk.h"
#include "generator/planner/analyze/operands.h"

namespace kiln {
namespace {

bool MentionsAxis(const Node& node, int axis) {
  if (AxisOf(node) == axis) return true;
  return std::any_of(node.args.begin(), node.args.end(),
                     [&](const NodePtr& arg) { return MentionsAxis(*arg, axis); }) ||
         std::any_of(node.subscripts.begin(), node.subscripts.end(),
                     [&](const Subscript& s) { return MentionsAxis(*s.start, axis); });
}

/// The only clipped space that the axis walks, or -1 where it does anything else in an index map.
int SpaceWalkedBy(const Plan& plan, int axis) {
  const Kernel& kernel = *plan.kernel;
  int space = -1;
  for (size_t r = 0; r < kernel.refs.size(); ++r) {
    const Ref& ref = kernel.refs[r];
    for (size_t d = 0; d < ref.block.size(); ++d) {
      const BlockDim& dim = ref.block[d];
      if (!dim.index || !MentionsAxis(*dim.index, axis)) continue;
      const auto view = std::find(ref.view_dims.begin(), ref.view_dims.end(), static_cast<int>(d));
      if (dim.index->op != Op::kAxis || view == ref.view_dims.end()) return -1;
      const int own = plan.buffers[r].spaces[static_cast<size_t>(view - ref.view_dims.begin())];
      if (own < 0 || !plan.spaces[static_cast<size_t>(own)].clipped) return -1;
      if (space >= 0 && own != space) return -1;
      space = own;
    }
  }
  return space;
}

/// Whether the first and the last step of an operand's stay are others if the axis has other steps:
/// those of one that the axis does not walk, and those that go on from one step of an outer axis to
/// the next once this one has a single step.
bool StayDependsOn(const Kernel& kernel, int ref, int axis) {
  const auto walks = [&](size_t a) {
    const std::vector<BlockDim>& block = kernel.refs[static_cast<size_t>(ref)].block;
    return std::any_of(block.begin(), block.end(), [&](const BlockDim& dim) {
      return dim.index && MentionsAxis(*dim.index, static_cast<int>(a));
    });
  };
  const auto ends_stays = [&](size_t a) { return kernel.axes[a].parallel || walks(a); };
  for (size_t a = 0; a <= static_cast<size_t>(axis); ++a) {
    if (!ends_stays(a)) return true;
  }
  return false;
}

/// Whether the body reads which step it is: with other blocks there are others. The first and the
/// last step of a reduction are bodies of their own by now, and do not.
bool BodyAsksFor(const Plan& plan, int axis) {
  using Kind = Element::Kind;
  bool reads = false;
  for (const BodyPlan& body : plan.bodies) {
    for (const Stage& stage : body.stages) {
      ForEachElement(stage, [&](const Element& e) {
        const bool of_axis = e.kind == Kind::kAxis || e.kind == Kind::kSteps ||
                             e.kind == Kind::kFirstStep || e.kind == Kind::kLastStep;
        const bool of_stay = e.kind == Kind::kFirstVisit || e.kind == Kind::kLastVisit;
        reads = reads || (of_axis && e.index == axis) ||
                (of_stay && StayDependsOn(*plan.kernel, e.index, axis));
      });
    }
  }
  return reads;
}

/// Through casts.
const Element& Bare(const Element& e) {
  return e.kind == Element::Kind::kOp && e.op == Op::kCast ? Bare(*e.args[0]) : e;
}

/// Whether the body counts elements from where the block begins: `iota`. Coordinates of the array
/// (`at`) and comparisons with its edges (`inside`) are the same in any block.
bool CountsFromBlock(const Plan& plan, int space) {
  using Kind = Element::Kind;
  int counts = 0;
  const auto is_loop = [&](const Element& e) {
    return e.kind == Kind::kLoop && plan.loops[static_cast<size_t>(e.index)] == space;
  };
  for (const BodyPlan& body : plan.bodies) {
    for (const Stage& stage : body.stages) {
      ForEachElement(stage, [&](const Element& e) {
        counts += is_loop(e);
        if (e.kind != Kind::kOp || e.args.size() != 2 || !is_loop(Bare(*e.args[0]))) return;
        const Kind other = Bare(*e.args[1]).kind;
        counts -= other == Kind::kOrigin || other == Kind::kLow || other == Kind::kHigh;
      });
    }
  }
  return counts > 0;
}

/// Whether one step of an arbitrary axis leaves something for the next one.
bool Carries(const Plan& plan, int axis) {
  const Kernel& kernel = *plan.kernel;
  if (kernel.axes[static_cast<size_t>(axis)].parallel) return false;
  for (size_t r = 0; r < kernel.refs.size(); ++r) {
    const Ref& ref = kernel.refs[r];
    const int own = static_cast<int>(r);
    if (ref.role == Role::kScratch && (own == plan.carried || BeginsAnew(kernel, own, axis)))
      continue;
    if (ref.role == Role::kScratch || ref.role == Role::kSemaphore) return true;
    if (ref.role != Role::kOutput) continue;
    const bool walked = std::any_of(ref.block.begin(), ref.block.end(), [&](const BlockDim& dim) {
      return dim.index && MentionsAxis(*dim.index, axis);
    });
    if (!walked) return true;
  }
  return false;
}

bool OnlyKinds(const Stages& stages, std::initializer_list<Stage::Kind> kinds) {
  return std::all_of(stages.begin(), stages.end(), [&](const Stage& s) {
    return std::find(kinds.begin(), kinds.end(), s.kind) != kinds.end() &&
           (s.kind == Stage::Kind::kDot || OnlyKinds(s.body, kinds)) && s.orelse.empty();
  });
}

bool IsElementwise(const Plan& plan) {
  using Kind = Stage::Kind;
  return std::all_of(plan.bodies.begin(), plan.bodies.end(), [](const BodyPlan& body) {
    return OnlyKinds(body.stages, {Kind::kLoop, Kind::kLanes, Kind::kDefine, Kind::kStore});
  });
}

bool IsMatmul(const Plan& plan) {
  return plan.carried >= 0 &&
         std::all_of(plan.bodies.begin(), plan.bodies.end(), [](const BodyPlan& body) {
           return OnlyKinds(body.stages, {Stage::Kind::kDot});
         });
}

/// Whether the place has the space's own coordinate wherever it has one of that space.
bool IsContiguousAlong(const Plan& plan, const Place& place, int space) {
  const Buffer& buffer = plan.buffers[static_cast<size_t>(place.buffer)];
  for (size_t d = 0; d < place.at.size(); ++d) {
    const Coordinate& c = place.at[d];
    const bool walked = c.loop >= 0 && plan.loops[static_cast<size_t>(c.loop)] == space;
    const bool moved = c.offset || c.around;
    if ((buffer.spaces[d] == space) != walked || (walked && moved)) return false;
  }
  return true;
}

/// Whether all that walks the space is rows or columns of dots, and what is done to their elements
/// one by one.
bool IsAroundDots(const Plan& plan, const Stages& stages, int space) {
  using Kind = Stage::Kind;
  return std::all_of(stages.begin(), stages.end(), [&](const Stage& s) {
    const auto walks = [&](int loop) { return plan.loops[static_cast<size_t>(loop)] == space; };
    switch (s.kind) {
      case Kind::kPack: {
        const bool is_a = plan.panels[static_cast<size_t>(s.panels)].side == Side::kA;
        return !walks(is_a ? s.pack_col : s.pack_row);
      }
      case Kind::kDot:
        return s.depth != space && OnlyKinds(s.body, {Kind::kDefine, Kind::kStore});
      case Kind::kLoop:
      case Kind::kLanes:
      case Kind::kDefine:
      case Kind::kStore:
      case Kind::kIf:
        return IsAroundDots(plan, s.body, space) && IsAroundDots(plan, s.orelse, space);
      default:
        return false;
    }
  });
}

bool AreContiguousAlong(const Plan& plan, int space) {
  bool along = true;
  for (const BodyPlan& body : plan.bodies) {
    ForEachPlace(body.stages,
                 [&](const Place& p, bool) { along = along && IsContiguousAlong(plan, p, space); });
  }
  return along;
}

bool IsAroundDots(const Plan& plan, int space) {
  bool dots = false;
  for (const BodyPlan& body : plan.bodies) {
    if (!IsAroundDots(plan, body.stages, space)) return false;
    ForEachStage(body.stages, [&](const Stage& s) { dots = dots || s.kind == Stage::Kind::kDot; });
  }
  return dots && AreContiguousAlong(plan, space);
}

/// Whether elements along the space have nothing to do with each other: whatever the statements do,
/// they do it side by side.
bool IsSideBySide(const Plan& plan, const Stages& stages, int space) {
  using Kind = Stage::Kind;
  return std::all_of(stages.begin(), stages.end(), [&](const Stage& s) {
    switch (s.kind) {
      case Kind::kReduce:
        if (plan.loops[static_cast<size_t>(s.loop)] == space) return false;
        break;
      case Kind::kLoop:
      case Kind::kLanes:
      case Kind::kDefine:
      case Kind::kAssign:
      case Kind::kStore:
      case Kind::kIf:
        break;
      default:
        return false;
    }
    return IsSideBySide(plan, s.body, space) && IsSideBySide(plan, s.orelse, space);
  });
}

bool IsSideBySide(const Plan& plan, int space) {
  for (const BodyPlan& body : plan.bodies) {
    if (!IsSideBySide(plan, body.stages, space)) return false;
  }
  return AreContiguousAlong(plan, space);
}

/// What a dot does with the space.
FreeBlock::Use UseOf(const Plan& plan, int space) {
  FreeBlock::Use use = FreeBlock::Use::kPass;
  ForEachStage(plan.bodies.front().stages, [&](const Stage& s) {
    if (s.kind != Stage::Kind::kDot || use != FreeBlock::Use::kPass) return;
    if (s.depth == space) use = FreeBlock::Use::kDepth;
    if (plan.loops[static_cast<size_t>(s.row)] == space) use = FreeBlock::Use::kRows;
    if (plan.loops[static_cast<size_t>(s.col)] == space) use = FreeBlock::Use::kColumns;
  });
  return use;
}

/// Whether every operand that the axis walks has it in its last dimension: blocks are then pieces
/// of rows.
bool WalksRows(const Kernel& kernel, int axis) {
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
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    const int axis = static_cast<int>(a);
    const int space = SpaceWalkedBy(plan, axis);
    if (space < 0 || BodyAsksFor(plan, axis) || CountsFromBlock(plan, space)) continue;
    const bool reduces = std::find(plan.reduction_axes.begin(), plan.reduction_axes.end(), axis) !=
                         plan.reduction_axes.end();
    if (reduces ? !matmul : Carries(plan, axis)) continue;
    const bool strip = !elementwise && !matmul && !IsAroundDots(plan, space);
    if (strip && !(WalksRows(kernel, axis) && IsSideBySide(plan, space))) continue;
    const Space& s = plan.spaces[static_cast<size_t>(space)];
    const Ref& ref = kernel.refs[static_cast<size_t>(s.ref)];
    const Size& array =
        ref.array[static_cast<size_t>(ref.view_dims[static_cast<size_t>(s.view_axis)])];
    const std::optional<int64_t> size = s.extent.Constant();
    const Node& steps = *kernel.axes[a].steps;
    if (!size || steps.op != Op::kCeilDiv || steps.args[1]->op != Op::kConst ||
        steps.args[1]->int_value != *size || ToString(*steps.args[0], kernel) != array.ToString()) {
      continue;
    }
    const FreeBlock::Use use = strip ? FreeBlock::Use::kStrip : UseOf(plan, space);
    plan.free_blocks.push_back({axis, space, *size, array, use});
  }
  if (elementwise) {
    // Long passes along rows, or none: a block of a transpose is a compromise of the spec's author.
    const bool rows = !plan.free_blocks.empty() && WalksRows(kernel, plan.free_blocks.back().axis);
    if (!rows) plan.free_blocks.clear();
  }
}

}  // namespace kiln
