// How exact what is rounded next has to be.
#include "tests/render/texts_of.h"

namespace kiln::render {
namespace {

/// The text of a kernel that stores z, of such a type.
std::string TextOf(const std::string& type, const std::string& value) {
  const std::string text =
      "kernel: noted\ninputs: {x: \"f32[m, n]\", y: \"f32[m, n]\"}\noutputs: {z: \"" + type +
      "[m, n]\"}\nbody: |\n  z = " + value + "\n";
  return TextsOf(text, "noted.yaml").source;
}

/// What is stored.
std::string StoreOf(const std::string& type, const std::string& value) {
  const std::string text = TextOf(type, value);
  const size_t begin = text.find("at.Store("), end = text.find(", z.At(", begin);
  REQUIRE(end != std::string::npos);
  return text.substr(begin + 9, end - begin - 9);
}
std::string ForBf16(const std::string& value) { return StoreOf("bf16", "bf16(" + value + ")"); }

TEST_CASE("what is rounded to bf16 next is as exact as that takes") {
  CHECK(ForBf16("exp(x)") == "ExpForBf16(x_0)");
  CHECK(StoreOf("f16", "f16(exp(x))") == "Exp(x_0)");
  CHECK(StoreOf("f32", "exp(x)") == "Exp(x_0)");
}

TEST_CASE("so is what it is a product or a quotient of, or is chosen from") {
  CHECK(ForBf16("silu(x) * y") == "hn::Mul(SiluForBf16(x_0), y_0)");
  CHECK(ForBf16("y * (tanh(x) * y)") == "hn::Mul(y_0, hn::Mul(TanhForBf16(x_0), y_0))");
  CHECK(ForBf16("y / sigmoid(x)") == "hn::Div(y_0, SigmoidForBf16(x_0))");
  CHECK(ForBf16("exp(x) / 3.0") == "DivideByForBf16(ExpForBf16(x_0), 3.0f)");
  CHECK(ForBf16("where(x > y, gelu_tanh(x), y)") ==
        "Select(Gt(x_0, y_0), GeluTanhForBf16(x_0), y_0)");
}

TEST_CASE("what is added to, or goes into another function, is as exact as ever") {
  CHECK(ForBf16("exp(x) - y") == "hn::Sub(Exp(x_0), y_0)");
  CHECK(ForBf16("y * (1.0 - sigmoid(x))") == "hn::Mul(y_0, hn::Sub(at.Splat(1.0f), Sigmoid(x_0)))");
  CHECK(ForBf16("tanh(exp(x))") == "TanhForBf16(Exp(x_0))");
  CHECK(ForBf16("x / 3.0 - y") == "hn::Sub(DivideBy(x_0, 3.0f), y_0)");
}

TEST_CASE("what is rounded to an integer is converted by its rounding, where it is a small one") {
  CHECK(StoreOf("i8", "i8(round(x * y))") == "CastNearest<int8_t>(hn::Mul(x_0, y_0))");
  CHECK(StoreOf("u16", "u16(round(x))") == "CastNearest<uint16_t>(x_0)");
  CHECK(StoreOf("i8", "i8(x)") == "Cast<float, int8_t>(x_0)");
  CHECK(StoreOf("i32", "i32(round(x))") == "Cast<float, int32_t>(RoundEven(x_0))");
}

TEST_CASE("the largest size is found by bits") {
  const std::string rows = "max(abs(x), axis=1, keep=true)";
  CHECK(TextOf("f32", "x / " + rows).find("= MaxAbsLanes<float>(") != std::string::npos);
  CHECK(TextOf("f32", "x / max(x, axis=1, keep=true)").find("MaxAbs") == std::string::npos);
}

}  // namespace
}  // namespace kiln::render
