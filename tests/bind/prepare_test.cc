// Host code before the grid: what `prepare` makes, and specs from their text.

#include "generator/bind/bind.h"
#include "generator/check/check_spec.h"
#include "tests/catch.h"
#include "tests/ir/kernel_builder.h"

namespace kiln::bind_prepare_test {
namespace {

using namespace build;
using Found = std::vector<std::string>;

/// rows, cols, count = block_coo(mask, 2, 2)
struct Prepared {
  KernelBuilder b;
  NodePtr m = b.AddDim("m"), n = b.AddDim("n"), blocks = b.AddDim("blocks");
  int mask = b.AddRef("mask", Role::kArgument, DType::kI32, {m, n});
  int rows = b.AddRef("rows", Role::kPrefetch, DType::kI32, {blocks});
  int cols = b.AddRef("cols", Role::kPrefetch, DType::kI32, {blocks});
  int count = b.AddRef("count", Role::kScalar, DType::kI32, {});
  Inputs inputs;
  Diagnostics diagnostics;

  Prepared() {
    for (const int ref : {rows, cols, count})
      b.kernel.refs[static_cast<size_t>(ref)].prepared = true;
    b.kernel.prepare.push_back({{rows, cols, count},
                                "block_coo",
                                "",
                                {{"", mask, nullptr}, {"", -1, Int(2)}, {"bk", -1, Int(2)}},
                                {}});
    b.AddAxis("t", Read(count));
    inputs.arrays["mask"] = Ints({4, 4}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1});
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

TEST_CASE("prepare makes arrays, dims and steps") {
  Prepared t;
  const std::optional<Binding> binding = t.Run();
  CHECK(Messages(t.diagnostics) == Found{});
  REQUIRE(binding);
  CHECK(binding->dims[2] == 3);
  CHECK(binding->steps == std::vector<int64_t>{3});
  CHECK(ValuesOf(*binding->host[1]) == std::vector<int64_t>{0, 1, 1});
  CHECK(ValuesOf(*binding->host[2]) == std::vector<int64_t>{0, 0, 1});
  CHECK(binding->arrays[1] == std::vector<int64_t>{3});
}

TEST_CASE("A longer array repeats its last entry") {
  Prepared t;
  t.inputs.dims["blocks"] = 5;
  const std::optional<Binding> binding = t.Run();
  CHECK(Messages(t.diagnostics) == Found{});
  REQUIRE(binding);
  CHECK(ValuesOf(*binding->host[1]) == std::vector<int64_t>{0, 1, 1, 1, 1});
  CHECK(ValuesOf(*binding->host[2]) == std::vector<int64_t>{0, 0, 1, 1, 1});
  CHECK(binding->steps == std::vector<int64_t>{3});
  t.inputs.arrays["mask"] = Ints({4, 4}, std::vector<int64_t>(16, 0));
  const std::optional<Binding> empty = t.Run();
  REQUIRE(empty);
  CHECK(ValuesOf(*empty->host[1]) == std::vector<int64_t>(5, 0));
  t.inputs.dims["blocks"] = int64_t{1} << 40;
  CHECK(t.Errors() == Found{"call: `rows` would be i32[1099511627776], more than 1 TiB",
                            "call: `cols` would be i32[1099511627776], more than 1 TiB"});
  t.inputs.dims["blocks"] = int64_t{1} << 30;
  CHECK(t.Errors() ==
        Found{"call: `rows` as i32[1073741824] is too large for what host code makes",
              "call: `cols` as i32[1073741824] is too large for what host code makes"});
}

TEST_CASE("[call] prepare") {
  Prepared t;
  t.inputs.dims["blocks"] = 2;
  CHECK(t.Errors() ==
        Found{"call: `block_coo` makes 3 entries of `rows` that are used, but the spec declares "
              "i32[blocks], where blocks = 2 | declare it longer; `kiln explain --functions` says "
              "how long what `block_coo` makes can be",
              "call: `block_coo` makes 3 entries of `cols` that are used, but the spec declares "
              "i32[blocks], where blocks = 2 | declare it longer; `kiln explain --functions` says "
              "how long what `block_coo` makes can be"});
  t.inputs.dims.clear();
  t.b.kernel.prepare[0].arguments[1].value = Int(0);
  CHECK(t.Errors() == Found{"call: `block_coo`: `bm` is 0, but a block has at least one element"});
  t.b.kernel.prepare[0].arguments[1].value = Int(2);
  t.inputs.arrays["rows"] = Ints({3}, {});
  CHECK(t.Errors() ==
        Found{"call: `rows` is made by `block_coo` and cannot be given | leave it out"});
  t.inputs.arrays.clear();
  CHECK(t.Errors() == Found{"call: argument `mask` (i32[m, n]) is not given | add mask=@mask.npy"});
  CHECK(t.Errors(true) == Found{});
  CHECK(t.Run(true)->steps.empty());
}

TEST_CASE("What a function of the user's own makes is given") {
  Prepared t;
  t.b.kernel.prepare[0].header = "my.h";
  t.b.kernel.prepare[0].function = "find_blocks";
  CHECK(t.Errors() ==
        Found{"call: `find_blocks` is a function of your own (my.h), which only "
              "compiled code can call | give what it makes: `rows`, `cols`, `count`"});
  t.inputs.arrays["rows"] = Ints({3}, {0, 0, 1});
  t.inputs.arrays["cols"] = Ints({5}, {0, 1, 1, 9, 9});  // longer than its used part
  t.inputs.arrays["count"] = Scalar(2);
  const std::optional<Binding> binding = t.Run();
  CHECK(Messages(t.diagnostics) == Found{});
  REQUIRE(binding);
  CHECK(binding->host[1] == &t.inputs.arrays["rows"]);
  CHECK(ValuesOf(*binding->host[2]) == std::vector<int64_t>{0, 1, 1});
  CHECK(binding->steps == std::vector<int64_t>{2});
}

/// The same from a spec's text.
struct Written {
  std::shared_ptr<const Source> source;
  std::unique_ptr<Kernel> kernel;
  Inputs inputs;
  Diagnostics diagnostics;

  explicit Written(std::string text)
      : source(std::make_shared<const Source>("k.yaml", std::move(text))) {
    const std::unique_ptr<Spec> spec = ParseSpec(source, diagnostics);
    if (spec) kernel = CheckSpec(*spec, {}, diagnostics);
    INFO(Render(diagnostics, *source));
    REQUIRE(kernel);
  }
  std::string Errors() {
    diagnostics = {};
    Bind(*kernel, inputs, false, diagnostics);
    return Render(diagnostics, *source);
  }
};

TEST_CASE("A sparse product that visits every row, from its text") {
  Written t(R"(kernel: k
params: {b: 2}
arguments:
  mask: bool[m, n]
prefetch:
  rows: i32[blocks]
  cols: i32[blocks]
  row: i32[visits]
  block: i32[visits]
  real: i32[visits]
scalars: {count: i32, steps: i32}
prepare:
  - rows, cols, count = block_coo(mask, b, b)
  - row, block, real, steps = grouped_rows(rows, cdiv(m, b), count=count)
require:
  - count >= 1
grid:
  t: steps
inputs:
  x: {array: "f32[m, n]", block: "b, b", index: "row[t], cols[block[t]]", pad: 0}
outputs:
  o: {array: "f32[m]", block: b, index: "row[t]", init: 0}
body: |
  when real[t] != 0:
    o += sum(x, axis=1)
)");
  t.inputs.arrays["mask"] =
      Ints({6, 4}, {0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1}, DType::kBool);
  t.inputs.arrays["x"] = Array::Zeros(DType::kF32, {6, 4});
  const std::optional<Binding> binding = Bind(*t.kernel, t.inputs, false, t.diagnostics);
  CHECK(Render(t.diagnostics, *t.source) == "");
  REQUIRE(binding);
  CHECK(binding->steps == std::vector<int64_t>{4});
  CHECK(ValuesOf(*binding->host[static_cast<size_t>(t.kernel->FindRef("row"))]) ==
        std::vector<int64_t>{0, 1, 2, 2});
  CHECK(ValuesOf(*binding->host[static_cast<size_t>(t.kernel->FindRef("real"))]) ==
        std::vector<int64_t>{1, 0, 1, 1});
  t.inputs.arrays["mask"] = Ints({6, 4}, {}, DType::kBool);
  CHECK(t.Errors() == R"(k.yaml:16:5: error[call]: `count >= 1` must hold, but count is 0
  16 |   - count >= 1
     |     ^~~~~~~~~~
)");
  t.inputs.arrays["mask"].SetInt(0, 1);
  t.inputs.arrays["x"] = Array::Zeros(DType::kF32, {6, 5});
  CHECK(t.Errors() ==
        R"(k.yaml:20:3: error[call]: n is 4 in `mask` (dimension 1) but 5 in `x` (dimension 1)
  20 |   x: {array: "f32[m, n]", block: "b, b", index: "row[t], cols[block[t]]", pad: 0}
     |   ^
k.yaml:4:3: note: n is 4 here
   4 |   mask: bool[m, n]
     |   ^~~~
)");
}

TEST_CASE("Steps past the end of what is made do nothing, in range") {
  Written t(R"y(kernel: k
arguments: {rows: "i32[n]"}
prefetch: {row: "i32[4]", block: "i32[4]", real: "i32[4]"}
scalars: {steps: i32}
prepare: "row, block, real, steps = grouped_rows(rows, 2)"
grid: {t: 4}
outputs: {o: {array: "i32[2]", block: "null", index: "row[t]"}}
body: |
  when first(o):
    o = 0
  when real[t] != 0:
    o += 1
)y");
  t.inputs.arrays["rows"] = Ints({2}, {1, 1});
  Diagnostics diagnostics;
  const std::optional<Binding> binding = Bind(*t.kernel, t.inputs, false, diagnostics);
  REQUIRE(binding);
  const auto host = [&](const char* name) {
    return ValuesOf(*binding->host[static_cast<size_t>(t.kernel->FindRef(name))]);
  };
  CHECK(host("row") == std::vector<int64_t>{0, 1, 1, 1});
  CHECK(host("block") == std::vector<int64_t>{0, 0, 1, 1});
  CHECK(host("real") == std::vector<int64_t>{0, 1, 1, 0});
}

TEST_CASE("Variants, from their text") {
  Written t(R"(kernel: k
params: {b: 128}
grid:
  i: cdiv(n, b)
inputs:
  x: {array: "f32[n]", block: b, index: i}
outputs:
  o: {array: "f32[n]", block: b, index: i}
body: |
  o = x * 2
variants:
  - {when: "n <= 64", set: {b: 64}}
  - {when: "n > 1000 and n % 256 == 0", set: {b: 256}}
)");
  const auto chosen = [&](int64_t n) {
    t.inputs.dims["n"] = n;
    return ChooseVariant(*t.kernel, t.inputs);
  };
  CHECK(chosen(64) == 0);
  CHECK(chosen(65) == -1);
  CHECK(chosen(1024) == 1);
  CHECK(chosen(1025) == -1);
}

}  // namespace
}  // namespace kiln::bind_prepare_test
