#include "generator/bind/bind.h"

#include <limits>

#include "tests/catch.h"
#include "tests/ir/kernel_builder.h"

namespace kiln::bind_test {
namespace {

using namespace build;
using Found = std::vector<std::string>;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Array Floats(std::vector<int64_t> shape) { return Array::Zeros(DType::kF32, std::move(shape)); }

/// z[m, n] = x[m, k] y[k, n] on blocks of 8 rows.
struct Matmul {
  KernelBuilder b;
  NodePtr m = b.AddDim("m"), n = b.AddDim("n"), k = b.AddDim("k");
  int x = b.AddRef("x", Role::kInput, DType::kF32, {m, k});
  int y = b.AddRef("y", Role::kInput, DType::kF32, {k, n});
  int z = b.AddRef("z", Role::kOutput, DType::kF32, {m, n});
  Inputs inputs;
  Diagnostics diagnostics;

  Matmul() {
    b.AddAxis("i", Do(Op::kCeilDiv, {m, Int(8)}));
    b.AddAxis("l", k);
    b.kernel.refs[0].view = {8, SizeOf(k, b.kernel)};
    inputs.arrays["x"] = Floats({20, 3});
    inputs.arrays["y"] = Floats({3, 5});
  }
  std::optional<Binding> Run(bool partial = false) {
    diagnostics = {};
    return Bind(b.kernel, inputs, partial, diagnostics);
  }
  Found Errors(bool partial = false) {
    Run(partial);
    return Messages(diagnostics);
  }
};

TEST_CASE("Dims come from the shapes of arrays") {
  Matmul t;
  const std::optional<Binding> binding = t.Run();
  CHECK(Messages(t.diagnostics) == Found{});
  REQUIRE(binding);
  CHECK(binding->dims == std::vector<std::optional<int64_t>>{20, 5, 3});
  CHECK(binding->steps == std::vector<int64_t>{3, 3});
  CHECK(binding->StepCount() == 9);
  CHECK(binding->arrays[2] == std::vector<int64_t>{20, 5});
  CHECK(binding->views[0] == std::vector<int64_t>{8, 3});
}

TEST_CASE("[call] dims that contradict each other") {
  Matmul t;
  t.inputs.arrays["y"] = Floats({4, 5});
  CHECK(t.Errors() == Found{"call: k is 3 in `x` (dimension 1) but 4 in `y` (dimension 0)"});
  CHECK(t.diagnostics.Sorted()[0].notes.size() == 1);
  // Only once, however many arrays disagree.
  t.b.AddRef("w", Role::kInput, DType::kF32, {t.k});
  t.inputs.arrays["w"] = Floats({7});
  CHECK(t.Errors().size() == 1);
  t.inputs.arrays["y"] = Floats({3, 5});
  t.inputs.arrays["w"] = Floats({3});
  t.inputs.dims["k"] = 9;
  CHECK(t.Errors() == Found{"call: k is 9 as given but 3 in `x` (dimension 1)"});
  t.inputs.dims["k"] = -9;
  CHECK(t.Errors() == Found{"call: k is -9, but a dimension cannot be negative"});
}

TEST_CASE("[call] every independent diagnostic is reported") {
  Matmul t;
  t.inputs.arrays["x"] = Ints({20, 3}, {});
  t.inputs.arrays["y"] = Floats({3});
  t.inputs.arrays["xx"] = Floats({1});
  t.inputs.dims["q"] = 3;
  CHECK(t.Errors() == Found{
                          "call: `test` has no argument or dimension `xx` | did you mean `x`?",
                          "call: `test` has no argument or dimension `q`",
                          "call: `x` is i32[20, 3], but the spec says f32[m, k]",
                          "call: `y` is f32[3], but the spec says f32[k, n]",
                      });
}

TEST_CASE("[call] missing arguments and dims") {
  Matmul t;
  t.inputs.arrays.erase("y");
  CHECK(t.Errors() ==
        Found{"call: input `y` (f32[k, n]) is not given | add y=@y.npy, or y=random"});
  Matmul u;
  u.b.kernel.refs[1].array[1] = 5;  // now n is in the output's shape only
  CHECK(u.Errors() ==
        Found{"call: the dimension `n` is not known: no argument has it in its shape | add n=…"});
  u.inputs.dims["n"] = 5;
  CHECK(u.Errors() == Found{});
  // Or from the output itself.
  u.inputs.dims.clear();
  u.inputs.arrays["z"] = Floats({20, 6});
  CHECK(u.Run()->dims[1] == 6);
  u.inputs.arrays["z"] = Floats({21, 6});
  CHECK(u.Errors() == Found{"call: m is 20 in `x` (dimension 0) but 21 in `z` (dimension 0)"});
}

TEST_CASE("What is unknown is no error in partial mode") {
  Matmul t;
  t.inputs.arrays.clear();
  std::optional<Binding> binding = t.Run(true);
  CHECK(Messages(t.diagnostics) == Found{});
  REQUIRE(binding);
  CHECK(binding->steps.empty());
  CHECK(binding->StepCount() == -1);
  CHECK(binding->arrays[0] == std::vector<int64_t>{-1, -1});
  CHECK(binding->views[0] == std::vector<int64_t>{8, -1});
  t.inputs.dims = {{"m", 20}, {"k", 0}};
  binding = t.Run(true);
  CHECK(binding->steps == std::vector<int64_t>{3, 0});
  CHECK(binding->StepCount() == 0);
  CHECK(binding->arrays[2] == std::vector<int64_t>{20, -1});
}

TEST_CASE("[call] extents that are expressions are compared") {
  KernelBuilder b;
  const NodePtr n = b.AddDim("n");
  b.AddRef("x", Role::kInput, DType::kF32, {n});
  b.AddRef("w", Role::kInput, DType::kF32, {Do(Op::kMul, {Int(2), n}), Int(7)});
  b.AddRef("o", Role::kOutput, DType::kF32, {Do(Op::kSub, {n, Int(4)})});
  Inputs inputs;
  Diagnostics d;
  inputs.arrays["x"] = Floats({5});
  inputs.arrays["w"] = Floats({10, 7});
  REQUIRE(Bind(b.kernel, inputs, false, d));
  inputs.arrays["w"] = Floats({11, 8});
  CHECK_FALSE(Bind(b.kernel, inputs, false, d));
  CHECK(Messages(d) == Found{"call: `w` is f32[11, 8], but its dimension 0 must be 2*n = 10",
                             "call: `w` is f32[11, 8], but its dimension 1 must be 7"});
  d = {};
  inputs.arrays["x"] = Floats({3});
  inputs.arrays["w"] = Floats({6, 7});
  CHECK_FALSE(Bind(b.kernel, inputs, false, d));
  CHECK(Messages(d) == Found{"call: dimension 0 of `o` is negative: n - 4 = -1"});
}

TEST_CASE("[call] fixed and constrained dims") {
  Matmul t;
  Dim& k = t.b.kernel.dims[2];
  k.multiple_of = 4;
  k.min = 8;
  k.max = 2;
  CHECK(t.Errors() == Found{
                          "call: k is 3 in `x` (dimension 1), but must be a multiple of 4",
                          "call: k is 3 in `x` (dimension 1), but must be at least 8",
                          "call: k is 3 in `x` (dimension 1), but must be at most 2",
                      });
  Matmul u;
  u.b.kernel.dims[2].fixed = 3;
  CHECK(u.Errors() == Found{});
  u.inputs.dims["k"] = 4;
  CHECK(u.Errors() == Found{"call: k is 3 in the spec but 4 as given"});
}

TEST_CASE("[call] sizes that do not fit") {
  Matmul t;
  t.inputs.arrays.clear();
  t.inputs.dims = {{"m", int64_t{1} << 31}, {"n", int64_t{1} << 31}, {"k", 1}};
  CHECK(t.Errors(true) == Found{"call: `z` would be f32[2147483648, 2147483648], more than 1 TiB"});
  t.inputs.dims["n"] = 16;
  CHECK(t.Errors(true) == Found{});
  t.inputs.dims["m"] = kMax;
  t.inputs.dims["k"] = kMax;
  t.inputs.dims["n"] = 0;
  CHECK(t.Errors(true) ==
        Found{"call: `x` would be f32[9223372036854775807, 9223372036854775807], more than 1 TiB",
              "call: `x` would be f32[8, 9223372036854775807], more than 1 TiB",
              "call: the grid has 2^63 steps or more"});
  KernelBuilder b;
  const NodePtr m = b.AddDim("m");
  b.AddRef("o", Role::kOutput, DType::kF32, {Do(Op::kMul, {m, m})});
  Inputs inputs;
  Diagnostics d;
  inputs.dims["m"] = int64_t{1} << 40;
  CHECK_FALSE(Bind(b.kernel, inputs, false, d));
  CHECK(Messages(d) == Found{"call: dimension 0 of `o` cannot be computed (it overflows or divides "
                             "by zero): m is 1099511627776 in m*m"});
}

struct Sparse {
  KernelBuilder b;
  NodePtr n = b.AddDim("n"), tiles = b.AddDim("tiles");
  int ids = b.AddRef("ids", Role::kPrefetch, DType::kI32, {tiles});
  int start = b.AddRef("start", Role::kScalar, DType::kI32, {});
  int scale = b.AddRef("scale", Role::kScalar, DType::kF32, {});
  Inputs inputs;
  Diagnostics diagnostics;

  Sparse() {
    inputs.arrays["ids"] = Ints({3}, {5, 6, 7});
    inputs.arrays["start"] = Scalar(2);
    inputs.arrays["scale"] = FloatScalar(0.5);
    inputs.dims["n"] = 10;
  }
  Found Errors(bool partial = false) {
    diagnostics = {};
    Bind(b.kernel, inputs, partial, diagnostics);
    return Messages(diagnostics);
  }
};

TEST_CASE("Scalars take any type whose value fits") {
  Sparse t;
  t.inputs.arrays["start"] = Ints({1}, {-7}, DType::kI64);
  t.inputs.arrays["scale"] = Scalar(2);
  std::optional<Binding> binding = Bind(t.b.kernel, t.inputs, false, t.diagnostics);
  REQUIRE(binding);
  const Binding moved = std::move(*binding);  // the pointers stay good
  CHECK(moved.host[1]->dtype == DType::kI32);
  CHECK(moved.host[1]->shape.empty());
  CHECK(moved.host[1]->GetInt(0) == -7);
  CHECK(moved.host[2]->GetFloat(0) == 2.0);
  CHECK(moved.host[0] == &t.inputs.arrays["ids"]);
  // A scalar may be given as a number, a dim as an array.
  t.inputs.arrays.erase("start");
  t.inputs.dims = {{"start", 4}};
  t.inputs.arrays["n"] = Ints({1}, {12});
  binding = Bind(t.b.kernel, t.inputs, false, t.diagnostics);
  REQUIRE(binding);
  CHECK(binding->host[1]->GetInt(0) == 4);
  CHECK(binding->dims[0] == 12);
}

TEST_CASE("[call] scalars that do not fit") {
  Sparse t;
  t.inputs.arrays["start"] = Scalar(int64_t{1} << 31, DType::kI64);
  CHECK(t.Errors() == Found{"call: `start` is 2147483648, which does not fit i32"});
  t.inputs.arrays["start"] = FloatScalar(1.5);
  CHECK(t.Errors() == Found{"call: `start` is f32, but the spec says i32"});
  t.inputs.arrays["start"] = Ints({2}, {1, 2});
  CHECK(t.Errors() == Found{"call: `start` is i32[2], but a scalar is one element"});
  t.inputs.arrays.erase("start");
  CHECK(t.Errors() == Found{"call: scalar `start` (i32 scalar) is not given | add start=…"});
}

TEST_CASE("[call] names that are no arguments") {
  Sparse t;
  t.b.AddRef("acc", Role::kScratch, DType::kF32, {t.n});
  t.b.kernel.params.push_back({"bm", "8"});
  t.inputs.arrays["acc"] = Floats({10});
  t.inputs.dims["bm"] = 8;
  t.inputs.dims["ids"] = 8;
  CHECK(t.Errors() ==
        Found{
            "call: `acc` is scratch, not an argument | leave it out",
            "call: `bm` is a param, fixed when the kernel is generated | write --set bm=…",
            "call: `ids` is i32[tiles], not a number",
        });
}

TEST_CASE("[call] require") {
  Sparse t;
  t.b.AddRequire(Do(Op::kLt, {Read(t.start), t.n}));
  t.b.AddRequire(Do(Op::kLe, {Read(t.ids, {Int(2)}), t.n}));
  t.b.AddRequire(Do(Op::kGt, {Read(t.scale, {}, DType::kF32), Float(0)}));
  CHECK(t.Errors() == Found{});
  t.inputs.arrays["start"] = Scalar(11);
  t.inputs.arrays["ids"] = Ints({3}, {5, 6, 70});
  t.inputs.arrays["scale"] = FloatScalar(-0.25);
  CHECK(t.Errors() == Found{
                          "call: `start < n` must hold, but start is 11 and n is 10",
                          "call: `ids[2] <= n` must hold, but ids[2] is 70 and n is 10",
                          "call: `scale > 0.0` must hold, but scale is -0.25",
                      });
  CHECK(Bind(t.b.kernel, t.inputs, false, t.diagnostics));  // bound all the same
  t.inputs.arrays["ids"] = Ints({2}, {5, 6});
  t.inputs.arrays["start"] = Scalar(0);
  t.inputs.arrays["scale"] = FloatScalar(1);
  CHECK(t.Errors() == Found{"index-range: a condition of `require` reads element 2 of `ids` "
                            "(dimension 0), which has 2, where n is 10"});
  t.inputs.arrays.erase("ids");
  CHECK(t.Errors(true) == Found{});
}

TEST_CASE("Conditions that fail to have a value") {
  Sparse t;
  t.b.AddRequire(Do(Op::kGt, {Do(Op::kFloorDiv, {t.n, Read(t.start)}), Int(0)}));
  t.b.AddRequire(Do(Op::kGt, {Do(Op::kMul, {t.n, Int(kMax)}), Int(0)}));
  t.b.AddRequire(
      Do(Op::kGt, {Do(Op::kExp, DType::kF32, {Read(t.scale, {}, DType::kF32)}), Float(0)}));
  t.inputs.arrays["start"] = Scalar(0);
  CHECK(
      t.Errors() ==
      Found{"undefined: a condition of `require` divides by zero: n // start > 0, where n is 10 "
            "and start is 0",
            "index-range: a condition of `require` overflows 64 bits: n * 9223372036854775807 > 0, "
            "where n is 10",
            "call: a condition of `require` cannot be computed before the grid starts: exp(scale) "
            "> 0.0"});
}

TEST_CASE("Obligations are checked once sizes are known") {
  Sparse t;
  const Size n = SizeOf(t.n, t.b.kernel), tiles = SizeOf(t.tiles, t.b.kernel);
  t.b.kernel.obligations.push_back(
      {Obligation::Kind::kEqual, n, tiles * 2, "shape", {0, 1}, "the operands of + differ"});
  t.b.kernel.obligations.push_back(
      {Obligation::Kind::kAtLeast, tiles, 4, "shape", {1, 2}, "a block is too large"});
  t.b.kernel.obligations.push_back({Obligation::Kind::kAtLeast, n, tiles, "shape", {2, 3}, "fine"});
  CHECK(t.Errors() == Found{"shape: the operands of + differ: n = 10, but 2*tiles = 6",
                            "shape: a block is too large: tiles = 3 is less than 4"});
  t.inputs.dims.erase("n");
  CHECK(t.Errors(true) == Found{"shape: a block is too large: tiles = 3 is less than 4"});
}

TEST_CASE("Grid steps") {
  Sparse t;
  t.b.AddAxis("i", Do(Op::kSub, {t.n, Steps_(1)}));  // asks for a later axis
  t.b.AddAxis("t", Read(t.ids, {Read(t.start)}));
  std::optional<Binding> binding = Bind(t.b.kernel, t.inputs, false, t.diagnostics);
  REQUIRE(binding);
  CHECK(binding->steps == std::vector<int64_t>{3, 7});
  t.inputs.arrays["ids"] = Ints({3}, {5, 6, 70});
  CHECK(t.Errors() == Found{"call: `i` has -60 steps: n - steps(t), where n is 10"});
  t.inputs.arrays["start"] = Scalar(3);
  CHECK(t.Errors() == Found{"index-range: the number of steps of `t` reads element 3 of `ids` "
                            "(dimension 0), which has 3, where start is 3"});
  t.inputs.arrays.erase("ids");
  CHECK(t.Errors(true) == Found{});
  CHECK(Bind(t.b.kernel, t.inputs, true, t.diagnostics)->steps.empty());
}

TEST_CASE("A grid without axes is one step") {
  Sparse t;
  CHECK(Bind(t.b.kernel, t.inputs, false, t.diagnostics)->StepCount() == 1);
}

TEST_CASE("The first variant whose condition holds is chosen") {
  Matmul t;
  for (const auto& [dim, most] : {std::pair(t.m, 16), std::pair(t.k, 3), std::pair(t.m, 64)}) {
    t.b.kernel.variants.emplace_back().when = Do(Op::kLe, {dim, Int(most)});
  }
  CHECK(ChooseVariant(t.b.kernel, t.inputs) == 1);
  t.inputs.arrays["x"] = Floats({16, 3});
  CHECK(ChooseVariant(t.b.kernel, t.inputs) == 0);
  t.inputs.arrays.clear();
  t.inputs.dims = {{"m", 60}};  // k is not known
  CHECK(ChooseVariant(t.b.kernel, t.inputs) == 2);
  t.inputs.dims = {{"m", 65}};
  CHECK(ChooseVariant(t.b.kernel, t.inputs) == -1);
}

}  // namespace
}  // namespace kiln::bind_test
