// Tolerances that a body implies, and what is said about two arrays.
#include "generator/native/compare.h"

#include <cmath>

#include "generator/check/check_spec.h"
#include "tests/catch.h"

namespace kiln {
namespace {

Array Floats(std::vector<int64_t> shape, const std::vector<double>& values) {
  Array array = Array::Zeros(DType::kF32, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) array.SetFloat(static_cast<int64_t>(i), values[i]);
  return array;
}

Array Ints(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  Array array = Array::Zeros(DType::kI32, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) array.SetInt(static_cast<int64_t>(i), values[i]);
  return array;
}

/// For output `o` of a spec without its first line.
Tolerance Of(const std::string& text, const std::map<std::string, int64_t>& dims) {
  Diagnostics found;
  const auto source = std::make_shared<const Source>("k.yaml", "kernel: k\n" + text);
  const auto spec = ParseSpec(source, found);
  const auto kernel = spec ? CheckSpec(*spec, {}, found) : nullptr;
  INFO(Render(found, *source));
  REQUIRE(kernel);
  Inputs inputs;
  inputs.dims = dims;
  const auto binding = Bind(*kernel, inputs, /*partial=*/true, found);
  INFO(Render(found, *source));
  REQUIRE(binding);
  return ToleranceOf(*binding, kernel->refs[static_cast<size_t>(kernel->FindRef("o"))]);
}

TEST_CASE("a sum allows for the roundings of its elements; a copy the last one only") {
  const Tolerance copy = Of("inputs: {x: \"f32[n]\"}\noutputs: {o: \"f32[n]\"}\nbody: o = x\n", {});
  CHECK(copy.relative == 0x1p-22);
  CHECK(copy.magnitude == 0);
  const Tolerance sum =
      Of("inputs: {x: \"f32[m, n]\"}\noutputs: {o: \"f32[m]\"}\nbody: o = sum(x, axis=1)\n",
         {{"m", 3}, {"n", 1000}});
  CHECK(sum.magnitude == 8 * std::sqrt(1001.0) * 0x1p-23);
}

TEST_CASE("steps that revisit a block add up; what passes through bf16 shows") {
  const Tolerance dot =
      Of("grid: {i: 4, l: 8}\ndimension_semantics: parallel, arbitrary\n"
         "inputs:\n"
         "  x: {array: \"bf16[64, 128]\", block: \"16, 16\", index: \"i, l\"}\n"
         "  y: {array: \"bf16[128, 32]\", block: \"16, 32\", index: \"l, 0\"}\n"
         "outputs:\n  o: {array: \"f32[64, 32]\", block: \"16, 32\", index: \"i, 0\"}\n"
         "body: |\n  when first(l):\n    o = 0\n  o += dot(x, y)\n",
         {});
  CHECK(dot.magnitude == 8 * std::sqrt(8 * 18.0) * 0x1p-23);
  const Tolerance coarse =
      Of("inputs: {x: \"f32[n]\"}\noutputs: {o: \"f32[n]\"}\nbody: o = f32(bf16(x)) * 2\n", {});
  CHECK(coarse.magnitude == 2 * 0x1p-7 + 0x1p-23);
}

TEST_CASE("integers are exact unless they come of floats") {
  const Tolerance exact =
      Of("inputs: {x: \"i32[n]\"}\noutputs: {o: \"i32[n]\"}\nbody: o = x * 3\n", {});
  CHECK((exact.absolute == 0 && exact.relative == 0 && exact.magnitude == 0));
  const Tolerance rounded =
      Of("inputs: {x: \"f32[n]\"}\noutputs: {o: \"i8[n]\"}\nbody: o = i8(round(x * 9))\n", {});
  CHECK(rounded.absolute == 1);
}

TEST_CASE("the worst element is named") {
  const Array want = Floats({2, 3}, {1, -4, 2, 0, INFINITY, NAN});
  CHECK(Compare(want, want, {}).elements == 0);
  CHECK(Compare(want, want, {}).worst == 0);
  const Array near = Floats({2, 3}, {1.25, -4, 2, 0.25, INFINITY, NAN});
  CHECK(Compare(near, want, {0, 0.0625, 0}).elements == 0);  // of 4
  CHECK(Compare(near, want, {0, 0.0625, 0}).worst == 0.25);
  const Difference relative = Compare(near, want, {0.5, 0, 0});
  CHECK(relative.elements == 1);
  CHECK(relative.where == "[1, 0]");
  CHECK(relative.description ==
        "1 of 6 elements differ; the worst is [1, 0]: 0.25 instead of 0, and 0 is allowed");
}

TEST_CASE("NaN, infinities, types and shapes have to be the same") {
  const Array want = Floats({3}, {1, INFINITY, NAN});
  const Tolerance lax{1, 1, 1};
  CHECK(Compare(Floats({3}, {1, INFINITY, 1}), want, lax).elements == 1);
  CHECK(Compare(Floats({3}, {1, -INFINITY, NAN}), want, lax).elements == 1);
  CHECK(Compare(Floats({3}, {NAN, INFINITY, NAN}), want, lax).elements == 1);
  CHECK(Compare(Floats({1}, {1}), want, lax).description == "f32[1] instead of f32[3]");
  CHECK(Compare(Ints({2}, {4, 5}), Ints({2}, {4, 6}), {0, 0, 1}).elements == 0);
  CHECK(Compare(Ints({2}, {4, 5}), Ints({2}, {4, 6}), {}).elements == 1);
}

}  // namespace
}  // namespace kiln
