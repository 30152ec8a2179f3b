// How values of lanes are written.
#include "tests/render/texts_of.h"

namespace kiln::render {
namespace {

bool Writes(const std::string& value, const std::string& text) {
  const std::string spec =
      "kernel: noted\ninputs: {x: \"i32[m, n]\", c: \"u8[m, n]\", k: \"i32[8]\", t: \"i32[200]\", "
      "far: \"i32[300]\", rows: \"i32[4, 9]\"}\noutputs: {z: \"i32[m, n]\"}\nbody: |\n  z = " +
      value + "\n";
  const std::string source = TextsOf(spec, "noted.yaml").source;
  INFO(source);
  return source.find(text) != std::string::npos;
}

TEST_CASE("lanes that are shifted by as much are shifted at once") {
  CHECK(Writes("x << 3", "Shl(x_0, 3)"));
  CHECK(Writes("x >> k[2]", "Shr(x_0, LoadOne(k.At(2)))"));
  CHECK(Writes("x << (x & 7)", "Shl(x_0, BitAnd(x_0, at.Splat(7)))"));
}

TEST_CASE("a short table is looked up as one") {
  CHECK(Writes("take(t, x % 200, axis=0)", ", Entries<200>())"));
  CHECK(Writes("take(rows[1], x % 9, axis=0)", ", Entries<9>())"));
  CHECK(!Writes("take(far, i32(c), axis=0)", "Entries"));
  CHECK(Writes("take(far, i32(c), axis=0)", "at.Gather("));
}

}  // namespace
}  // namespace kiln::render
