// Names that cost nothing: what only moves elements is where its reader is.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

std::string PlanWith(const std::string& body) {
  return ToString(*PlanOf("kernel: k\ngrid: {i: 2}\ninputs:\n  x: f32[32, 64]\n  q: i8[64, 48]\n"
                          "  s: f32[4, 48]\noutputs:\n  y: {array: \"f32[64, 32]\", init: 0}\n"
                          "  z: {array: \"f32[32, 48]\", init: 0}\nscratch:\n  w: f32[32, 64]\n"
                          "body: |\n" +
                          body)
                       .plan);
}

/// Whether two bodies have one plan.
bool AreAlike(const std::string& named, const std::string& plain) {
  INFO(PlanWith(named) << "\n" << PlanWith(plain));
  return PlanWith(named) == PlanWith(plain);
}

/// Whether a value has memory of its own.
bool IsKept(const std::string& body, const std::string& name) {
  return Has(PlanWith(body), "value " + name + "#");
}

TEST_CASE("what only moves elements is where its only reader is") {
  CHECK(AreAlike("  let t = x.T\n  let u = t * 2.0\n  y = u\n", "  let u = x.T * 2.0\n  y = u\n"));
  CHECK(
      AreAlike("  let r = reshape(x, [4, 8, 64])\n  let t = transpose(r, [2, 0, 1])\n"
               "  let f = reshape(t, [64, 32])\n  y = f\n",
               "  y = reshape(transpose(reshape(x, [4, 8, 64]), [2, 0, 1]), [64, 32])\n"));
  CHECK(AreAlike("  let a = repeat(x[:, 0:32], 2, axis=0)\n  y = a\n",
                 "  y = repeat(x[:, 0:32], 2, axis=0)\n"));
}

TEST_CASE("so are products that are added to sums, and weights that are dequantised for one") {
  CHECK(AreAlike("  let d = dot(x, bf16(q))\n  z += d\n", "  z += dot(x, bf16(q))\n"));
  CHECK(
      AreAlike("  let f = f32(q)\n  let r = repeat(s, 16, axis=0)\n  let v = f * r\n"
               "  let b = bf16(v)\n  z = dot(bf16(x), b)\n",
               "  z = dot(bf16(x), bf16(f32(q) * repeat(s, 16, axis=0)))\n"));
}

TEST_CASE("a name for what changes before it is read keeps what it was") {
  CHECK(IsKept("  w = x\n  let t = w.T\n  w = x * 2.0\n  y = t + w.T\n", "t"));
  CHECK(!IsKept("  var v: f32[32, 64] = x\n  let t = v.T\n  z = 1.0\n  y = t\n", "t"));
  CHECK(IsKept("  var v: f32[32, 64] = x\n  let t = v.T\n  v = v + 1.0\n  y = t + v.T\n", "t"));
}

TEST_CASE("what is read twice, in turns, or under a condition, is computed once and before") {
  CHECK(!AreAlike("  let t = flip(x, 0)\n  for n in range(1, 3):\n    y = t.T * f32(n)\n",
                  "  for n in range(1, 3):\n    y = flip(x, 0).T * f32(n)\n"));
  CHECK(!AreAlike("  let t = flip(x[0:4, 0:48], 0)\n  z[0:4] = t if i == 0 else z[0:4]\n",
                  "  z[0:4] = flip(x[0:4, 0:48], 0) if i == 0 else z[0:4]\n"));
}

TEST_CASE("places are found through all names that a sum's argument is made of") {
  const std::string plan = ToString(
      *PlanOf("kernel: k\ninputs: {ids: \"i32[n, 1]\", v: \"f32[n, 8]\"}\noutputs: {o: \"f32[64, "
              "8]\"}\n"
              "body: |\n  let e = expand(ids, 2)\n  let p = iota([1, 64, 1], 1)\n  let m = e == p\n"
              "  let w = where(m, expand(v, 1), 0.0)\n  o = sum(w, axis=0)\n")
           .plan);
  INFO(plan);
  CHECK(Has(plan, "let place#0 = integer(ids["));
  CHECK(!Has(plan, "let m#"));
}

}  // namespace
}  // namespace kiln
