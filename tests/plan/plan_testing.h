#pragma once

#include <memory>
#include <string>

#include "generator/check/check_spec.h"
#include "generator/planner/make_plan.h"
#include "tests/catch.h"

namespace kiln {

/// The plan of a spec that is right, with the kernel that it refers to.
struct Planned {
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<Plan> plan;
};

inline Planned PlanOf(const std::string& text) {
  const auto source = std::make_shared<const Source>("k.yaml", text);
  Diagnostics found;
  const auto spec = ParseSpec(source, found);
  Planned planned;
  planned.kernel = spec ? CheckSpec(*spec, {}, found) : nullptr;
  INFO(text << Render(found, *source));
  REQUIRE(planned.kernel);
  planned.plan = MakePlan(*planned.kernel, found);
  REQUIRE(planned.plan);
  return planned;
}

/// Whether the text of a plan has a part.
inline bool Has(const std::string& plan, const std::string& text) {
  return plan.find(text) != std::string::npos;
}

}  // namespace kiln
