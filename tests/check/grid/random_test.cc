// The rules against their definitions (oracle.h): random kernels on small grids. The check itself
// walks only what the index maps can distinguish.
#include <map>
#include <set>

#include "generator/check/grid/check_grid.h"
#include "tests/catch.h"
#include "tests/check/grid/oracle.h"

namespace kiln::grid_random_test {
namespace {

std::set<std::string> RulesOf(const Diagnostics& diagnostics) {
  std::set<std::string> rules;
  for (const Diagnostic& d : diagnostics.Sorted()) rules.insert(d.rule);
  return rules;
}

std::string Describe(const Kernel& kernel, const Binding& binding) {
  std::string out;
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    out += kernel.axes[a].name + "=" + std::to_string(binding.steps[a]) +
           (kernel.axes[a].parallel ? " parallel; " : "; ");
  }
  for (const Ref& ref : kernel.refs) {
    out += ref.name + ":";
    for (const BlockDim& dim : ref.block) {
      out += " " + ToString(*dim.index, kernel) + " (kind " +
             std::to_string(static_cast<int>(dim.kind)) + ", size " + dim.size.ToString() +
             (dim.extent ? ", extent " + ToString(*dim.extent, kernel) : "") + ")";
    }
    out += "; ";
  }
  return out;
}

/// An index that stays within 0 … limit-1: mostly an axis, sometimes anything.
NodePtr RandomIndex(RandomNodes& nodes, int64_t limit, int axes, int prefetch) {
  NodePtr index = Axis_(nodes.Below(axes));
  switch (nodes.Below(6)) {
    case 0:
      index = Int(0);
      break;
    case 1:
      index = Read(prefetch, {Do(Op::kMod, {index, Int(8)})});
      break;
    case 2:
      index = Do(Op::kAdd, {index, Axis_(nodes.Below(axes))});
      break;
    case 3:
      index = Node_(Op::kWhere, DType::kIndex, {nodes.Condition(0), index, Int(0)});
      break;
    default:
      break;
  }
  return Do(Op::kMod, {index, Int(std::max<int64_t>(limit, 1))});
}

struct RandomGrid {
  GridBuilder grid;
  RandomNodes nodes;
  int axes = 0, ids = -1;

  explicit RandomGrid(uint32_t seed) : nodes(seed, 3, {}) {
    axes = 1 + nodes.Below(3);
    nodes = RandomNodes(seed + 1000003, axes, {});
    static constexpr int64_t kSteps[] = {1, 2, 3, 4, 7, 12};
    bool parallel = nodes.Below(2) == 0;
    for (int a = 0; a < axes; ++a) {
      grid.AddGrid(std::string(1, static_cast<char>('a' + a)), kSteps[nodes.Below(6)], parallel);
      parallel = parallel && nodes.Below(2) == 0;
    }
    std::vector<int64_t> values;
    for (int i = 0; i < 8; ++i) values.push_back(nodes.Below(4));
    ids = grid.AddHost("ids", values);
    grid.binding.kernel = &grid.kernel;
  }

  int AddOperand(const std::string& name, Role role, const std::vector<int64_t>& extents,
                 int64_t size) {
    std::vector<NodePtr> index;
    for (const int64_t extent : extents) {
      index.push_back(nodes.Below(5) == 0
                          ? nullptr
                          : RandomIndex(nodes, (extent + size - 1) / size, axes, ids));
    }
    const int at = grid.AddOperand(name, role, extents, {size, size}, index);
    if (nodes.Below(4) == 0) MakeElement(at, extents);
    return at;
  }

  void MakeElement(int at, const std::vector<int64_t>& extents) {
    BlockDim& dim = grid.ref(at).block[0];
    if (dim.kind == BlockDim::Kind::kAll) return;
    dim.kind = nodes.Below(2) ? BlockDim::Kind::kElement : BlockDim::Kind::kBounded;
    dim.halo_low = nodes.Below(2);
    dim.halo_high = nodes.Below(2);
    const bool element = dim.kind == BlockDim::Kind::kElement;
    dim.index = RandomIndex(nodes, element ? extents[0] : extents[0] / 2 + 1, axes, ids);
    if (!element) {
      dim.extent = Do(
          Op::kMin, {RandomIndex(nodes, extents[0] / 2 + 1, axes, ids), Int(*dim.size.Constant())});
    }
  }
};

TEST_CASE("visits of random outputs") {
  std::map<std::string, int> seen;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    RandomGrid random(seed);
    const std::vector<int64_t> extents = random.nodes.Below(2)
                                             ? std::vector<int64_t>{1 + random.nodes.Below(9)}
                                             : std::vector<int64_t>{5, 1 + random.nodes.Below(7)};
    const int64_t size = 1 + random.nodes.Below(3);
    std::vector<int> writers = {random.AddOperand("z", Role::kOutput, extents, size)};
    std::vector<int> readers;
    GridBuilder& grid = random.grid;
    grid.AddStore(writers[0]);
    if (random.nodes.Below(3) == 0) {
      readers = {random.AddOperand("x", Role::kInput, extents, size)};
      grid.ref(writers[0]).alias = readers[0];
    } else if (random.nodes.Below(4) == 0) {
      writers.push_back(random.AddOperand("w", Role::kOutput, extents, 1 + random.nodes.Below(3)));
      grid.ref(writers[1]).view_of = writers[0];
      grid.AddStore(writers[1]);
    }
    const Oracle oracle(grid.binding);
    const auto want = Expected(oracle, writers, readers, extents, readers.empty());
    const Diagnostics found = grid.Check();
    std::set<std::string> got = RulesOf(found);
    INFO("seed " << seed << ": " << Describe(grid.kernel, grid.binding));
    // A reader beside racing writers is one diagnostic, not two.
    std::set<std::string> expected = want;
    if (expected.count("race") && !readers.empty()) {
      expected.erase("alias");
      got.erase("alias");
    }
    CHECK(got == expected);
    for (const std::string& rule : expected) ++seen[rule];
    seen["none"] += expected.empty();
  }
  for (const char* rule : {"none", "revisit", "race", "alias", "coverage"}) CHECK(seen[rule] > 100);
}

TEST_CASE("ranges of random index maps") {
  int outside = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    RandomGrid random(seed);
    GridBuilder& grid = random.grid;
    const std::vector<int64_t> extents = {9, 7};
    const int ref = random.AddOperand("x", Role::kInput, extents, 2);
    for (BlockDim& dim : grid.ref(ref).block) {
      if (dim.kind == BlockDim::Kind::kAll) continue;
      dim.index = Do(Op::kAdd, {dim.index, Int(random.nodes.Below(5) - 1)});
    }
    const Oracle oracle(grid.binding);
    const Point* first = nullptr;
    std::vector<int64_t> bad(2, 0);
    for (const Point& point : oracle.points()) {
      for (size_t d = 0; d < 2; ++d) {
        if (oracle.InRange(ref, d, point)) continue;
        if (!first) first = &point;
        ++bad[d];
      }
    }
    const std::vector<std::string> found = Messages(grid.Check());
    INFO("seed " << seed << ": " << Describe(grid.kernel, grid.binding));
    if (!first) {
      CHECK(found.empty());
      continue;
    }
    ++outside;
    REQUIRE(found.size() == 1);
    INFO(found[0]);
    std::string at;
    for (size_t a = 0; a < first->size(); ++a) {
      at += (a ? ", " : "") + grid.kernel.axes[a].name + "=" + std::to_string((*first)[a]);
    }
    CHECK(found[0].find("(" + at + ")") != std::string::npos);
    const auto says = [&](int64_t count) {
      return count == 1 ? found[0].find("(and ") == std::string::npos
                        : found[0].find("(and " + std::to_string(count - 1) + " more grid point") !=
                              std::string::npos;
    };
    CHECK((says(bad[0]) || says(bad[1])));
  }
  CHECK(outside > 300);
}

TEST_CASE("conditional stores of random outputs") {
  int bare = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    RandomGrid random(seed);
    GridBuilder& grid = random.grid;
    const int ref = grid.AddOperand("z", Role::kOutput, {8}, {1},
                                    {RandomIndex(random.nodes, 8, random.axes, random.ids)});
    const NodePtr plain = random.nodes.Condition(1);
    const bool visit = random.nodes.Below(2), first = random.nodes.Below(2);
    const NodePtr flag = Node_(first ? Op::kFirstVisit : Op::kLastVisit, DType::kBool, {}, ref);
    const bool both = random.nodes.Below(2);
    NodePtr condition = plain;
    if (visit) condition = Do(both ? Op::kAnd : Op::kOr, {flag, plain});
    grid.AddStore(ref, condition);
    const Oracle oracle(grid.binding);
    if (Expected(oracle, {ref}, {}, {8}, false).size() > 0) continue;  // its stays are at fault
    bool known = true, missing = false, stored = true;
    for (size_t step = 0; step < oracle.points().size(); ++step) {
      const EvalResult value = Evaluate(*plain, grid.binding, oracle.points()[step].data());
      known = known && value.fault == EvalFault::kNone;
      const bool at = first ? oracle.Begins(ref, step) : oracle.Ends(ref, step);
      const bool holds = value.value != 0;
      const bool runs = !visit ? holds : both ? at && holds : at || holds;
      if (oracle.Begins(ref, step)) {
        missing = missing || !stored;
        stored = false;
      }
      stored = stored || runs;
    }
    missing = missing || !stored;
    if (!known) continue;
    bool reported = false;
    GridCheckOptions options;
    options.diagnostics_per_rule = 3;  // unvisited blocks are reported first
    const std::vector<std::string> diagnostics = Messages(grid.Check(options));
    for (const std::string& text : diagnostics) {
      reported = reported || text.find("no store") != std::string::npos;
    }
    INFO("seed " << seed << ": " << Describe(grid.kernel, grid.binding)
                 << ToString(*condition, grid.kernel));
    CHECK(reported == missing);
    bare += missing;
  }
  CHECK(bare > 100);
}

TEST_CASE("subscripts and assertions of random bodies") {
  int failing = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    RandomGrid random(seed);
    GridBuilder& grid = random.grid;
    const int ref = grid.AddBound("acc", Role::kScratch, {6});
    Local variable;
    variable.name = "r";
    variable.dtype = DType::kI32;
    variable.kind = Local::Kind::kLoop;
    grid.kernel.locals.push_back(variable);
    const NodePtr r = Node_(Op::kLocal, DType::kIndex, {}, 0);
    const NodePtr low = Int(random.nodes.Below(3)), high = Do(Op::kMin, {Axis_(0), Int(4)});
    NodePtr start = Do(Op::kAdd, {Axis_(random.nodes.Below(random.axes)), r});
    if (random.nodes.Below(2)) start = Do(Op::kMod, {Do(Op::kMul, {start, start}), Int(8)});
    const NodePtr condition = random.nodes.Condition(1);
    const bool otherwise = random.nodes.Below(2);
    action::Store store;
    store.ref = ref;
    store.value = Float(0);
    store.subscripts = {{{}, false, start, 1, 1, nullptr}};
    action::When when;
    when.condition = condition;
    (otherwise ? when.orelse : when.body).push_back({{}, store});
    grid.kernel.body.push_back({{}, action::For{0, low, high, {{{}, when}}}});

    const Oracle oracle(grid.binding);
    bool outside = false;
    for (const Point& point : oracle.points()) {
      const EvalResult holds = Evaluate(*condition, grid.binding, point.data());
      if (holds.fault != EvalFault::kNone || (holds.value != 0) == otherwise) continue;
      for (int64_t i = oracle.Value(*low, point); i < oracle.Value(*high, point); ++i) {
        const Node& sum = start->op == Op::kMod ? *start->args[0]->args[0] : *start;
        int64_t at = oracle.Value(*sum.args[0], point) + i;
        if (start->op == Op::kMod) at = at * at % 8;
        outside = outside || at >= 6;
      }
    }
    const Diagnostics found = grid.Check();
    INFO("seed " << seed << ": " << Describe(grid.kernel, grid.binding)
                 << ToString(*condition, grid.kernel));
    CHECK(RulesOf(found).count("index-range") == (outside ? 1 : 0));
    failing += outside;
  }
  CHECK(failing > 100);
}

}  // namespace
}  // namespace kiln::grid_random_test
