// Plans that are changed behind the planner's back: what the verifier says of each.
#include "generator/plan/verify.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "generator/plan/walk.h"
#include "tests/plan/plan_testing.h"

namespace kiln::verify_test {
namespace {

constexpr const char* kAdd = R"spec(
kernel: k
grid: {i: "cdiv(m, 8)", j: "cdiv(n, 16)"}
inputs:
  x: {array: "f32[m, n]", block: "8, 16", index: "i, j"}
outputs:
  o: {array: "f32[m, n]", block: "8, 16", index: "i, j"}
body: |
  o = x
  o[:, 0] = 1.0
)spec";

constexpr const char* kSum = R"spec(
kernel: k
grid: {i: "cdiv(m, 8)"}
inputs:
  x: {array: "f32[m, 16]", block: "8, all", index: "i, 0"}
outputs:
  o: {array: "f32[m]", block: "8", index: i}
body: |
  o = sum(x, axis=1) / 16.0
)spec";

constexpr const char* kLargest = R"spec(
kernel: k
inputs:
  x: {array: "f32[m, 4, 16]"}
  y: {array: "f32[16]"}
outputs:
  o: {array: "f32[m]"}
body: |
  o = max(x * y, axis=[1, 2])
)spec";

constexpr const char* kDot = R"spec(
kernel: k
grid: {i: "cdiv(m, 8)"}
inputs:
  x: {array: "f32[m, 24]", block: "8, all", index: "i, 0"}
  y: {array: "f32[24, 32]"}
outputs:
  o: {array: "f32[m, 32]", block: "8, all", index: "i, 0"}
body: |
  o = dot(x, y)
)spec";

// What is packed is computed from a value of its own.
constexpr const char* kComputed = R"spec(
kernel: k
inputs:
  x: {array: "f32[8, 24]"}
  y: {array: "f32[24, 32]"}
outputs:
  o: {array: "f32[8, 32]"}
body: |
  let v = exp(x)
  o = dot(v * v + v, y)
)spec";

struct Planned : kiln::Planned {
  explicit Planned(const char* spec) : kiln::Planned(PlanOf(spec)) {
    REQUIRE(FlawOf(*plan).empty());
  }

  /// Changes all stages of a kind.
  template <typename Kind>
  void Change(const std::function<void(Kind&)>& change) {
    ChangeStages(plan->bodies[0].stages, [&](Stage& stage) {
      if (auto* of = As<Kind>(stage)) change(*of);
    });
  }
  std::string Flaw() const { return FlawOf(*plan); }
};

/// A loop over the whole block in place of the one that stops at the edge.
void WidenLoops(Plan& plan) {
  for (Loop& loop : plan.loops)
    loop.space = plan.spaces.Add({plan[loop.space].extent, false, {}, 0});
}

TEST_CASE("a store by a loop over the whole block of a ragged output is unsound") {
  Planned planned(kAdd);
  WidenLoops(*planned.plan);
  CHECK(planned.Flaw() == "reads `x` past its edge along 0");
  planned.Change<stage::Store>([](stage::Store& store) { store.value = IndexConstant(0); });
  CHECK(planned.Flaw() == "stores to `o` past its edge along 0");
}

TEST_CASE("a store that stops at another's edge leaves elements out") {
  Planned planned(kAdd);
  Plan& plan = *planned.plan;
  const SpaceId own = plan[BufferId(1)].spaces[0];
  const SpaceId copy = plan.spaces.Add(Space(plan[own]));
  const SpaceId whole = plan.spaces.Add({plan[own].extent, false, {}, 0});
  for (Buffer& buffer : plan.buffers) buffer.spaces[0] = whole;
  for (Loop& loop : plan.loops) loop.space = copy;
  CHECK(planned.Flaw() == "stores to `o` only up to another's edge along 0");
}

TEST_CASE("a clipped dimension takes no offset, be it 0") {
  Planned planned(kAdd);
  planned.Change<stage::Store>(
      [](stage::Store& store) { store.place.at[0].offset = IndexConstant(0); });
  CHECK(planned.Flaw() == "stores to `o` past its edge along 0");
}

TEST_CASE("a place is inside the loops that it names") {
  Planned planned(kAdd);
  planned.Change<stage::Loop>([](stage::Loop& loop) { loop.loop = {}; });
  CHECK(planned.Flaw() == "loop i0 is used outside of it");
}

TEST_CASE("a loop is no longer than what it walks") {
  Planned planned(kSum);
  bool widened = false;
  for (Space& space : planned.plan->spaces) {
    if (space.clipped) continue;
    space.extent = 17;
    widened = true;
  }
  REQUIRE(widened);
  CHECK(planned.Flaw() == "reads `x` by a loop of a larger extent along 1");
}

TEST_CASE("a variable is defined before it is used, and in the same list or around it") {
  Planned planned(kSum);
  const VariableId stray = planned.plan->variables.Add({"stray", DType::kF32, false});
  planned.Change<stage::Store>(
      [&](stage::Store& store) { store.value = NamedElement(*planned.plan, stray); });
  CHECK(planned.Flaw() == "`stray` is used where it is not defined");
}

TEST_CASE("what a loop adds up is stored behind it") {
  Planned planned(kLargest);
  std::optional<Stage> store;
  planned.Change<stage::Store>([&](stage::Store& of) {
    store = Stage{Span(), stage::Store{of.place, of.value, nullptr}};
  });
  REQUIRE(store);
  int loops = 0;
  planned.Change<stage::Loop>([&](stage::Loop& loop) {
    const bool adds = std::any_of(loop.body.begin(), loop.body.end(),
                                  [](const Stage& s) { return Is<stage::Assign>(s); });
    if (adds) loop.body.push_back(*store), ++loops;
  });
  REQUIRE(loops == 1);
  CHECK(planned.Flaw() == "a loop stores a sum that is not complete");
}

TEST_CASE(
    "what is packed may be computed from what its own statements define, and nothing else may") {
  Planned planned(kComputed);
  bool defines = false;
  VariableId inside;
  planned.Change<stage::Pack>([&](stage::Pack& pack) {
    if (pack.body.empty()) return;
    defines = true;
    inside = As<stage::Define>(pack.body.front())->variable;
  });
  REQUIRE(defines);
  planned.Change<stage::Store>(
      [&](stage::Store& store) { store.value = NamedElement(*planned.plan, inside); });
  CHECK(planned.Flaw() == "`v` is used where it is not defined");
  planned.Change<stage::Pack>([](stage::Pack& pack) { pack.body.clear(); });
  CHECK(planned.Flaw() == "`v` is used where it is not defined");
}

TEST_CASE("what is multiplied as it is stored has few bits, and a scale of its column") {
  Planned planned(kComputed);
  planned.Change<stage::Pack>([](stage::Pack& pack) { pack.scaled = bool(pack.value); });
  CHECK(planned.Flaw() == "what is scaled is no product of few bits");
}

TEST_CASE("a dot's tiles walk the rows that its panels have") {
  Planned planned(kDot);
  planned.Change<stage::Dot>(
      [&](stage::Dot& dot) { dot.depth = planned.plan->loops[LoopId(0)].space; });
  CHECK(planned.Flaw() == "multiplies panels of `x` over other extents than theirs");
}

TEST_CASE("a masked store of vectors is to neighbours") {
  Planned planned(kAdd);
  const auto mask = std::make_shared<const Element>(Element{DType::kBool, element::Constant{1}});
  planned.Change<stage::Store>([&](stage::Store& store) { store.mask = mask; });
  CHECK(planned.Flaw() == "");
  planned.Change<stage::Lanes>(
      [&](stage::Lanes& lanes) { As<stage::Store>(lanes.body[0])->place.at[1].stride = 2; });
  CHECK(planned.Flaw() == "stores under a mask to lanes of `o` that are no neighbours");
}

}  // namespace
}  // namespace kiln::verify_test
