// A text includes what its dots need, and nothing of dots where there is none.
#include "generator/render/view/dot_headers.h"

#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

using Headers = std::vector<std::string>;

Headers HeadersOf(const std::string& statement) {
  Planned planned = PlanOf(R"yaml(kernel: k
inputs:
  x: f32[16, 32]
  y: f32[32, 64]
  w: i8[32, 64]
  s: f32[64]
  a: f32[4, 16, 32]
  b: f32[4, 32, 64]
outputs:
  o: f32[16, 64]
body: |
)yaml" + statement);
  std::vector<std::unique_ptr<Plan>> plans;
  plans.push_back(std::move(planned.plan));
  return render::DotHeaders(plans);
}

TEST_CASE("a text without dots includes no header of them") {
  CHECK(HeadersOf("  o = y[0:16, :] * s\n") == Headers{});
}

TEST_CASE("a text includes a header for each kind of its dots") {
  const std::string panels = "kiln/dot/panels-inl.h";
  CHECK(HeadersOf("  o = dot(x, y)\n") == Headers{panels});
  CHECK(HeadersOf("  o = dot(x[:, 0:8], y[0:8, :])\n") ==
        Headers{"kiln/dot/matrices-inl.h", panels});
  CHECK(HeadersOf("  o = dot(x, y * s)\n") == Headers{"kiln/dot/computed-inl.h", panels});
  CHECK(HeadersOf("  o = dot(x, f32(w) * s)\n") == Headers{panels, "kiln/dot/scaled-inl.h"});
  CHECK(HeadersOf("  o = 0\n  for i in range(4):\n    o += dot(a[i], b[i])\n") ==
        Headers{"kiln/dot/stacks-inl.h", "kiln/dot/taps-inl.h"});  // which include the panels'
}

}  // namespace
}  // namespace kiln
