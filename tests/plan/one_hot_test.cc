// Sums of what is 0 everywhere but in the place that an element chooses.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// The plan of a body with indices, values of rows of d elements, and outputs of 64 places.
std::string PlanOfPlaces(const std::string& body, const std::string& places = "64") {
  return ToString(*PlanOf("kernel: k\ninputs:\n  ids: i32[n]\n  v: f32[n, d]\noutputs:\n  counts: "
                          "{init: 0, array: \"i32[" +
                          places + "]\"}\n  sums: {init: 0, array: \"f32[" + places +
                          ", d]\"}\n  each: {init: 0, array: \"f32[n, " + places +
                          "]\"}\nbody: |\n" + body)
                       .plan);
}

constexpr const char* kCounts = "  counts = sum(i32(expand(ids, 1) == iota([1, 64], 1)), axis=0)\n";

TEST_CASE("A histogram adds to the place of each element alone") {
  for (const std::string& body :
       {std::string(kCounts),
        std::string("  counts += sum(where(iota([n, 64], 1) == expand(ids, 1), 1, 0), axis=0)\n"),
        std::string("  counts = sum(i32(expand(ids, 0) == iota([64, 1], 0)), axis=1)\n"),
        std::string("  let at = expand(ids, 1)\n  let hot = i32(at == iota([1, 64], 1))\n"
                    "  counts = sum(hot, axis=0)\n")}) {
    const std::string plan = PlanOfPlaces(body);
    INFO(plan);
    CHECK(Has(plan, "let place#0 = integer(ids["));
    CHECK(Has(plan, "when and(>=(place#0, 0), <(place#0, 64)):"));
    CHECK(Has(plan, "[place#0], 1)"));
  }
}

TEST_CASE("A name for what may have changed since is no name for places") {
  const std::string plan = PlanOfPlaces(
      "  counts = 0\n  let hot = where(expand(ids, 1) == iota([1, 64], 1), expand(counts, 0), 0)\n"
      "  counts = 3\n  counts += sum(hot, axis=0)\n");
  INFO(plan);
  CHECK(!Has(plan, "place#"));
}

TEST_CASE("A chain of choices that read the one before twice is not written out for its sum") {
  std::string body = "  let v0 = where(v > 0.0, v, 0.5)\n";
  for (int k = 1; k < 40; ++k) {
    const std::string last = "v" + std::to_string(k - 1), next = "v" + std::to_string(k);
    body += "  let " + next + " = where(" + last + " > 1.0, " + last + ", " + last + " * 0.5)\n";
  }
  CHECK(!Has(PlanOfPlaces(body + "  sums = broadcast(sum(v39, axis=[0, 1], keep=true), [64, d])\n"),
             "place#"));
}

TEST_CASE("Rows are added up, or compared, by the segments that they belong to") {
  for (const auto& [fold, none] : {std::pair("sum", "0"), std::pair("max", "-inf")}) {
    const std::string plan =
        PlanOfPlaces(std::string("  sums = ") + fold +
                         "(where(expand(expand(ids, 1), 2) == iota([1, 8, 1], 1), expand(v, 1), " +
                         none + "), axis=0)\n",
                     "8");
    INFO(plan);
    CHECK(Has(plan, "let place#0 = integer(ids["));
    CHECK(Has(plan, "sums[place#0, "));
  }
}

TEST_CASE("Vectors look at all places where these are few, or nothing else is in a row") {
  for (const auto& [body, places] :
       {std::pair("  counts = sum(i32(expand(ids, 1) == iota([1, 32], 1)), axis=0)\n", "32"),
        std::pair("  each = sum(where(expand(expand(ids, 1), 2) == iota([1, 1, 64], 2), "
                  "expand(v, 2), 0), axis=1)\n",
                  "64")}) {
    const std::string plan = PlanOfPlaces(body, places);
    INFO(plan);
    CHECK(!Has(plan, "place#"));
  }
}

TEST_CASE("What is added elsewhere, or compared with anything else, is added everywhere") {
  for (const char* body :
       {"  counts = sum(where(expand(ids, 1) == iota([1, 64], 1), 1, 2), axis=0)\n",
        "  counts = max(where(expand(ids, 1) == iota([1, 64], 1), 1, 0), axis=0)\n",
        "  counts = sum(i32(expand(ids, 1) < iota([1, 64], 1)), axis=0)\n",
        "  counts = sum(i32(expand(ids, 1) * iota([1, 64], 1) == iota([1, 64], 1)), axis=0)\n",
        "  counts = sum(i32(i8(expand(ids, 1)) == i8(iota([1, 64], 1))), axis=0)\n",
        "  counts = sum(where(expand(ids, 1) == iota([1, 64], 1), iota([1, 64], 1), 0), "
        "axis=0)\n"}) {
    const std::string plan = PlanOfPlaces(body);
    INFO(plan);
    CHECK(!Has(plan, "place#"));
  }
}

}  // namespace
}  // namespace kiln
