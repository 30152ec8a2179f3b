// Which neighbouring dimensions of tiles are one, since no statement tells them apart.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// Images x and y, [c, h, w], and g, of each channel one.
std::string OfChannels(const std::string& body, const std::string& more = "",
                       const std::string& block = "null, all, all, all") {
  const auto image = [&](const std::string& name) {
    return "  " + name + ": {array: \"f32[n, c, h, w]\", block: \"" + block +
           "\", index: \"b, 0, 0, 0\"}\n";
  };
  return "kernel: k\ngrid: {b: n}\ninputs:\n" + image("x") + "  g: f32[c]\noutputs:\n" +
         image("y") + more + "body: |\n" + body;
}

/// What the plan says of an operand's dimensions.
std::string AsOneIn(const std::string& text, const std::string& operand = "x") {
  const std::string plan = ToString(*PlanOf(text).plan);
  const size_t line = plan.find("operand " + operand + ":");
  const std::string of = plan.substr(line, plan.find('\n', line) - line);
  const size_t at = of.find("dimension");
  return at == std::string::npos ? "" : of.substr(at);
}

constexpr const char* kRowsAndColumns = "dimensions 2 and 3 as one";

TEST_CASE("Rows and columns of a channel are one where channels are scaled, or summed up") {
  const std::string scaled = OfChannels("  y = x * reshape(g, [c, 1, 1])\n");
  CHECK(AsOneIn(scaled) == kRowsAndColumns);
  CHECK(AsOneIn(scaled, "y") == kRowsAndColumns);
  CHECK(AsOneIn(scaled, "g") == "");
  CHECK(AsOneIn(OfChannels("  y = x - mean(x, axis=[1, 2], keep=true)\n")) == kRowsAndColumns);
  CHECK(AsOneIn(OfChannels("  y = expand(expand(max(x, axis=[1, 2]), 1), 2) + x\n")) ==
        kRowsAndColumns);
  CHECK(AsOneIn(OfChannels("  let s = cumsum(x, axis=0)\n  y = where(s > 0, s, g[0])\n")) ==
        kRowsAndColumns);
  CHECK(AsOneIn(OfChannels("  y = concat([x[ds(1, c - 1)], x[ds(0, 1)]], axis=0)\n")) ==
        kRowsAndColumns);
  CHECK(AsOneIn(OfChannels("  y = x * f32(expand(argmax(x, axis=0), 0))\n")) == kRowsAndColumns);
  CHECK(AsOneIn(OfChannels("  y = take(x, i32(g), axis=0) * f32(iota([c, h, w], 0))\n")) ==
        kRowsAndColumns);
  CHECK(AsOneIn(OfChannels("  let s, at = top_k(x, 2, axis=0)\n"
                           "  y = s[0] + f32(at[1]) * expand(sort(x, axis=0)[c - 1], 0)\n")) ==
        kRowsAndColumns);
  CHECK(AsOneIn(OfChannels("  for i in range(c):\n    y[i] = x[c - 1 - i] * 2\n")) ==
        kRowsAndColumns);
  CHECK(AsOneIn(OfChannels("  y = transpose(transpose(x, [1, 2, 0]) + g, [2, 0, 1])\n")) ==
        kRowsAndColumns);
}

TEST_CASE("All dimensions are one where none is told apart, in lets, vars and scratch, too") {
  CHECK(AsOneIn(OfChannels("  y = x * 2\n")) == "dimensions 1 to 3 as one");
  CHECK(AsOneIn(OfChannels("  y = x - mean(reshape(x, [c * h * w]))\n")) ==
        "dimensions 1 to 3 as one");
  const std::string kept =
      OfChannels("  let a = x + 1\n  var v: f32[c, h, w] = a\n  s = v * a\n  v += s\n  y = v\n",
                 "scratch: {s: \"f32[c, h, w]\"}\n");
  CHECK(AsOneIn(kept) == "dimensions 1 to 3 as one");
  CHECK(Has(ToString(*PlanOf(kept).plan), "f32[c*h*w]"));
}

TEST_CASE("What is side by side in rows of images is so in all of their pixels") {
  CHECK(AsOneIn(OfChannels("  y = x\n  y[:, ds(2, h - 2)] += x[:, ds(0, h - 2)]\n")) ==
        kRowsAndColumns);
  CHECK(AsOneIn(OfChannels("  y[ds(1, c - 1)] = max(x[ds(0, c - 1)], x[ds(1, c - 1)])\n"
                           "  y[ds(0, 1)] = x[ds(0, 1)]\n")) == kRowsAndColumns);
  const std::string both =
      "kernel: k\ngrid: {b: n}\ninputs:\n"
      "  x: {array: \"f32[n, c, h, w]\", block: \"null, all, all, all\", index: \"b, 0, 0, 0\"}\n"
      "outputs:\n  y: {array: \"f32[n, 2 * c, h, w]\", block: \"null, all, all, all\", "
      "index: \"b, 0, 0, 0\"}\nbody: |\n  y = concat([x, x * 2], axis=0)\n";
  CHECK(AsOneIn(both) == "dimensions 1 to 3 as one");
  CHECK(AsOneIn(both, "y") == "dimensions 1 to 3 as one");
  // Not where a call says where they are, or whether they are in range.
  CHECK(AsOneIn(OfChannels("  y = 0\n  y[:, ds(i32(g[0]), 2)] = x[:, ds(0, 2)]\n")) !=
        kRowsAndColumns);
  CHECK(AsOneIn(OfChannels("  y = 0\n  y[:, ds(c, 2)] = x[:, ds(0, 2)]\n")) != kRowsAndColumns);
}

TEST_CASE("Channels in groups are rows whose columns are one") {
  const std::string group_norm = OfChannels(
      "  let v = reshape(x, [8, c // 8, h, w])\n"
      "  let m = mean(v, axis=[1, 2, 3], keep=true)\n"
      "  y = reshape(v - m, [c, h, w]) * reshape(g, [c, 1, 1])\n",
      "require: [c % 8 == 0]\n");
  CHECK(AsOneIn(group_norm) == kRowsAndColumns);
  CHECK(!Has(ToString(*PlanOf(group_norm).plan), "[c, h, w]"));  // no image is copied
}

TEST_CASE("A dimension of parts of channels and of their rows and columns is divided") {
  const auto of_groups = [](const std::string& body, const std::string& require) {
    return OfChannels("  let v = reshape(x, [8, c // 8 * h * w])\n" + body, require);
  };
  const std::string norm =
      "  let m = mean(v, axis=1, keep=true)\n"
      "  let q = mean((v - m) ** 2, axis=1, keep=true)\n"
      "  y = reshape((v - m) * rsqrt(q), [c, h, w]) * reshape(g, [c, 1, 1])\n";
  const std::string even = "require: [c % 8 == 0]\n";
  CHECK(AsOneIn(of_groups(norm, even)) == kRowsAndColumns);
  const auto keeps_groups = [&](const std::string& body, const std::string& require) {
    return Has(ToString(*PlanOf(of_groups(body, require)).plan), "(c // 8)*h*w]");
  };
  CHECK(!keeps_groups(norm, even));
  // Not where groups may have a part of a channel, nor where more than sums looks at all of it.
  CHECK(keeps_groups(norm, ""));
  CHECK(keeps_groups("  y = reshape(cumsum(v, axis=1), [c, h, w])\n", even));
  CHECK(keeps_groups("  y = reshape(v - v[:, ds(0, 1)], [c, h, w])\n", even));
  CHECK(keeps_groups("  y = x * f32(max(argmax(v, axis=1)))\n", even));
  CHECK(
      keeps_groups("  var u: f32[8, c // 8 * h * w] = v\n  u[:, ds(0, 2)] = 0\n"
                   "  y = reshape(u, [c, h, w])\n",
                   even));
}

TEST_CASE("Dimensions that a statement tells apart stay") {
  for (const char* const body : {
           "  y = x + x[:, :, ds(0, 1)]\n",
           "  y = x * sum(x, axis=2, keep=true)\n",
           "  y = x + f32(iota([h, w], 1))\n",
           "  y = roll(x, 1, axis=2)\n",
           "  y = flip(x, 1)\n",
           "  y = cumsum(x, axis=1)\n",
           "  y = x + reshape(g[ds(0, 4)], [4, 1])[0]\n  y[0, 1] = x[0, 1]\n",
           "  y = where(inside(x), x, 0)\n",
           "  y = x\n  y[0, 0, 0] = 1\n",
           "  y = x\n  y[:, :, ds(1, w - 2)] = x[:, :, ds(1, w - 2)] * 2\n",
           "  y = x * x[0]\n  assert x[0, 0, 0] > 0, \"no\"\n",
           "  y = reshape(transpose(x, [0, 2, 1]), [c, h, w])\n",
           "  y = sort(x, axis=2)\n",
           "  y = take(x, i32(g), axis=1)[:, ds(0, h)]\n",
           "  y = concat([x[:, ds(1, h - 1)], x[:, ds(0, 1)]], axis=1)\n",
           "  y = x * f32(expand(argmax(x, axis=2), 2))\n",
       }) {
    CAPTURE(body);
    CHECK(AsOneIn(OfChannels(body)) != kRowsAndColumns);
    CHECK(AsOneIn(OfChannels(body)) != "dimensions 1 to 3 as one");
  }
  // A dimension of which blocks have a part, and a matrix, which may be a part of a wider one.
  CHECK(AsOneIn(OfChannels("  y = x * 2\n", "", "null, all, 4, all")) == "");
  CHECK(AsOneIn(OfChannels("  y = x * 2\n", "", "null, 4, all, all")) == kRowsAndColumns);
  CHECK(AsOneIn("kernel: k\ninputs: {x: \"f32[m, n]\"}\noutputs: {y: \"f32[m, n]\"}\nbody: |\n"
                "  y = x * 2\n") == "");
}

}  // namespace
}  // namespace kiln
