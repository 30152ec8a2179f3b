// Timings to print, not to assert: front_test "[.speed]".
#include <chrono>
#include <iostream>

#include "generator/check/grid/check_grid.h"
#include "generator/check/grid/space.h"
#include "tests/catch.h"
#include "tests/check/grid/grid_builder.h"

namespace kiln::grid_speed_test {
namespace {

using namespace build;

double Seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// One operand's index map at every grid point, each value compared with its limit.
void TimeMap(const std::string& what, const Binding& binding, const std::vector<NodePtr>& index) {
  ProgramBuilder builder(binding);
  std::vector<int> results;
  for (const NodePtr& node : index) results.push_back(builder.Add(*node));
  IndexProgram program = builder.Finish();
  const std::vector<AxisUse> full(binding.steps.size(), AxisUse::kFull);
  const auto space = GridSpace::Make(binding, full, GridSpace::Unused::kOnce);
  uint64_t outside = 0;
  const double seconds = Seconds([&] {
    Sweep sweep(binding, program, *space);
    while (sweep.Next()) {
      for (const int reg : results) {
        const int64_t* at = program.Lanes(reg);
        for (int i = 0; i < kLanes; ++i) outside += uint64_t(uint64_t(at[i]) >= (1u << 20));
      }
    }
  });
  CHECK(outside == 0);
  std::cout << what << ": " << double(space->size()) / seconds / 1e6
            << " million index maps a second, each at every grid point\n";
}

/// The whole check, counted as one evaluation an operand and grid point.
void TimeCheck(const std::string& what, GridBuilder& grid) {
  int64_t steps = 1, operands = 0;
  for (const int64_t n : grid.binding.steps) steps *= n;
  for (const Ref& ref : grid.kernel.refs) operands += ref.block.empty() ? 0 : 1;
  std::vector<std::string> found;
  const double seconds = Seconds([&] { found = Messages(grid.Check()); });
  CHECK(found == std::vector<std::string>{});
  std::cout << what << ": " << steps << " steps, " << operands << " operands in " << seconds * 1e3
            << " ms, " << double(steps) * double(operands) / seconds / 1e6
            << " million index maps a second\n";
}

GridBuilder Cube(int64_t a, int64_t b, int64_t c) {
  GridBuilder grid;
  grid.AddGrid("i", a, true);
  grid.AddGrid("j", b);
  grid.AddGrid("l", c);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < b; ++i) values.push_back(i);
  grid.AddHost("ids", values);
  grid.binding.kernel = &grid.kernel;
  return grid;
}

TEST_CASE("evaluation of index maps", "[.speed]") {
  const GridBuilder grid = Cube(128, 512, 512);
  const NodePtr i = Axis_(0), j = Axis_(1), l = Axis_(2);
  TimeMap("i, l", grid.binding, {i, l});
  TimeMap("(i + j) % 128, l, j", grid.binding,
          {Do(Op::kMod, {Do(Op::kAdd, {i, j}), Int(128)}), l, j});
  TimeMap("(i + l) % 100, min(l, j)", grid.binding,
          {Do(Op::kMod, {Do(Op::kAdd, {i, l}), Int(100)}), Do(Op::kMin, {l, j})});
  TimeMap("ids[l], where(l < j, l, j), (i * 4 + l) // 3", grid.binding,
          {Read(0, {l}), Node_(Op::kWhere, DType::kIndex, {Do(Op::kLt, {l, j}), l, j}),
           Do(Op::kFloorDiv, {Do(Op::kAdd, {Do(Op::kMul, {i, Int(4)}), l}), Int(3)})});
}

TEST_CASE("the whole check", "[.speed]") {
  const auto with = [](GridBuilder& grid, NodePtr x0, NodePtr x1, NodePtr z0, NodePtr z1) {
    grid.AddOperand("x", Role::kInput, {512, 1024}, {1, 1}, {x0, x1});
    const int z = grid.AddOperand("z", Role::kOutput, {128, 512}, {1, 1}, {z0, z1});
    grid.AddStore(z);
  };
  const NodePtr i = Axis_(0), j = Axis_(1), l = Axis_(2);
  GridBuilder matmul = Cube(128, 512, 512);
  with(matmul, i, l, i, j);
  TimeCheck("matmul (x: i, l; z: i, j)", matmul);
  GridBuilder mixed = Cube(128, 512, 512);
  const NodePtr spread = Do(Op::kMod, {Do(Op::kAdd, {Do(Op::kAdd, {i, j}), l}), Int(511)});
  with(mixed, spread, Do(Op::kAdd, {l, j}), i, Read(0, {j}));
  TimeCheck("every axis in one index (x: (i + j + l) % 511, l + j; z: i, ids[j])", mixed);
  GridBuilder stays = Cube(128, 512, 512);
  const NodePtr first = Do(Op::kMul, {Int(0), l});  // hides that z does not depend on l
  with(stays, i, l, Do(Op::kAdd, {i, first}), j);
  TimeCheck("an output that mentions every axis (z: i + 0 * l, j)", stays);
}

TEST_CASE("more blocks than are remembered at a time", "[.speed]") {
  GridBuilder grid;
  constexpr int64_t kBlocks = (int64_t{1} << 25) + 5;
  grid.AddGrid("i", kBlocks);
  const NodePtr last_twice = Do(Op::kMin, {Axis_(0), Int(kBlocks - 2)});
  const NodePtr back = Node_(Op::kWhere, DType::kIndex,
                             {Node_(Op::kLastStep, DType::kBool, {}, 0), Int(7), last_twice});
  const int z = grid.AddOperand("z", Role::kOutput, {kBlocks}, {1}, {back});
  grid.AddStore(z);
  GridCheckOptions options;
  double before = 0;
  options.progress = [&](double share) {
    CHECK(share >= before);
    CHECK(share <= 1);
    before = share;
  };
  std::vector<std::string> found;
  std::cout << kBlocks << " blocks in " << Seconds([&] { found = Messages(grid.Check(options)); })
            << " s\n";
  REQUIRE(found.size() == 2);
  CHECK(found[1].find("no step visits block 33554436") != std::string::npos);
  CHECK(found[0].find("block 7 of `z` is left and come back to: visited at (i=7) and again at "
                      "(i=33554436)") != std::string::npos);
  CHECK(before == 1);
}

}  // namespace
}  // namespace kiln::grid_speed_test
