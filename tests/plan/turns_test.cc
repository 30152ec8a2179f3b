// Which loops of a body are taken inside of the nest, by each element.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// The plan of turns over the columns of a and x, with h in each row, and y for what comes out.
std::string PlanOfTurns(const std::string& turn) {
  return ToString(*PlanOf("kernel: k\ninputs:\n  a: f32[c, t]\n  x: f32[c, t]\noutputs:\n"
                          "  y: {init: 0, array: \"f32[c, t]\"}\nbody: |\n  var h: f32[c] = 0\n"
                          "  for i in range(1, t - 1):\n" +
                          turn)
                       .plan);
}

/// Whether each row takes all of its turns.
bool TakesTurnsByRow(const std::string& plan) { return Has(plan, "\n    for i#"); }

TEST_CASE("Rows along which turns go take their turns one after the other") {
  for (const char* const turn :
       {"    h = h * a[:, i] + x[:, i]\n    y[:, i] = h\n",
        "    h = h * a[:, i - 1] + x[:, i + 1]\n    y[:, i + 1] = h * 2\n",
        "    y[:, i] += h * x[:, i]\n    h = where(a[:, i] > 0, h + a[:, i], y[:, i])\n"}) {
    const std::string plan = PlanOfTurns(turn);
    INFO(plan);
    CHECK(TakesTurnsByRow(plan));
    CHECK(!Has(plan, "h#3["));  // it stays in a register
  }
}

TEST_CASE("Turns that read what others have stored, or go elsewhere, stay around the rows") {
  for (const char* const turn :
       {"    h = h * a[:, i] + y[:, i - 1]\n    y[:, i] = h\n",
        "    h = h * a[:, i] + x[:, t - 1 - i]\n    y[:, t - 1 - i] = h\n",
        "    h = h * a[:, i] + x[:, i]\n    y[:, i] = h\n    y[:, i + 1] = h\n"}) {
    const std::string plan = PlanOfTurns(turn);
    INFO(plan);
    CHECK(!TakesTurnsByRow(plan));
  }
}

}  // namespace
}  // namespace kiln
