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

}  // namespace
}  // namespace kiln::loops_test
