// What is a view of an input and what is a copy, which dots become taps, and which loops are
// written out.
#include "generator/plan/walk.h"
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// A body that has x and w as inputs, o as output and s as scratch.
std::string With(const std::string& body, const std::string& type = "f32",
                 const std::string& alias = "") {
  const std::string sums = type == "i8" ? "i32" : type == "f64" ? "f64" : "f32";
  return "kernel: k\nprefetch: {at: \"i32[1]\"}\ninputs:\n  x: " + type + "[34, 8]\n  w: " + type +
         "[3, 8, 16]\n  z: " + type + "[32, 8]\noutputs:\n  o: " + sums +
         "[32, 16]\n  y: {array: \"" + type + "[32, 8]\"" + alias + "}\nscratch: {s: \"" + type +
         "[32, 8]\"}\nbody: |\n" + body;
}

/// Whether what `let` gives to `name` has a buffer of its own.
bool IsCopied(const std::string& body, const std::string& name, const std::string& alias = "") {
  const Planned planned = PlanOf(With(body, "f32", alias));
  bool copied = false;
  for (const BufferId buffer : UsedBuffers(*planned.plan))
    copied = copied || (*planned.plan)[buffer].name == name;
  return copied;
}

int64_t MostTaps(const std::string& text) {
  const Planned planned = PlanOf(text);
  int64_t most = 0;
  for (const BodyPlan& body : planned.plan->bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      if (const auto* dot = As<stage::Dot>(stage)) most = std::max(most, dot->tap_count);
    });
  }
  return most;
}

/// How a plan of products of `sides` takes the left operand.
std::string TakenBy(const std::string& type, const std::string& sides) {
  const Planned planned = PlanOf("kernel: k\ninputs:\n  x: " + type + "[9, " + sides +
                                 "]\n  y: " + type + "[9, " + sides + "]\noutputs: {o: \"" + type +
                                 "[9, " + sides + "]\"}\nbody: |\n  o = " + type + "(dot(x, y))\n");
  const std::string text = ToString(*planned.plan);
  const size_t end = text.find("panels#0 from");
  REQUIRE(end != std::string::npos);
  const size_t begin = text.rfind("    ", end) + 4;
  return text.substr(begin, end - begin);
}

TEST_CASE("small matrices of inputs are multiplied where they are") {
  CHECK(TakenBy("f32", "16, 16") == "take ");
  CHECK(TakenBy("bf16", "16, 16") == "take ");
  CHECK(TakenBy("f32", "m, m") == "pack, unless small, ");
  CHECK(TakenBy("bf16", "m, m") == "pack, unless small, ");
  CHECK(TakenBy("f32", "65, 65") == "pack ");
  CHECK(TakenBy("i8", "16, 16") == "pack ");
}

int Loops(const std::string& body) {
  const Planned planned = PlanOf(With(body));
  int loops = 0;
  for (const BodyPlan& each : planned.plan->bodies)
    ForEachStage(each.stages, [&](const Stage& stage) { loops += Is<stage::For>(stage); });
  return loops;
}

// Each is read twice, once at another place, so that no copy of it could stay in registers.
const std::string kRead = "  y = part[0:32] + part[ds(1, 32)]\n  o = 0\n";

TEST_CASE("a window of an input is a view of it, whatever its shape") {
  CHECK_FALSE(IsCopied("  let part = x[:, :]\n" + kRead, "part"));
  CHECK_FALSE(
      IsCopied("  let part = reshape(x, [17, 2, 8])[:, 1]\n  y[0:16] = part[1:]\n  y[16:] = "
               "part[0:16]\n  o = 0\n",
               "part"));
  CHECK_FALSE(IsCopied("  let part = x[ds(at[0], 33)]\n" + kRead, "part"));
  CHECK_FALSE(IsCopied("  let n = at[0] + 1\n  let part = x[ds(n, 33)]\n" + kRead, "part"));
}

TEST_CASE("short lines are seen in what they are parts of, so that vectors run across them") {
  CHECK_FALSE(IsCopied(
      "  let part = reshape(x, [34, 4, 2])\n  y[:, 0:4] = part[0:32, :, 0] * part[2:, :, 1]\n"
      "  y[:, 4:8] = 0\n  o = 0\n",
      "part"));
  const auto extents = [](const std::string& shape) {
    const Planned planned =
        PlanOf(With("  var v = reshape(x, [17, 16]) * 2.0\n  for t in range(3):\n"
                    "    let part = reshape(v, " +
                    shape +
                    ")\n    v = concat([part[:, :, 1], part[:, :, 0]], axis=1)\n"
                    "  y = reshape(v, [34, 8])[0:32]\n  o = 0\n"));
    for (const BufferId buffer : UsedBuffers(*planned.plan))
      if ((*planned.plan)[buffer].name == "part") return (*planned.plan)[buffer].extents.size();
    return size_t{0};
  };
  CHECK(extents("[17, 8, 2]") == 2);
}

TEST_CASE("rolled lines are read by vectors") {
  const auto by_lanes = [](const std::string& to, const std::string& value) {
    const Planned planned = PlanOf(With("  " + to + " = " + value + "\n  o = 0\n"));
    bool lanes = false;
    for (const BodyPlan& body : planned.plan->bodies) {
      ForEachStage(body.stages, [&](const Stage& stage) {
        const auto* loop = As<stage::Lanes>(stage);
        const auto* store = loop ? As<stage::Store>(loop->body.front()) : nullptr;
        lanes = lanes || (store && (*planned.plan)[store->place.buffer].name == "y");
      });
    }
    return lanes;
  };
  CHECK(by_lanes("y", "roll(z, 3, axis=1) + z"));
  CHECK(by_lanes("y", "roll(z, at[0], axis=1) + z"));
  // Every other element of a rolled line is no vector of it, but one of its copy.
  CHECK(by_lanes("y[:, 0:4]", "roll(z, 3, axis=1)[:, 0:8:2] + z[:, 0:4]"));
}

TEST_CASE("what may change after it was read is copied") {
  const std::string of_scratch = "  s = z\n  let part = s[0:32]\n  s = z + 1\n  y = part + s\n";
  CHECK(IsCopied(of_scratch + "  y[0:16] = part[16:]\n  o = 0\n", "part"));
  const std::string of_alias =
      "  let part = z[0:32]\n  y = part + 1\n  y[0:16] = part[16:]\n  o = 0\n";
  CHECK(IsCopied(of_alias, "part", ", alias: z"));
  CHECK_FALSE(IsCopied(of_alias, "part"));
  const std::string from_var = "  var n: i32 = 0\n  let part = x[ds(n, 33)]\n  n = 1\n";
  CHECK(IsCopied(from_var + kRead, "part"));
}

TEST_CASE("a window of scratch is a view of it until a statement behind it writes there") {
  const std::string reads = "  y = part + 1\n  y[0:16] = part[16:]\n  o = 0\n";
  CHECK_FALSE(IsCopied("  s = z\n  let part = s[0:32]\n" + reads, "part"));
  CHECK(IsCopied("  s = z\n  let part = s[0:32]\n" + reads + "  s[0] = z[1]\n", "part"));
  CHECK_FALSE(
      IsCopied("  for i in range(2):\n    s[i] = z[i]\n    let part = s[0:32]\n    y = part + 1\n"
               "    y[0:16] = part[16:]\n  o = 0\n",
               "part"));
  CHECK(
      IsCopied("  let part = s[0:32]\n  for i in range(2):\n    y = part + 1\n"
               "    y[0:16] = part[16:]\n    s[i] = z[i]\n  o = 0\n",
               "part"));
}

TEST_CASE(
    "neighbouring dimensions of scratch are one without a copy where the inner ones are whole") {
  const std::string pages =
      "kernel: k\ninputs: {z: \"f32[32, 8]\", w: \"f32[8, 16]\"}\n"
      "outputs: {o: \"f32[16, 16]\"}\nscratch: {p: \"f32[2, 4, 8, 8]\"}\n"
      "body: |\n  p[:] = 1\n  let part = ";
  const auto shapes_of = [&](const std::string& value) {
    const Planned planned = PlanOf(pages + value + "\n  o = dot(part, w)\n");
    std::vector<bool> in_place;
    for (const BufferId buffer : UsedBuffers(*planned.plan)) {
      if (const BufferId root = (*planned.plan)[buffer].same_as)
        in_place.push_back(bool((*planned.plan)[root].ref));
    }
    return in_place;
  };
  CHECK(shapes_of("reshape(p[1, 2:4], [16, 8])") == std::vector{true});
  CHECK(shapes_of("reshape(p[:, 1], [16, 8])") != std::vector{true});
  CHECK(shapes_of("reshape(p[0, :, 0:4], [16, 8])") != std::vector{true});
}

/// Whether `f`, which is `made` of x, has a buffer in a body of which it is read in `parts`.
bool NeedsMemory(const std::string& made, const std::string& parts) {
  return IsCopied("  o = 0\n  y = 0\n  let f = " + made + "\n  " + parts + "\n", "f");
}

TEST_CASE("a let of which parts are read once is computed where they are read") {
  const std::string parts = "y = f[0:32]\n  o[0, 0:8] = f[32]\n  o[1, 0:8] = f[33]";
  CHECK_FALSE(NeedsMemory("x * 2.0", parts));
  CHECK_FALSE(NeedsMemory("bf16(x) - 1.0", parts));
  CHECK_FALSE(NeedsMemory("x\n  let g = f * f", "y = g[0:32]\n  o[0, 0:8] = g[32]"));
  CHECK_FALSE(NeedsMemory("x * 2.0\n  let g = -f", "y = g[0:32]\n  o[0, 0:8] = g[32]"));
  // Of loops the part moves on from turn to turn.
  CHECK_FALSE(
      NeedsMemory("x * 2.0", "for t in range(at[0]):\n    s[ds(t * 4, 4)] = f[ds(4 * t + 1, 4)]"));
}

TEST_CASE("a let that may be read twice, or takes long, is computed once") {
  CHECK(NeedsMemory("x * 2.0", "y = f[0:32]\n  o[0, 0:8] = f[31]"));
  CHECK(NeedsMemory("x * 2.0", "y = f[0:32]\n  s = f[ds(at[0], 32)]"));
  CHECK(NeedsMemory("x * 2.0", "y = f[0:32]\n  o[0, 0:8] = f[32]\n  o[1, 0] = sum(f)"));
  CHECK(NeedsMemory("x * 2.0", "for t in range(at[0]):\n    s[ds(t * 4, 4)] = f[ds(t * 3, 4)]"));
  CHECK(NeedsMemory("x * 2.0", "for t in range(at[0]):\n    s = f[0:32] + 1.0"));
  CHECK(NeedsMemory("exp(x)", "y = f[0:32]\n  o[0, 0:8] = f[32]"));
  CHECK(NeedsMemory("exp(x)\n  let g = f",
                    "y[0:1] = sum(g[0:2], axis=0, keep=true)\n  y[1:32] = g[2:33]"));
  // What is read may be another by then.
  const std::string alias = ", alias: z";
  CHECK(IsCopied("  let f = z * 2.0\n  y = f * 2.0\n  o[0, 0:8] = f[0]\n", "f", alias));
  CHECK(IsCopied("  let f = z * 2.0\n  y[0:16] = f[16:32]\n  o[0, 0:8] = f[0]\n", "f", alias));
}

TEST_CASE("a value whose parts are long lines is stored where they are, part by part") {
  const auto needs_memory = [](int64_t line) {
    const std::string heads = std::to_string(line), all = std::to_string(4 * line);
    const Planned planned = PlanOf("kernel: k\ninputs: {x: \"f32[8, 4, " + heads +
                                   "]\", g: \"f32[" + heads + "]\"}\noutputs: {y: \"f32[8, " + all +
                                   "]\"}\nbody: |\n  y = reshape(exp(x) * g, [8, " + all + "])\n");
    return Has(ToString(*planned.plan), "value ");
  };
  CHECK_FALSE(needs_memory(64));
  CHECK_FALSE(needs_memory(33));
  CHECK(needs_memory(12));  // vectors run on along a copy
}

TEST_CASE("a window whose lanes are apart is copied") {
  CHECK(IsCopied(
      "  let part = x[:, 0:8:2]\n  y[:, 0:4] = part[0:32] + part[ds(1, 32)]\n  y[:, 4:] = 0"
      "\n  o = 0\n",
      "part"));
}

const std::string kConvolution =
    "  o = 0\n  for t in range(0, 3):\n    o += dot(x[ds(t, 32)], w[t])\n  y = 0\n";

TEST_CASE("products that add to the same sums turn by turn are taps of one dot") {
  CHECK(MostTaps(With(kConvolution)) == 3);
  for (const char* type : {"f64", "bf16", "i8"}) CHECK(MostTaps(With(kConvolution, type)) == 3);
  CHECK(MostTaps(With("  o = dot(x[0:32], w[0])\n  o += dot(x[2:34], w[1])\n  y = 0\n")) == 2);
  CHECK(MostTaps(With("  o = 0\n  for a in range(0, 3):\n    for b in range(0, 2):\n"
                      "      o += dot(x[ds(a, 32)], w[b])\n  y = 0\n")) == 6);
}

TEST_CASE("elements that become wider are packed, and a single product is too") {
  CHECK(MostTaps(With(kConvolution, "f16")) == 0);
  CHECK(MostTaps(With("  o = dot(x[1:33], w[0])\n  y = 0\n")) == 0);
  CHECK(
      MostTaps(With("  o = 0\n  for t in range(0, 2):\n    o[ds(16 * t, 16)] += dot(x[ds(t, 16)], "
                    "w[t])\n  y = 0\n")) == 0);
  CHECK(
      MostTaps(With("  o = 0\n  for t in range(0, at[0]):\n    o += dot(x[ds(0, 32)], w[t])\n  y = "
                    "0\n")) == 0);
}

TEST_CASE("windows that have as many rows only because a call says so are packed") {
  const auto taps = [](const std::string& width) {
    return MostTaps(
        "kernel: k\nrequire: [w % 2 == 0]\ninputs:\n  x: {array: \"f32[10, w, c]\", block: \"all, "
        "element(w + 2, halo=(1, 1)), all\", index: \"0, 0, 0\", pad: 0}\n  f: f32[3, c, o]\n"
        "outputs:\n  y: f32[8 * w, o]\nbody: |\n  y = 0\n  for k in range(0, 3):\n"
        "    y += dot(reshape(x[ds(k, 8), ds(k, " +
        width + ")], [8 * w, c]), f[k])\n");
  };
  CHECK(taps("w") == 3);
  CHECK(taps("w // 2 * 2") == 0);
}

TEST_CASE("sums that are looked at between products are stored before them") {
  CHECK(MostTaps(With("  o = 0\n  for t in range(0, 3):\n    o = max(o, 0)\n"
                      "    o += dot(x[ds(t, 32)], w[t])\n  y = 0\n")) == 1);
}

enum class Taken { kNo, kSome, kFour };

/// How rows of a sum of windows that begin at these rows are taken; with a `filter`, each is
/// multiplied with a row of its own.
Taken RowsOf(const std::vector<int>& windows, const std::string& type = "f32",
             bool filter = false) {
  std::string sum;
  for (size_t k = 0; k < windows.size(); ++k) {
    sum += (k == 0 ? "" : " + ") + ("f32(x[ds(" + std::to_string(windows[k]) + ", 32)])") +
           (filter ? " * w[" + std::to_string(k) + "]" : "");
  }
  const Planned planned = PlanOf("kernel: k\ninputs:\n  x: " + type +
                                 "[64, 64]\n  w: f32[4, 64]\noutputs: {o: \"f32[32, 64]\"}\n"
                                 "body: |\n  o = " +
                                 sum + "\n");
  Taken taken = Taken::kNo;
  ForEachStage(planned.plan->bodies.front().stages, [&](const Stage& stage) {
    if (const auto* rows = As<stage::Rows>(stage))
      taken = rows->others.empty() ? Taken::kSome : Taken::kFour;
  });
  return taken;
}

/// How many loops go by parts that read `x`, a block with a border.
int LoopsByParts(const std::string& body,
                 const std::string& x = "element(n + 60, halo=(30, 30)), all",
                 const std::string& pad = ", pad: 0") {
  const Planned planned =
      PlanOf("kernel: k\nscalars: {s: i32}\ninputs:\n  x: {array: \"f32[n, c]\", block: \"" + x +
             "\", index: \"0, 0\"" + pad + "}\noutputs: {o: \"f32[n, c]\"}\nbody: |\n" + body);
  int loops = 0;
  ForEachStage(planned.plan->bodies.front().stages,
               [&](const Stage& stage) { loops += Is<stage::AtEdges>(stage); });
  return loops;
}

TEST_CASE("a block beyond its array's edges is read where it is if loops say what is seen of it") {
  const auto turns = [](int count) {
    return "  o = 0\n  for t in range(0, " + std::to_string(count) + "):\n    o += x[ds(t, n)]\n";
  };
  CHECK(LoopsByParts("  o = x[0:n] + x[2:n + 2]\n") == 1);
  CHECK(LoopsByParts("  o = x[0:n] + sum(x[ds(1, n)], axis=0)\n") == 2);
  CHECK(LoopsByParts(turns(60)) == 1);
  CHECK(LoopsByParts("  o = x[ds(clamp(s, 0, 60), n)]\n") == 0);
  CHECK(LoopsByParts("  o = x[0:n] + sum(dot(x, x.T))\n") == 0);
  CHECK(LoopsByParts("  o = x[0:n, 2:c + 2]\n",
                     "element(n + 2, halo=(1, 1)), element(c + 2, halo=(1, 1))") == 0);
  CHECK(LoopsByParts("  o = where(inside(x)[0:n], x[0:n], 1)\n", "element(n + 2, halo=(1, 1)), all",
                     "") == 0);
}

TEST_CASE("rows that share most of their windows are taken four at a time") {
  CHECK(RowsOf({0, 1, 2, 3}) == Taken::kFour);
  CHECK(RowsOf({0, 1, 2, 3}, "bf16") == Taken::kFour);
  CHECK(RowsOf({0, 1, 2}) == Taken::kNo);
}

TEST_CASE("what all rows of a window read alike is read once for some of them") {
  for (const char* type : {"f32", "bf16"}) {
    CHECK(RowsOf({0, 1, 2, 3}, type, /*filter=*/true) == Taken::kFour);
    CHECK(RowsOf({0, 8, 16, 24}, type, /*filter=*/true) == Taken::kSome);
    CHECK(RowsOf({0, 1, 2}, type, /*filter=*/true) == Taken::kNo);
  }
}

TEST_CASE("a few turns are written out where they become one nest, and only there") {
  CHECK(Loops("  y = 0\n  for t in range(0, 3):\n    y += x[ds(t, 32)]\n  o = 0\n") == 0);
  CHECK(Loops("  y = 0\n  for t in range(0, 30):\n    y += x[ds(2, 32)]\n  o = 0\n") == 0);
  CHECK(Loops("  y = 0\n  for t in range(0, 40):\n    y += x[ds(2, 32)]\n  o = 0\n") == 1);
  CHECK(Loops("  y = 0\n  for t in range(0, at[0]):\n    y += x[ds(2, 32)]\n  o = 0\n") == 1);
  // A turn reads what the one before it stored elsewhere.
  CHECK(Loops("  s = z\n  for t in range(0, 3):\n    s[1:] = s[0:31] * 2\n  y = s\n  o = 0\n") ==
        1);
  // A number of the turn that not every type has.
  CHECK(Loops("  y = 0\n  for t in range(0, 3):\n    y += x[ds(t, 32)] * f32(t)\n  o = 0\n") == 0);
  CHECK(
      Loops("  y = 0\n  for t in range(1000, 1003):\n    y += x[ds(2, 32)] * f32(t)\n  o = 0\n") ==
      1);
}

}  // namespace
}  // namespace kiln
