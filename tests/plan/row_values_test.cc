// What rows have one of is computed by vectors of rows, and what that leaves to scale a product's
// sums moves into its tiles; what only dots of bf16 read is kept as bf16.
#include "generator/planner/fuse/rows/row_values.h"

#include <sstream>

#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// The plan of an online softmax whose last statements are these. `top`: so many columns, of which
/// `read` is the first.
std::string PlanText(const std::string& statements, const std::string& top = "1",
                     const std::string& read = "top") {
  const std::string spec = R"yaml(kernel: k
grid: {j: 4}
inputs:
  x: {array: "bf16[16, 16]", block: "16, 16", index: "0, 0"}
  y: {array: "bf16[64, 16]", block: "16, 16", index: "j, 0"}
  z: {array: "bf16[64, 32]", block: "16, 32", index: "j, 0"}
outputs:
  o: {array: "f32[16, 32]", block: "16, 32", index: "0, 0"}
  u: {array: "f32[16, 16]", block: "16, 16", index: "0, 0"}
  v: {array: "f32[16, 32]", block: "16, 32", index: "0, 0"}
scratch: {top: "f32[16, )yaml" +
                           top +
                           R"yaml(]"}
body: |
  when first(j):
    top = -inf
    o = 0
  u = 0
  v = 0
  let s = dot(x, y.T)
  let largest = max()yaml" +
                           read + R"yaml(, max(s, axis=1, keep=true))
  let p = exp(s - largest)
)yaml" + statements;
  return ToString(*PlanOf(spec).plan);
}

/// Whether the exponential of each row's top is in a loop by lanes that has no loop around it.
bool IsByVectors(const std::string& plan) {
  std::istringstream in(plan);
  bool outside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("  ", 0) == 0 && line[2] != ' ') outside = line.rfind("  lanes ", 0) == 0;
    if (outside && line.find("exp(-(top[") != std::string::npos) return true;
  }
  return false;
}

const char* const kFade = "  o *= exp(top - largest)\n  o += dot(bf16(p), z)\n  top = largest\n";

TEST_CASE("a function of what rows have one of is computed by vectors of rows") {
  const std::string plan = PlanText(kFade);
  INFO(plan);
  CHECK(IsByVectors(plan));
}

TEST_CASE("rows that are no neighbours in memory are computed one by one") {
  const std::string plan = PlanText(
      "  o *= exp(top[:, 0:1] - largest)\n  o += dot(bf16(p), z)\n"
      "  top = broadcast(largest, [16, 2])\n",
      "2", "top[:, 0:1]");
  INFO(plan);
  CHECK_FALSE(IsByVectors(plan));
  CHECK(Has(plan, "exp(-(top["));
}

TEST_CASE("a column of an output that is stored under a mask is stored element by element") {
  const auto stored_by_vectors = [](const std::string& mask) {
    const std::string plan = ToString(*PlanOf(R"yaml(kernel: k
grid: {i: m, j: n}
inputs: {x: {array: "f32[m, 40, n, 24]", block: "1, all, 1, all", index: "i, 0, j, 0"}}
outputs: {o: {array: "f32[m, 40, n]", block: "1, all, 1", index: "i, 0, j", init: 0}}
body: |
  let s = mean(x, axis=3)
  o)yaml" + mask + " = exp(s)\n")
                                           .plan);
    INFO(plan);
    REQUIRE(Has(plan, "= exp(s#"));
    return Has(plan, "\n  lanes ");
  };
  CHECK(stored_by_vectors(""));
  CHECK_FALSE(stored_by_vectors("[s < 0.1]"));
}

TEST_CASE("what scales the sums of a product is done in its tiles") {
  const std::string plan = PlanText(kFade);
  INFO(plan);
  CHECK(Has(plan, " = *(o["));
  CHECK_FALSE(Has(plan, "] = *(o["));
}

TEST_CASE("what scales them is done before if something else reads the scaled value") {
  const std::string plan =
      PlanText("  o *= exp(top - largest)\n  v = o\n  o += dot(bf16(p), z)\n  top = largest\n");
  INFO(plan);
  CHECK(Has(plan, "let o#"));
}

TEST_CASE("what is made of the sums for another output in front of their dot is stored there") {
  const std::string plan =
      PlanText("  v = o * exp(top - largest)\n  o += dot(bf16(p), z)\n  top = largest\n");
  INFO(plan);
  CHECK(Has(plan, "] = *(o["));
}

TEST_CASE("a value that a dot of bf16 alone reads is kept as bf16") {
  CHECK(Has(PlanText(kFade), "value p#10: bf16[16, 16]"));
  const std::string plan = PlanText(std::string(kFade) + "  u = flip(p, 0)\n");
  INFO(plan);
  CHECK(Has(plan, "value p#10: f32[16, 16]"));
}

/// How many loops over 64 rows of `lanes` elements of such a type a softmax has.
size_t LoopsOf(const std::string& type, const std::string& lanes) {
  const std::string shape = "[64, " + lanes + "]\"";
  const std::string plan = ToString(*PlanOf("kernel: k\ninputs:\n  x: \"" + type + shape +
                                            "\noutputs:\n  o: \"f32" + shape +
                                            "\nbody: |\n  let v = f32(x)\n"
                                            "  o = v - max(v, axis=1, keep=true)\n")
                                         .plan);
  size_t loops = 0;
  for (size_t at = 0; (at = plan.find("\n  loop ", at)) != std::string::npos; ++at) ++loops;
  return loops;
}

TEST_CASE("short rows of narrow inputs do not wait for what each of them is reduced to") {
  CHECK(LoopsOf("bf16", "128") == 2);
  CHECK(LoopsOf("bf16", "256") == 2);
  CHECK(LoopsOf("bf16", "257") == 1);
  CHECK(LoopsOf("f32", "128") == 1);
  CHECK(LoopsOf("bf16", "n") == 1);
}

}  // namespace
}  // namespace kiln
