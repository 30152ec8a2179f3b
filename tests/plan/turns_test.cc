// Which loops of a body are taken inside of the nest, by each element.
#include <regex>

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

/// The plan of turns by which a block goes on with what it has, after x.
std::string PlanOfBlock(const std::string& loop) {
  return ToString(*PlanOf("kernel: k\ninputs:\n  x: f32[m, n]\n  k: f32[256]\noutputs:\n"
                          "  y: f32[m, n]\nbody: |\n  var a: f32[m, n] = x\n" +
                          loop + "  y = a\n")
                       .plan);
}

/// Whether all turns are written out as one nest, in which what they go on with is a register.
bool IsWrittenOut(const std::string& plan) {
  return !Has(plan, "for t#") && !Has(plan, "a#1[") && !Has(plan, "a#2[");
}

TEST_CASE("Few turns are written out, whatever names their elements share") {
  for (const char* const loop :
       {"  for t in range(4):\n    a = a * x + k[t] * 2.0\n",
        "  for t in range(4):\n    let c = k[t]\n    let d = c * 2.0\n    a = a * x + d\n",
        "  for t in range(4):\n    let c = k[t]\n    a = a * x + c\n    let d = k[3 - t]\n"
        "    a = a - d\n"}) {
    const std::string plan = PlanOfBlock(loop);
    INFO(plan);
    CHECK(IsWrittenOut(plan));
  }
}

TEST_CASE("Of turns that are written out each has the constants and the branches of its own") {
  const std::string plan = PlanOfBlock(
      "  for t in range(2, 5):\n    let odd = t % 2 == 1\n    let c = 0.5 if odd else 0.25\n"
      "    when odd and t > 2:\n      a = a * c\n    else:\n      a = a + c\n");
  INFO(plan);
  CHECK(IsWrittenOut(plan));
  CHECK(Has(std::regex_replace(plan, std::regex("#[0-9]+"), ""),
            "let a = +(a, 0.25)\n      let a = *(a, 0.5)\n      let a = +(a, 0.25)\n"));
}

TEST_CASE("What wraps around in the type of a constant stays an operation") {
  const std::string plan =
      PlanOfBlock("  for t in range(1, 3):\n    let c = f32(i32(t) * 2000000000)\n    a = a * c\n");
  INFO(plan);
  CHECK(Has(plan, " = f32(2000000000)\n"));
  CHECK(Has(plan, " = f32(*(2, 2000000000))\n"));
}

TEST_CASE("More turns are written out where each would have to look at its number") {
  const auto turns = [](const std::string& number, const std::string& factor) {
    return PlanOfBlock("  for t in range(" + number + "):\n    let c = " + factor +
                       "\n    a = a * x * c\n");
  };
  CHECK(IsWrittenOut(turns("40", "0.5 if t % 3 == 1 else 0.25")));
  CHECK(!IsWrittenOut(turns("40", "k[t]")));
  CHECK(!IsWrittenOut(turns("100", "0.5 if t % 3 == 1 else 0.25")));
}

TEST_CASE("Many turns go inside with the names that elements share, if these are cheap") {
  const auto turns = [](const std::string& factor) {
    return PlanOfBlock("  for t in range(200):\n    let c = " + factor + "\n    a = a * x * c\n");
  };
  CHECK(Has(turns("k[t] * 0.5"), "\n      for t#"));
  CHECK(Has(turns("k[t] if t % 2 == 0 else 0.25"), "\n      for t#"));
  CHECK(Has(turns("exp(k[t])"), "\n  for t#"));
  CHECK(Has(turns("k[t] if t % m == 0 else 0.25"), "\n  for t#"));
}

TEST_CASE("Turns that name what one before has stored stay around the elements") {
  for (const char* const turns : {"4", "200"}) {
    const std::string plan =
        PlanOfBlock("  var b: f32[8, 128] = 1.0\n  for t in range(" + std::string(turns) +
                    "):\n    let c = b[0, 1]\n    b = b * 0.5 + c\n"
                    "  a = a + b[0, 0]\n");
    INFO(plan);
    CHECK(Has(plan, "\n  for t#"));
  }
}

}  // namespace
}  // namespace kiln
