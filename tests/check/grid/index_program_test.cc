#include "generator/check/grid/index_program.h"

#include "generator/check/grid/space.h"
#include "tests/catch.h"
#include "tests/check/grid/grid_builder.h"

namespace kiln::index_program_test {
namespace {

using namespace build;

struct Lane {
  EvalFault fault;
  int64_t value;
};

/// The program's result at every point of the grid.
std::vector<Lane> RunProgram(const Binding& binding, const Node& node) {
  ProgramBuilder builder(binding);
  REQUIRE(builder.Known(node));
  const int reg = builder.Add(node);
  IndexProgram program = builder.Finish();
  const std::vector<AxisUse> full(binding.steps.size(), AxisUse::kFull);
  const auto space = GridSpace::Make(binding, full, GridSpace::Unused::kOnce);
  REQUIRE(space);
  std::vector<Lane> out;
  Sweep sweep(binding, program, *space);
  while (sweep.Next()) {
    for (int lane = 0; lane < sweep.count(); ++lane) {
      const LaneFault fault = program.FaultAt(lane);
      out.push_back({fault.fault, program.Lanes(reg)[lane]});
    }
  }
  return out;
}

GridBuilder SmallGrid() {
  GridBuilder grid;
  grid.AddGrid("i", 5);
  grid.AddGrid("j", 11);
  grid.AddGrid("l", 13);
  grid.AddHost("ids", {3, 1, 4, 1, 5, 9, 2, 6});
  grid.binding.kernel = &grid.kernel;
  return grid;
}

bool Contains(const Node& node, bool (*is)(Op)) {
  if (is(node.op)) return true;
  for (const NodePtr& arg : node.args) {
    if (Contains(*arg, is)) return true;
  }
  for (const Subscript& subscript : node.subscripts) {
    if (Contains(*subscript.start, is)) return true;
  }
  return false;
}

/// On the side that `where` drops, the evaluator stops at x // 0, which is harmless there; a
/// program goes on and finds what else is wrong.
bool MayFindMore(const Node& node) {
  return Contains(node, [](Op op) { return op == Op::kWhere; }) && Contains(node, [](Op op) {
           return op == Op::kFloorDiv || op == Op::kCeilDiv || op == Op::kMod || op == Op::kRem ||
                  op == Op::kQuot;
         });
}

TEST_CASE("index programs agree with the scalar evaluator") {
  GridBuilder grid = SmallGrid();
  const auto points = AllPoints(grid.binding.steps);
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    RandomNodes nodes(seed, 3, {0});
    const DType dtype = seed % 3 == 0 ? DType::kI32 : DType::kIndex;
    const NodePtr node = seed % 7 == 0 ? nodes.Condition(3) : nodes.Integer(1 + seed % 4, dtype);
    const std::vector<Lane> got = RunProgram(grid.binding, *node);
    REQUIRE(got.size() == points.size());
    for (size_t p = 0; p < points.size(); ++p) {
      const EvalResult want = Evaluate(*node, grid.binding, points[p].data());
      const bool faulted = got[p].fault != EvalFault::kNone;
      if (faulted == (want.fault != EvalFault::kNone) && (faulted || got[p].value == want.value)) {
        continue;
      }
      if (faulted && MayFindMore(*node)) continue;
      INFO("seed " << seed << ", point " << p << ": " << ToString(*node, grid.kernel));
      CHECK(faulted == (want.fault != EvalFault::kNone));
      CHECK(got[p].value == want.value);
      break;
    }
  }
}

TEST_CASE("64-bit arithmetic is checked at its limits") {
  GridBuilder grid = SmallGrid();
  const NodePtr least = Int(INT64_MIN), most = Int(INT64_MAX), minus = Int(-1);
  const auto fault = [&](Op op, std::vector<NodePtr> args) {
    return RunProgram(grid.binding, *Do(op, std::move(args)))[0].fault;
  };
  CHECK(fault(Op::kAdd, {most, Int(1)}) == EvalFault::kOverflow);
  CHECK(fault(Op::kSub, {least, Int(1)}) == EvalFault::kOverflow);
  CHECK(fault(Op::kMul, {least, minus}) == EvalFault::kOverflow);
  CHECK(fault(Op::kFloorDiv, {least, minus}) == EvalFault::kOverflow);
  CHECK(fault(Op::kMod, {least, minus}) == EvalFault::kNone);
  CHECK(fault(Op::kNeg, {least}) == EvalFault::kOverflow);
  CHECK(fault(Op::kAbs, {least}) == EvalFault::kOverflow);
  CHECK(fault(Op::kPow, {Int(2), Int(62)}) == EvalFault::kNone);
  CHECK(fault(Op::kPow, {Int(2), Int(63)}) == EvalFault::kOverflow);
  CHECK(fault(Op::kShl, {Int(1), Int(62)}) == EvalFault::kNone);
  CHECK(fault(Op::kShl, {Int(1), Int(63)}) == EvalFault::kOverflow);
  CHECK(fault(Op::kFloorDiv, {Int(1), Int(0)}) == EvalFault::kDivideByZero);
  CHECK(fault(Op::kAdd, {least, most}) == EvalFault::kNone);
}

TEST_CASE("division by a constant is exact for large and negative values") {
  GridBuilder grid = SmallGrid();
  for (const int64_t base : {int64_t{0}, int64_t{-70}, (int64_t{1} << 51) - 40, INT64_MAX - 2000}) {
    for (const int64_t divisor : {1, 2, 3, 7, 8, 64, 1000}) {
      for (const Op op : {Op::kFloorDiv, Op::kMod, Op::kCeilDiv, Op::kRem, Op::kQuot}) {
        const NodePtr node = Do(op, {Do(Op::kAdd, {Int(base), Axis_(2)}), Int(divisor)});
        const std::vector<Lane> got = RunProgram(grid.binding, *node);
        for (const int64_t l : {0, 1, 6, 12}) {
          const int64_t axes[] = {0, 0, l};
          CHECK(got[static_cast<size_t>(l)].value == Evaluate(*node, grid.binding, axes).value);
        }
      }
    }
  }
}

TEST_CASE("an axis that varied in the batch before is filled anew") {
  GridBuilder grid;
  grid.AddGrid("i", 7);
  grid.AddGrid("j", 80);
  grid.binding.kernel = &grid.kernel;
  const NodePtr node = Do(Op::kAdd, {Do(Op::kMul, {Axis_(0), Int(80)}), Axis_(1)});
  const std::vector<Lane> got = RunProgram(grid.binding, *node);
  REQUIRE(got.size() == 560);
  for (size_t point = 0; point < 560; ++point) CHECK(got[point].value == int64_t(point));
}

TEST_CASE("faults name the array, the subscript and its limit") {
  GridBuilder grid = SmallGrid();
  ProgramBuilder builder(grid.binding);
  builder.Add(*Read(0, {Axis_(2)}));
  IndexProgram program = builder.Finish();
  const auto space = GridSpace::Make(grid.binding, program.axis_use(), GridSpace::Unused::kOnce);
  CHECK(space->size() == 13);  // only the axis that is used
  Sweep sweep(grid.binding, program, *space);
  REQUIRE(sweep.Next());
  CHECK_FALSE(program.Faulted(7));
  REQUIRE(program.Faulted(8));
  const LaneFault fault = program.FaultAt(8);
  CHECK(fault.fault == EvalFault::kHostRange);
  CHECK(fault.ref == 0);
  CHECK(fault.at == 8);
  CHECK(fault.extent == 8);
}

TEST_CASE("lazy operators do not evaluate what they do not need") {
  GridBuilder grid = SmallGrid();
  const NodePtr inside = Do(Op::kLt, {Axis_(2), Int(8)});
  const NodePtr read = Read(0, {Axis_(2)});
  const NodePtr safe = Node_(Op::kIf, DType::kIndex, {inside, read, Int(0)});
  for (const Lane& lane : RunProgram(grid.binding, *safe)) CHECK(lane.fault == EvalFault::kNone);
  const NodePtr eager = Node_(Op::kWhere, DType::kIndex, {inside, read, Int(0)});
  CHECK(RunProgram(grid.binding, *eager)[8].fault == EvalFault::kHostRange);
  const NodePtr both = Do(Op::kAnd, {inside, Do(Op::kEq, {read, Int(1)})});
  for (const Lane& lane : RunProgram(grid.binding, *both)) CHECK(lane.fault == EvalFault::kNone);
}

}  // namespace
}  // namespace kiln::index_program_test
