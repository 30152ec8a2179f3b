#include "generator/render/view/mentions.h"

#include "tests/catch.h"

namespace kiln::render {
namespace {

TEST_CASE("a text mentions whole words") {
  CHECK(Mentions("x", "x"));
  CHECK(Mentions("x.At(m_i)", "x"));
  CHECK(Mentions("hn::Add(y,x)", "x"));
  CHECK(!Mentions("x_0 + ax + x1", "x"));
  CHECK(!Mentions("", "x"));
}

TEST_CASE("members, comments and string literals are no mentions") {
  CHECK(!Mentions("call.x", "x"));
  CHECK(!Mentions("a;  // x of a", "x"));
  CHECK(Mentions("a;  // of a\nx;", "x"));
  CHECK(!Mentions(R"(IndexAt(core, "x", at))", "x"));
  CHECK(!Mentions(R"(Fail("\"x"))", "x"));
  CHECK(Mentions(R"(Fail("\"", x))", "x"));
}

TEST_CASE("fields mention what any text in them does, however deep") {
  Fields stage;
  stage.Set("text", "z = x;");
  Fields loop;
  loop.Set("index", "m_i").SetFlag("is_loop", true).SetList("body", {stage});
  CHECK(Mentions({loop}, "x"));
  CHECK(Mentions({loop}, "m_i"));
  CHECK(!Mentions({loop}, "body"));
  CHECK(!Mentions(std::vector<Fields>(), "x"));
}

}  // namespace
}  // namespace kiln::render
