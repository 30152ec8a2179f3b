// What is written more than once, and takes long, is computed once.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

std::string PlanOfRepeated(const std::string& body) {
  return ToString(*PlanOf("kernel: k\ngrid: {i: 2}\ninputs:\n  x: f32[32, 64]\n  w: f32[64, 64]\n"
                          "outputs:\n  y: {array: \"f32[32, 64]\", init: 0}\n"
                          "  z: {array: \"f32[32, 64]\", init: 0}\nscratch:\n  s: f32[32, 64]\n"
                          "body: |\n" +
                          body)
                       .plan);
}

/// Whether a body has the plan of one that gives a name to what it repeats.
bool IsNamed(const std::string& repeated, const std::string& named) {
  INFO(PlanOfRepeated(repeated) << "\n" << PlanOfRepeated(named));
  return PlanOfRepeated(repeated) == PlanOfRepeated(named);
}

int TimesIn(const std::string& plan, const std::string& text) {
  int times = 0;
  for (size_t at = plan.find(text); at != std::string::npos; at = plan.find(text, at + 1)) ++times;
  return times;
}

/// How many sorts a body takes.
int Sorts(const std::string& body) {
  INFO(PlanOfRepeated(body));
  return TimesIn(PlanOfRepeated(body), "= sort of ");
}

TEST_CASE("reductions, scans, sorts and products that one statement repeats are computed once") {
  CHECK(IsNamed("  y = dot(x, w) * sum(dot(x, w), axis=1, keep=true)\n",
                "  let value = dot(x, w)\n  y = value * sum(value, axis=1, keep=true)\n"));
  CHECK(IsNamed("  y = cumsum(x, axis=1) - max(cumsum(x, axis=1), axis=0, keep=true)\n",
                "  let value = cumsum(x, axis=1)\n"
                "  y = value - max(value, axis=0, keep=true)\n"));
  CHECK(Sorts("  y[:, 0:32] = sort(x, axis=1)[:, 0:64:2] + sort(x, axis=1)[:, 1:64:2]\n") == 1);
  CHECK(
      IsNamed("  y = exp(x - max(x, axis=1, keep=true)) /"
              " sum(exp(x - max(x, axis=1, keep=true)), axis=1, keep=true)\n",
              "  let value = exp(x - max(x, axis=1, keep=true))\n"
              "  y = value / sum(value, axis=1, keep=true)\n"));
}

TEST_CASE("what later statements repeat is computed by the first of them") {
  CHECK(Sorts("  y = sort(x, axis=1)\n  z = sort(x, axis=1) * 2.0\n") == 1);
  CHECK(IsNamed("  let a = sort(x, axis=1)\n  y = a\n  z = sort(x, axis=1) + a\n",
                "  let a = sort(x, axis=1)\n  y = a\n  z = a + a\n"));
  CHECK(Sorts("  when i == 0:\n    y = sort(x, axis=1)\n    z = sort(x, axis=1) * 2.0\n") == 1);
}

TEST_CASE("what changes in between is computed again") {
  CHECK(Sorts("  s = x\n  y = sort(s, axis=1)\n  s = x * 2.0\n  z = sort(s, axis=1)\n") == 2);
  CHECK(Sorts("  var v = x\n  y = sort(v, axis=1)\n  v = x * 2.0\n  z = sort(v, axis=1)\n") == 2);
  CHECK(Sorts("  s = x\n  y = sort(s, axis=1)\n  for n in range(0, 2):\n    s = s + x\n"
              "  z = sort(s, axis=1)\n") == 2);
  CHECK(Sorts("  s = x\n  y = sort(s, axis=1)\n  z = x * 2.0\n  z += sort(s, axis=1)\n") == 1);
}

TEST_CASE("what differs in one axis, constant or order is another value") {
  CHECK(Sorts("  y = sort(x, axis=1)\n  z = sort(x, axis=0)\n") == 2);
  CHECK(Has(PlanOfRepeated("  y = sort(x, axis=1)\n  z = sort(x, axis=1, descending=true)\n"),
            "= sort, descending, of x"));
  CHECK(Sorts("  y = sort(x, axis=1)\n  z = sort(x + 1.0, axis=1)\n") == 2);
  CHECK(Sorts("  y = sort(x * 1.0, axis=1)\n  z = sort(x * 2.0, axis=1)\n") == 2);
  CHECK(Sorts("  y = sort(x, axis=1)\n  z = sort(s, axis=1)\n") == 2);
  CHECK(Sorts("  y = sort(flip(x, 0), axis=1)\n  z = sort(flip(x, 1), axis=1)\n") == 2);
}

TEST_CASE("what a condition may leave out is no value for others") {
  CHECK(Sorts("  y = sort(x, axis=1) if i == 0 else x\n  z = sort(x, axis=1)\n") == 2);
  CHECK(Sorts("  when i == 0:\n    y = sort(x, axis=1)\n  z = sort(x, axis=1)\n") == 2);
}

TEST_CASE("functions of elements have a name if several passes compute them") {
  const auto times = [](const std::string& body) { return TimesIn(PlanOfRepeated(body), "tanh("); };
  CHECK(times("  y = tanh(x) * rsqrt(mean(tanh(x) * tanh(x), axis=1, keep=true))\n") == 1);
  CHECK(times("  y = tanh(x) - roll(tanh(x), 1, axis=1)\n") == 1);
  CHECK(times("  y[:, 0:8] = tanh(x)[:, 0:8] - tanh(x)[:, 9:17]\n") == 2);
  CHECK(!Has(PlanOfRepeated("  y = tanh(x) + tanh(x) * w[0:32]\n"), "value"));
}

}  // namespace
}  // namespace kiln
