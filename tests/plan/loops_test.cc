// No loop of a plan leaves the buffers that it walks over, in any kernel that is here.
#include <algorithm>

#include "generator/check/check_spec.h"
#include "generator/plan/walk.h"
#include "generator/planner/make_plan.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::loops_test {
namespace {

using test::fs::path;

/// How many elements of a dimension are within reach, where that is known before anything runs.
std::optional<Size> Reach(const Plan& plan, const Coordinate& at) {
  if (at.around) return std::nullopt;
  Size reach = 1;
  if (at.loop && at.stride > 0) {
    const Size extent = plan.spaces.at(plan.loops.at(at.loop).space).extent;
    reach = (extent - Size(1)) * Size(at.stride) + Size(1);
  }
  if (!at.offset) return reach;
  const auto* constant = As<element::Constant>(at.offset);
  return constant ? std::optional(reach + Size(constant->int_value)) : std::nullopt;
}

/// "up#4: 6 elements of 1" for every dimension that a loop leaves; counts those that are known.
std::vector<std::string> Left(const Plan& plan, int& known) {
  std::vector<std::string> left;
  const auto look = [&](const Place& place, bool) {
    const Buffer& buffer = plan.buffers.at(place.buffer);
    for (size_t d = 0; d < place.at.size(); ++d) {
      const std::optional<Size> reach = Reach(plan, place.at[d]);
      if (!reach) continue;
      const std::optional<int64_t> room = (buffer.extents.at(d) - *reach).Constant();
      if (!room) continue;
      ++known;
      if (*room < 0)
        left.push_back(buffer.name + "#" + std::to_string(place.buffer.number()) + ": " +
                       reach->ToString() + " elements of " + buffer.extents[d].ToString());
    }
  };
  for (const BodyPlan& body : plan.bodies) ForEachPlace(body.stages, look);
  return left;
}

TEST_CASE("loops stay within buffers") {
  int known = 0;
  for (const char* folder : {"specs", "tests/pallas/specs"}) {
    for (const auto& entry : test::fs::directory_iterator(path(KILN_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      const auto source =
          std::make_shared<const Source>(entry.path().string(), test::ReadText(entry.path()));
      Diagnostics found;
      const auto spec = ParseSpec(source, found);
      INFO(Render(found, *source));
      REQUIRE(spec);
      std::vector<std::string> instances;
      for (const InstanceSpec& instance : spec->instances) instances.push_back(instance.name.name);
      if (instances.empty()) instances.push_back("");
      for (const std::string& instance : instances) {
        INFO(entry.path().filename().string() << " " << instance);
        CheckOptions options;
        options.instance = instance;
        const auto kernel = CheckSpec(*spec, options, found);
        const auto plan = kernel ? MakePlan(*kernel, found) : nullptr;
        if (plan) CHECK(Left(*plan, known) == std::vector<std::string>{});
      }
    }
  }
  CHECK(known > 3000);
}

/// How many outputs the lanes of a body write past the caches that stores to `outputs` as it says.
size_t StreamedOutputs(const std::string& outputs, const std::string& body) {
  const Planned planned = PlanOf("kernel: k\ninputs: {x: \"f32[99, 999]\"}\noutputs:\n" + outputs +
                                 "scratch: {s: \"f32[99, 999]\"}\nbody: |\n" + body);
  size_t most = 0;
  for (const BodyPlan& each : planned.plan->bodies) {
    ForEachStage(each.stages, [&](const Stage& stage) {
      if (const auto* lanes = As<stage::Lanes>(stage))
        most = std::max(most, lanes->streamed.size());
    });
  }
  return most;
}

/// Whether a scan of the body writes past the caches.
bool StreamsScan(const std::string& outputs, const std::string& body) {
  const Planned planned =
      PlanOf("kernel: k\ninputs: {x: \"f32[99, 999]\"}\noutputs:\n" + outputs + "body: |\n" + body);
  bool streams = false;
  for (const BodyPlan& each : planned.plan->bodies) {
    ForEachStage(each.stages, [&](const Stage& stage) {
      const auto* along = As<stage::Along>(stage);
      streams = streams || (along && along->streamed);
    });
  }
  return streams;
}

TEST_CASE("outputs of one type that a loop writes together go past the caches, and no others") {
  const std::string two = "  a: f32[99, 999]\n  b: f32[99, 999]\n";
  const std::string other = "  a: f32[99, 999]\n  b: bf16[99, 999]\n";
  CHECK(StreamedOutputs(two, "  a = x + 1.0\n  b = x - 1.0\n") == 2);
  CHECK(StreamedOutputs(other, "  let y = x + 1.0\n  a = y\n  b = bf16(y)\n") == 0);
  CHECK(StreamedOutputs(two, "  a = x + 1.0\n  b = roll(a, 1, axis=1)\n") == 1);
  std::string five, body = "  let y = x * 2.0\n";
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    five += std::string("  ") + name + ": f32[99, 999]\n";
    body += std::string("  ") + name + " = y\n";
  }
  CHECK(StreamedOutputs(five, body) == 0);
}

TEST_CASE("running sums go past the caches if they are neighbours that nobody reads") {
  const std::string one = "  a: f32[99, 999]\n", two = one + "  b: f32[99, 999]\n";
  CHECK(StreamsScan(one, "  a = cumsum(x, axis=1)\n"));
  CHECK_FALSE(StreamsScan(one, "  a = cumsum(x, axis=0)\n"));
  CHECK_FALSE(StreamsScan(two, "  a = cumsum(x, axis=1)\n  b = a + x\n"));
  CHECK_FALSE(StreamsScan(one, "  a = sort(x, axis=1)\n"));
}

/// How many loops over lanes the body has, which moves parts of rows of x to parts of rows of a.
size_t LoopsOverLanes(const std::string& body) {
  const Planned planned = PlanOf(
      "kernel: k\ndims: [h]\ninputs: {w: \"f32[h]\", x: \"f32[9, 3*h]\"}\noutputs: {a: \"f32[9, "
      "3*h]\"}\n"
      "body: |\n" +
      body);
  size_t count = 0;
  for (const BodyPlan& each : planned.plan->bodies)
    ForEachStage(each.stages, [&](const Stage& s) { count += Is<stage::Lanes>(s); });
  return count;
}

TEST_CASE("stores to parts of a row are one loop if no part overlaps the other in any call") {
  CHECK(LoopsOverLanes("  a[:, :h] = x[:, h:2*h]\n  a[:, h:2*h] = x[:, :h]\n") == 1);
  CHECK(LoopsOverLanes("  a[:, 2*h:] = x[:, :h]\n  a[:, h:2*h] = x[:, h:2*h]\n") == 1);
  CHECK(LoopsOverLanes("  a[:, :h] = x[:, :h]\n  a[:, h-1:2*h-1] = x[:, h:2*h]\n") == 2);
  CHECK(LoopsOverLanes("  a[:, :8] = x[:, :8]\n  a[:, h:h+8] = x[:, h:h+8]\n") == 2);
}

TEST_CASE("what a transpose writes goes past the caches") {
  CHECK(StreamedOutputs("  a: f32[999, 99]\n", "  a = x.T\n") == 1);
}

}  // namespace
}  // namespace kiln::loops_test
