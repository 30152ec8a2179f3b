// Where the parts of a concatenation go.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// The plan of a body with tiles a and b of 8 x 16, and outputs y, 8 x 32, and z, 16 x 16.
std::string PlanOfParts(const std::string& body, const std::string& type = "f32") {
  return ToString(*PlanOf("kernel: k\ninputs:\n  a: f32[8, 16]\n  b: f32[8, 16]\noutputs:\n  y: "
                          "{init: 0, array: \"" +
                          type + "[8, 32]\"}\n  z: {init: 0, array: \"" + type +
                          "[16, 16]\"}\nbody: |\n" + body)
                       .plan);
}

constexpr const char* kByTurns = "  let o = concat([expand(a + b, 2), expand(a - b, 2)], axis=2)\n";

TEST_CASE("Parts of one element are stored by turns") {
  for (const char* body :
       {"  y = reshape(o, [8, 32])\n", "  y = reshape(o * 2, [8, 32]) + 1\n",
        "  let v = a * 2\n  z = concat([v, b], axis=0)\n  y = reshape(o, [8, 32])\n"}) {
    const std::string plan = PlanOfParts(std::string(kByTurns) + body);
    INFO(plan);
    CHECK(!Has(plan, "value "));
    CHECK(Has(plan, "* 2 + 0] and those behind it = "));
  }
  const std::string rows =
      PlanOfParts("  z = reshape(concat([expand(a, 1), expand(b, 1)], axis=1), [16, 16])\n");
  INFO(rows);
  CHECK(!Has(rows, "value "));
}

TEST_CASE("What is repeated along lanes a few times is stored by turns") {
  const auto plan = [](const std::string& body) {
    return ToString(*PlanOf("kernel: k\ninputs:\n  a: f32[8, 16]\n  w: f32[32, 32]\noutputs:\n  y: "
                            "{init: 0, array: \"f32[8, 32]\"}\n  z: {init: 0, array: \"f32[8, "
                            "256]\"}\nbody: |\n" +
                            body)
                         .plan);
  };
  const std::string twice = plan("  y = repeat(a * 2.0, 2, axis=1) + 1.0\n");
  INFO(twice);
  CHECK(!Has(twice, "value "));
  CHECK(Has(twice, "y[i0, i1 * 2 + 0] and those behind it = "));
  CHECK(Has(plan("  y = w[0:8] * repeat(flip(a, 1), 2, axis=1)\n"), "* 2 + 0] and those behind"));
  for (const char* memory : {"  y = repeat(repeat(a[:, 0:8], 2, axis=1), 2, axis=1)\n",
                             "  y[0:8, 0:16] = repeat(a[:, 0:8].T, 2, axis=1)\n",
                             "  y = repeat(dot(a, w[0:16, 0:16]), 2, axis=1)\n"}) {
    const std::string into = plan(memory);
    INFO(into);
    CHECK(!Has(into, " * 2 + 1] ="));
    CHECK(!Has(into, " * 2 + 1, 0] ="));
    CHECK(Has(into, "and those behind it = "));
  }
  const std::string sorted = plan("  y = repeat(sort(a, axis=1), 2, axis=1)\n");
  CHECK(sorted.find("= sort of") == sorted.rfind("= sort of"));
  CHECK(!Has(plan("  z = repeat(a, 16, axis=1)\n"), "* 16 + 0]"));
  CHECK(!Has(plan("  y = repeat(a[0:4], 2, axis=0)[:, 0:1] + w[0:8]\n"), "* 2 + 0]"));
  CHECK(!Has(plan("  y = dot(repeat(a, 2, axis=1), w)\n"), "* 2 + 0]"));
}

TEST_CASE("What is done to all elements is done to those of each part") {
  const std::string plan =
      PlanOfParts("  let o = concat([a + b, a - b], axis=1)\n  y = bf16(o * 0.5)\n", "bf16");
  INFO(plan);
  CHECK(!Has(plan, "value "));
}

TEST_CASE("Parts of pairs do not go by turns") {
  const std::string plan = PlanOfParts(
      "  y = reshape(concat([reshape(a, [8, 8, 2]), reshape(b, [8, 8, 2])], axis=2), [8, 32])\n");
  INFO(plan);
  CHECK(!Has(plan, "* 2 + 1] = "));
}

TEST_CASE("What is repeated for all elements of a concatenation is not done to its parts alone") {
  const std::string plan = PlanOfParts(
      "  let rows = concat([a[ds(0, 1)], b[ds(0, 1)]], axis=1)\n  y = rows + concat([a, b], "
      "axis=1)\n");
  INFO(plan);
  CHECK(Has(plan, "value rows#"));
}

TEST_CASE("Parts with rows of their own follow each other") {
  const std::string plan =
      PlanOfParts("  z = reshape(concat([expand(a, 0), expand(b * 2, 0)], axis=0), [16, 16])\n");
  INFO(plan);
  CHECK(!Has(plan, "value "));
  CHECK(Has(plan, " + 8, "));
}

TEST_CASE("A value that is read further on has lanes of all its parts") {
  const std::string plan = PlanOfParts(
      std::string(kByTurns) + "  let v = reshape(o, [8, 32])\n  y = v + cumsum(v, axis=1)\n");
  INFO(plan);
  CHECK(Has(plan, "value v#"));
  CHECK(!Has(plan, "f32[8, 16, 2]"));
}

TEST_CASE("A concatenation stays where it is if it is read twice, or what it is made of changes") {
  for (const char* body : {"  y = reshape(o, [8, 32])\n  z = reshape(o, [16, 16])\n",
                           "  y = reshape(o, [8, 32]) + reshape(o, [8, 32])\n"}) {
    const std::string plan = PlanOfParts(std::string(kByTurns) + body);
    INFO(plan);
    CHECK(Has(plan, "value o#"));
  }
  const std::string changed = PlanOfParts(
      "  var v: f32[8, 16] = a\n  let o = concat([v, b], axis=1)\n  v = v * 2\n  y = o\n"
      "  z = concat([v, v], axis=0)\n");
  INFO(changed);
  CHECK(Has(changed, "value o#"));
  const std::string own = PlanOfParts(
      "  y = 0\n  let o = concat([y[:, ds(16, 16)], y[:, ds(0, 16)]], axis=1)\n  y = o\n");
  INFO(own);
  CHECK(Has(own, "value o#"));
}

}  // namespace
}  // namespace kiln
