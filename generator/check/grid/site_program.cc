// Compiles a site of the body: the conditions and loops around it become a mask and further
// coordinates of the space that is walked.
#include <algorithm>
#include <set>

#include "generator/check/grid/sites.h"

namespace kiln {
namespace {

/// The loop variables that a value depends on, through lets too.
void CollectLoops(const Node& node, const Locals& lets, std::set<int>& seen, std::set<int>& loops) {
  if (node.op == Op::kLocal && seen.insert(node.index).second) {
    const auto let = lets.lets.find(node.index);
    if (let != lets.lets.end())
      CollectLoops(*let->second, lets, seen, loops);
    else
      loops.insert(node.index);
  }
  for (const NodePtr& arg : node.args) CollectLoops(*arg, lets, seen, loops);
  for (const Subscript& subscript : node.subscripts) {
    CollectLoops(*subscript.start, lets, seen, loops);
  }
}

bool Mentions(const Node& node, int local, const Locals& lets) {
  std::set<int> seen, loops;
  CollectLoops(node, lets, seen, loops);
  return loops.count(local) > 0;
}

/// Linear in the variable, in 64-bit arithmetic: its extremes, and those of every part of it
/// that could overflow, are at the ends of the variable's range.
bool IsAffine(const Node& node, int local, const Locals& lets) {
  if (!Mentions(node, local, lets)) return true;
  if (node.op == Op::kLocal) return node.index == local;
  if (node.dtype != DType::kIndex) return false;
  switch (node.op) {
    case Op::kAdd:
    case Op::kSub:
      return IsAffine(*node.args[0], local, lets) && IsAffine(*node.args[1], local, lets);
    case Op::kMul: {
      const bool first = Mentions(*node.args[0], local, lets);
      const bool second = Mentions(*node.args[1], local, lets);
      return first != second && IsAffine(*node.args[first ? 0 : 1], local, lets);
    }
    case Op::kNeg:
      return IsAffine(*node.args[0], local, lets);
    case Op::kCast:
      return node.args[0]->op == Op::kLocal && node.args[0]->index == local;
    default:
      return false;
  }
}

class Compiler {
 public:
  Compiler(GridContext& context, const Site& site, const Locals& lets)
      : context_(context),
        site_(site),
        locals_{lets.lets, {}},
        builder_(context.binding, &locals_, /*visits=*/true) {
    std::set<int> seen;
    CollectLoops(*site.value, locals_, seen, needed_);
    for (const Enclosing& around : site.enclosing) {
      for (const NodePtr& node : {around.condition, around.low, around.high}) {
        if (node) CollectLoops(*node, locals_, seen, needed_);
      }
      if (!around.condition) locals_.loops[around.local] = -1;
    }
  }

  std::optional<SiteProgram> Run();

 private:
  bool AddEnclosing(size_t at);
  bool AddCondition(const Enclosing& around);
  bool AddLoop(size_t at);
  bool AddEveryIteration(const Enclosing& loop, int low, int high);
  bool EndsSuffice(size_t at) const;
  std::optional<LoopRange> RangeOf(int local, int low, int high);

  GridContext& context_;
  const Site& site_;
  Locals locals_;
  ProgramBuilder builder_;
  std::set<int> needed_;
  std::vector<LoopRange> ranges_;
  bool too_large_ = false;
  SiteProgram out_;
};

std::optional<SiteProgram> Compiler::Run() {
  if (!builder_.Known(*site_.value)) return std::nullopt;
  for (size_t i = 0; i < site_.enclosing.size(); ++i) {
    if (AddEnclosing(i)) continue;
    if (too_large_) return SiteProgram{};
    return std::nullopt;
  }
  out_.value_begin = builder_.Position();
  out_.value = builder_.Add(*site_.value, out_.mask);
  out_.program = builder_.Finish();
  out_.space =
      GridSpace::Make(context_.binding, out_.program.axis_use(), GridSpace::Unused::kOnce, ranges_);
  if (!context_.Spend(out_.space, out_.program)) out_.space.reset();
  return std::move(out_);
}

/// False when nothing that the grid decides reaches the site.
bool Compiler::AddEnclosing(size_t at) {
  const Enclosing& around = site_.enclosing[at];
  return around.condition ? AddCondition(around) : AddLoop(at);
}

bool Compiler::AddCondition(const Enclosing& around) {
  // What is not known counts as not reaching the site.
  int holds = builder_.AddCondition(*around.condition, around.negated, out_.mask);
  const auto constant = builder_.Constant(holds);
  if (constant && (*constant != 0) == around.negated) return false;
  if (around.negated) holds = builder_.AddNot(holds);
  out_.mask = builder_.AddAnd(out_.mask, holds);
  return true;
}

bool Compiler::AddLoop(size_t at) {
  const Enclosing& loop = site_.enclosing[at];
  if (!builder_.Known(*loop.low) || !builder_.Known(*loop.high)) return false;
  const int low = builder_.Add(*loop.low, out_.mask);
  const int high = builder_.Add(*loop.high, out_.mask);
  out_.mask = builder_.AddAnd(out_.mask, builder_.AddBinary(Op::kLt, low, high));
  if (!needed_.count(loop.local)) return true;
  if (!EndsSuffice(at)) return AddEveryIteration(loop, low, high);
  const int end = builder_.AddInput(ProgramInput::Kind::kLoop, loop.local);
  ranges_.push_back({loop.local, 0, 2});
  const int last = builder_.AddBinary(Op::kSub, high, builder_.AddConstant(1));
  locals_.loops[loop.local] = builder_.AddSelect(end, last, low);
  out_.loop_values[loop.local] = locals_.loops[loop.local];
  out_.exact = false;
  return true;
}

/// Whether the first and the last iteration are the extremes.
bool Compiler::EndsSuffice(size_t at) const {
  const int local = site_.enclosing[at].local;
  for (size_t i = at + 1; i < site_.enclosing.size(); ++i) {
    const Enclosing& inner = site_.enclosing[i];
    for (const NodePtr& node : {inner.condition, inner.low, inner.high}) {
      if (node && Mentions(*node, local, locals_)) return false;
    }
  }
  return site_.kind != Site::Kind::kAssert && IsAffine(*site_.value, local, locals_);
}

bool Compiler::AddEveryIteration(const Enclosing& loop, int low, int high) {
  const auto range = RangeOf(loop.local, low, high);
  if (!range) return false;
  ranges_.push_back(*range);
  const int variable = builder_.AddInput(ProgramInput::Kind::kLoop, loop.local);
  locals_.loops[loop.local] = variable;
  out_.loop_values[loop.local] = variable;
  out_.mask = builder_.AddAnd(out_.mask, builder_.AddBinary(Op::kLe, low, variable));
  out_.mask = builder_.AddAnd(out_.mask, builder_.AddBinary(Op::kLt, variable, high));
  return true;
}

/// From the least lower bound to the greatest upper one, over the steps that reach the loop.
std::optional<LoopRange> Compiler::RangeOf(int local, int low, int high) {
  IndexProgram program = builder_.Finish();
  const auto space =
      GridSpace::Make(context_.binding, program.axis_use(), GridSpace::Unused::kOnce, ranges_);
  too_large_ = !context_.Spend(space, program);
  if (too_large_) return std::nullopt;
  int64_t least = INT64_MAX, most = INT64_MIN;
  Sweep sweep(context_.binding, program, *space);
  while (sweep.Next()) {
    for (int lane = 0; lane < sweep.count(); ++lane) {
      if (program.Lanes(out_.mask)[lane] == 0 || program.Faulted(lane)) continue;
      least = std::min(least, program.Lanes(low)[lane]);
      most = std::max(most, program.Lanes(high)[lane]);
    }
  }
  long long count = 0;
  if (least >= most || __builtin_sub_overflow(most, least, &count)) return std::nullopt;
  return LoopRange{local, least, count};
}

}  // namespace

bool SiteProgram::Reaches(const Sweep& sweep, int lane) const {
  if (mask >= 0 && sweep.program().Lanes(mask)[lane] == 0) return false;
  const int fault = sweep.program().FaultingInstruction(lane);
  return fault < 0 || fault >= value_begin;
}

std::optional<SiteProgram> CompileSite(GridContext& context, const Site& site, const Locals& lets) {
  return Compiler(context, site, lets).Run();
}

}  // namespace kiln
