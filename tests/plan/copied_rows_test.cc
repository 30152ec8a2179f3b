// Rows that a pass stores where another would have copied them to.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// Whether turns of a loop keep what the state becomes in memory of its own.
bool KeepsNext(const std::string& turn, const std::string& more = "") {
  const std::string plan = ToString(
      *PlanOf("kernel: k\ninputs: {a: \"f32[16, 64]\", r: \"f32[16, 64]\"}\noutputs: {y: "
              "\"f32[16, 64]\"}\nscratch: {s: \"f32[64, 64]\", b: \"bf16[64, 64]\"}\nbody: "
              "|\n  s = 0\n  b = 0\n  for t in range(0, 16):\n" +
              turn + more)
           .plan);
  INFO(plan);
  return Has(plan, "value next");
}

constexpr const char* kNext = "    let next = s * 0.5 + a[t]\n";
constexpr const char* kSum = "    y[t] = sum(next * r[t], axis=1)\n";

TEST_CASE("A state that a pass has made, and reads itself, is stored at once") {
  CHECK(!KeepsNext(std::string(kNext) + kSum + "    s = next\n"));
  CHECK(!KeepsNext(std::string("    let total = sum(s * a[t], axis=1, keep=true)\n") +
                   "    let next = s * 0.5 + total * a[t]\n" + kSum + "    s = next\n"));
}

TEST_CASE("It is not where what it replaces is read afterwards, or elsewhere") {
  for (const std::string& turn :
       {// of other elements
        std::string("    let next = roll(s, 1, axis=1) + a[t]\n") + kSum + "    s = next\n",
        std::string("    let next = s.T + a[t]\n") + kSum + "    s = next\n",
        // by the same pass, or one in between
        std::string(kNext) + "    y[t] = sum(next * s, axis=1)\n    s = next\n",
        std::string(kNext) + kSum + "    y[t] += sum(s, axis=1)\n    s = next\n",
        // and what is kept is read by others
        std::string(kNext) + kSum + "    s = next\n    y[t] += max(next, axis=0)\n",
        // or of another type
        std::string(kNext) + kSum + "    b = bf16(next)\n    s = s + f32(b)\n"}) {
    INFO(turn);
    CHECK(KeepsNext(turn));
  }
}

}  // namespace
}  // namespace kiln
