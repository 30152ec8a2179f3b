// Which operands a body sees with neighbouring dimensions as one.
#include "generator/planner/rewrite/joined_shapes.h"
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// Blocks of 4 rows of images x and r, and of the image y of products with f. `block`: those of x.
std::string OfImages(const std::string& body, const std::string& block = "null, 4, all, all",
                     const std::string& index = "b, i, 0, 0", const std::string& type = "f32") {
  const auto image = [&](const std::string& name, const std::string& channels,
                         const std::string& cut) {
    return "  " + name + ":\n    array: " + type + "[images, h, w, " + channels +
           "]\n    block: " + cut + "\n    index: " + index + "\n";
  };
  return "kernel: k\ngrid: {b: images, i: \"cdiv(h, 4)\"}\ninputs:\n" + image("x", "c", block) +
         image("r", "o", "null, 4, all, all") + "  f: " + type + "[c, o]\noutputs:\n" +
         image("y", "o", "null, 4, all, all") + "body: |\n" + body;
}

/// The operands in whose blocks two dimensions are one.
std::string JoinedIn(const std::string& text) {
  const Planned planned = PlanOf(text);
  std::string names;
  for (const Ref& ref : planned.plan->kernel->refs)
    if (!ref.joined.empty()) names += (names.empty() ? "" : " ") + ref.name;
  return names;
}

constexpr const char* kProduct = "  y = reshape(dot(reshape(x, [4 * w, c]), f), [4, w, o])\n";

TEST_CASE("Pixels that a body sees as rows of a matrix are rows of a matrix") {
  CHECK(JoinedIn(OfImages(kProduct)) == "x y");
  const Planned planned = PlanOf(OfImages(kProduct));
  const std::string plan = ToString(*planned.plan);
  INFO(plan);
  CHECK(Has(plan,
            "operand x: packed as A (only dots read it: its copy packs it), dimensions 1 and "
            "2 as one"));
  CHECK(!Has(plan, "value "));  // nothing is copied
}

TEST_CASE("So are those that go into it, or are made of it, element by element") {
  CHECK(JoinedIn(OfImages("  let p = dot(reshape(x * 2, [4 * w, c]), f)\n"
                          "  let sum = reshape(p, [4, w, o]) + r\n"
                          "  y = where(sum > 0, sum, 0)\n")) == "x r y");
  CHECK(JoinedIn(OfImages("  var sum: f32[4, w, o] = 0\n"
                          "  for n in range(0, 2):\n"
                          "    sum += reshape(dot(reshape(x, [4 * w, c]), f), [4, w, o])\n"
                          "  y = sum\n")) == "x y");
  // One value of each pixel, and one of each channel.
  CHECK(JoinedIn(OfImages("  let p = reshape(dot(reshape(x, [4 * w, c]), f), [4, w, o])\n"
                          "  y = p * broadcast(r[:, :, ds(0, 1)], [4, w, o])\n")) == "x y");
  CHECK(JoinedIn(OfImages("  let p = reshape(dot(reshape(x, [4 * w, c]), f), [4, w, o])\n"
                          "  y = p + f[0] + 1\n")) == "x y");
}

TEST_CASE("A dimension of one element in front may be left out") {
  const std::string one = "1, 4, all, all";
  CHECK(JoinedIn(OfImages("  y = reshape(dot(reshape(x[0], [4 * w, c]), f), [4, w, o])\n", one)) ==
        "x y");
  CHECK(JoinedIn(OfImages("  y = reshape(dot(reshape(x, [4 * w, c]), f), [4, w, o])\n", one)) ==
        "x y");
}

/// Groups of channels of whole images x: `body` has v, [h * w, 32, channels of a group].
std::string OfGroups(const std::string& body, const std::string& channels = "256",
                     const std::string& require = "") {
  const std::string image = ": {array: \"f32[n, h, w, " + channels +
                            "]\", block: \"null, all, all, all\", index: \"b, 0, 0, 0\"}\n";
  const std::string group = channels == "256" ? "8" : channels + " // 32";
  return "kernel: k\ngrid: {b: n}\n" + require + "inputs:\n  x" + image + "outputs:\n  y" + image +
         "body: |\n  let v = reshape(x, [h * w, 32, " + group + "])\n" + body;
}

constexpr const char* kGroupNorm =
    "  let m = mean(v, axis=[0, 2], keep=true)\n"
    "  let q = mean((v - m) ** 2, axis=[0, 2], keep=true)\n"
    "  y = reshape((v - m) * rsqrt(q + 1e-5), [h, w, 256])\n";

TEST_CASE("Channels of groups stay lanes of a pixel, of which each group has a few") {
  const std::string groups = OfGroups(kGroupNorm);
  CHECK(JoinedIn(groups) == "x y");
  const std::string plan = ToString(*PlanOf(groups).plan);
  INFO(plan);
  CHECK(!Has(plan, "f32[h*w, 32, 8]"));  // no image is copied
  CHECK(Has(plan, "some rows at a time"));
  // So they do in an array of pixels, of which nothing becomes one.
  const std::string pixels = ToString(
      *PlanOf("kernel: k\ninputs: {x: \"f32[n, 256]\"}\noutputs: {y: \"f32[n, 256]\"}\nbody: |\n"
              "  let v = reshape(x, [n, 32, 8])\n"
              "  y = reshape(v - mean(v, axis=[0, 2], keep=true), [n, 256])\n")
           .plan);
  INFO(pixels);
  CHECK(!Has(pixels, "f32[n, 32, 8]"));
  // A fold over channels of a group alone sees the group, but not pixels.
  CHECK(JoinedIn(OfGroups("  y = reshape(v - sum(v, axis=2, keep=true), [h, w, 256])\n")) == "x y");
}

TEST_CASE("What groups have of each channel is copied, and no image beside it") {
  const std::string plan =
      ToString(*PlanOf("kernel: k\nrequire: [c % 32 == 0]\ninputs:\n  x: f32[h, w, c]\n"
                       "  gain: f32[32, c // 32]\noutputs: {y: \"f32[h, w, c]\"}\nbody: |\n"
                       "  let v = reshape(x, [h * w, 32, c // 32])\n"
                       "  let n = v - mean(v, axis=[0, 2], keep=true)\n"
                       "  y = reshape(n * gain, [h, w, c])\n")
                    .plan);
  INFO(plan);
  CHECK(Has(plan, "operand x: rows (read element by element), dimensions 0 and 1 as one"));
  CHECK(Has(plan, "operand y: rows, dimensions 0 and 1 as one"));
  CHECK(!Has(plan, "f32[h*w, 32, c // 32]"));
}

TEST_CASE("Groups have all channels where every call checks that") {
  const auto copies_image = [](const std::string& channels, const std::string& more) {
    const std::string body = "  y = reshape(v - sum(v, axis=[0, 2], keep=true), [h, w, c])\n";
    return Has(ToString(*PlanOf(OfGroups(body, channels, more)).plan), "f32[h*w, 32, c // 32]");
  };
  CHECK(copies_image("c", ""));
  CHECK(!copies_image("c", "require: [c % 32 == 0]\n"));
  CHECK(!copies_image("c", "require: [n > 1 and c % 64 == 0]\n"));
  CHECK(copies_image("c", "require: [c % 16 == 0]\n"));
  CHECK(copies_image("c", "require: [n % 32 == 0, c % 32 == 1]\n"));
  CHECK(!copies_image("c", "dims: {c: {multiple_of: 32}}\n"));
}

TEST_CASE("Scratch has the dimensions in which it is added up") {
  const std::string text =
      "kernel: k\ngrid: {i: \"cdiv(h, 4)\", l: \"cdiv(c, 8)\"}\n"
      "dimension_semantics: [parallel, arbitrary]\ninputs:\n"
      "  x: {array: \"f32[h, w, c]\", block: \"4, all, 8\", index: \"i, 0, l\", pad: 0}\n"
      "  f: {array: \"f32[c, 16]\", block: \"8, all\", index: \"l, 0\", pad: 0}\noutputs:\n"
      "  y: {array: \"f32[h, w, 16]\", block: \"4, all, all\", index: \"i, 0, 0\"}\nscratch:\n"
      "  sums: f32[4, w, 16]\nbody: |\n  when first(l):\n    sums = 0\n"
      "  sums += reshape(dot(reshape(x, [4 * w, 8]), f), [4, w, 16])\n"
      "  when last(l):\n    y = sums\n";
  CHECK(JoinedIn(text) == "x y");
  const std::string plan = ToString(*PlanOf(text).plan);
  CHECK(Has(plan, "scratch sums: register tiles, since only dots touch it"));
}

TEST_CASE("An operand keeps its dimensions where a body sees them") {
  const std::string product = kProduct;
  CHECK(JoinedIn(OfImages(product + "  assert x[0, 0, 0] >= 0, \"no\"\n")) == "y");
  CHECK(JoinedIn(OfImages(product + "  assert any(inside(x)), \"no\"\n")) == "y");
  CHECK(JoinedIn(OfImages("  let v = where(inside(x), x, 0)\n"
                          "  y = reshape(dot(reshape(v, [4 * w, c]), f), [4, w, o])\n")) == "y");
  CHECK(JoinedIn(OfImages("  let p = reshape(dot(reshape(x, [4 * w, c]), f), [4, w, o])\n"
                          "  y = p\n"
                          "  y[0] = p[0] * 2\n")) == "x");
  CHECK(JoinedIn(OfImages("  let p = reshape(dot(reshape(x, [4 * w, c]), f), [4, w, o])\n"
                          "  y = p + sum(p, axis=1, keep=true)\n")) == "x");
  CHECK(JoinedIn(OfImages("  y = reshape(dot(reshape(x, [4 * w, c]), f), [4, w, o])\n"
                          "  y = y + f32(iota([4, w, o], axis=1))\n")) == "x");
}

TEST_CASE("Elements of blocks have to be where one stride finds them") {
  const auto x = [](const std::string& array, const std::string& block, const std::string& index,
                    const std::string& value) {
    return JoinedIn(
        "kernel: k\ngrid: {i: \"cdiv(h, 4)\"}\ninputs:\n  x: {array: \"" + array + "\", block: \"" +
        block + "\", index: \"" + index +
        "\"}\noutputs:\n  y: {array: \"f32[h, 1]\", block: \"4, all\", index: \"i, 0\", "
        "init: 0}\nbody: |\n  let m = " +
        value + "\n  y = f32(sum(m) > 0)\n");
  };
  const std::string rows = "reshape(x, [4 * 8, 6])";
  CHECK(x("f32[h, 8, 6]", "4, all, all", "i, 0, 0", rows) == "x");
  CHECK(x("f32[h, 8, 6]", "4, 8, all", "i, 0, 0", rows) == "x");
  CHECK(x("f32[h, w, 6]", "4, 8, all", "i, 0, 0", rows) == "");
  CHECK(x("f32[h, n, 8, 6]", "4, null, all, all", "i, 0, 0, 0", rows) == "");
  CHECK(x("f32[n, h, 8, 6]", "null, 4, all, all", "0, i, 0, 0", rows) == "x");
  CHECK(x("f32[h, 8, 6]", "4, all, all", "i, 0, 0", "reshape(x, [4, 8 * 6])") == "x");
  CHECK(x("f32[h, 8, 6]", "4, all, all", "i, 0, 0", "reshape(x, [4 * 8 * 6])") == "x");
  CHECK(x("f32[h, 8, w]", "4, all, 6", "i, 0, 0", "reshape(x, [4, 8 * 6])") == "");
  // Elements with halves of bytes, and blocks whose ends a call decides.
  CHECK(x("i4[h, 8, 6]", "4, all, all", "i, 0, 0", "i32(" + rows + ")") == "");
  CHECK(x("f32[h, 8, 6]", "bounded(4), all, all", "ds(i, 2), 0, 0", rows) == "");
  CHECK(x("f32[h, 8, 6]", "element(4, halo=(1, 0)), all, all", "i, 0, 0", rows) == "x");
}

TEST_CASE("Rows of a product that are beyond the array are not computed") {
  const std::string conv =
      "kernel: k\ngrid: {i: \"cdiv(h, 4)\"}\ninputs:\n  x: {array: \"f32[h, w, 8]\", block: "
      "\"element(6, halo=(1, 1)), element(w + 2, halo=(1, 1)), all\", index: \"4 * i, 0, 0\", pad: "
      "0}\n  f: f32[3, 8, 16]\noutputs:\n  y: {array: \"f32[h, w, 16]\", block: \"4, all, all\", "
      "index: \"i, 0, 0\"}\nbody: |\n  var sums: f32[4 * w, 16] = 0\n  for n in range(0, 3):\n"
      "    sums += dot(reshape(x[ds(n, 4), ds(n, w)], [4 * w, 8]), f[n])\n";
  const auto stops = [&](const std::string& rest) {
    const std::string plan = ToString(*PlanOf(conv + rest).plan);
    INFO(plan);
    CHECK(Has(plan, "taps"));
    return Has(plan, "4*w, stops at the edge of y along 0");
  };
  CHECK(stops("  y = reshape(sums, [4, w, 16])\n"));
  CHECK(stops("  y = reshape(max(sums, 0), [4, w, 16])\n"));
  CHECK(!stops("  y = reshape(sums, [4, w, 16]) + max(sums)\n"));
}

TEST_CASE("Shapes with some neighbours as one") {
  const Kernel kernel;
  const auto sizes = [](std::initializer_list<int64_t> extents) {
    return Shape(extents.begin(), extents.end());
  };
  CHECK(Joins(kernel, sizes({2, 3, 5}), sizes({6, 5})));
  CHECK(Joins(kernel, sizes({2, 3, 5}), sizes({2, 15})));
  CHECK(Joins(kernel, sizes({2, 3, 5}), sizes({30})));
  CHECK(!Joins(kernel, sizes({2, 3, 5}), sizes({10, 3})));
  CHECK(!Joins(kernel, sizes({2, 3, 5}), sizes({2, 3})));
  CHECK(!Joins(kernel, sizes({6, 5}), sizes({2, 3, 5})));
  CHECK(!Joins(kernel, sizes({1, 6, 5}), sizes({6, 5})));
  CHECK(SeenBeside(kernel, sizes({5}), sizes({2, 3, 5}), sizes({6, 5})) == sizes({5}));
  CHECK(SeenBeside(kernel, sizes({2, 3, 1}), sizes({2, 3, 5}), sizes({6, 5})) == sizes({6, 1}));
  CHECK(SeenBeside(kernel, sizes({1, 1, 5}), sizes({2, 3, 5}), sizes({6, 5})) == sizes({1, 5}));
  CHECK(SeenBeside(kernel, {}, sizes({2, 3, 5}), sizes({6, 5})) == Shape());
  CHECK(!SeenBeside(kernel, sizes({3, 5}), sizes({2, 3, 5}), sizes({6, 5})));
  CHECK(!SeenBeside(kernel, sizes({2, 1, 5}), sizes({2, 3, 5}), sizes({6, 5})));
}

}  // namespace
}  // namespace kiln
