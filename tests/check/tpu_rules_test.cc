#include "generator/check/tpu_rules.h"

#include <algorithm>

#include "generator/check/check_spec.h"
#include "tests/catch.h"

namespace kiln::tpu_rules_test {
namespace {

std::string Severity(const Diagnostic& found) {
  return found.severity == Severity::kError ? "error: " : "warning: ";
}

/// The [tpu] diagnostics of a spec, one a line with its hint; "not checked: …" when it is wrong
/// otherwise.
std::string Messages(const std::string& text, const std::map<std::string, int64_t>& sizes = {}) {
  Diagnostics diagnostics;
  const auto source = std::make_shared<const Source>("t.yaml", text);
  const auto spec = ParseSpec(source, diagnostics);
  CheckOptions options;
  options.sizes_follow = true;  // the other rules are not what is tried here
  const auto kernel = spec ? CheckSpec(*spec, options, diagnostics) : nullptr;
  if (!kernel) return "not checked: " + Render(diagnostics, *source);
  Diagnostics found;
  if (sizes.empty()) {
    CheckTpuRules(*kernel, nullptr, found);
  } else {
    Inputs inputs;
    for (const auto& [name, size] : sizes) inputs.dims[name] = size;
    Diagnostics bound;
    const auto binding = Bind(*kernel, inputs, /*partial=*/true, bound);
    if (!binding) return "not bound: " + Render(bound, *source);
    CheckTpuRules(*kernel, &*binding, found);
  }
  std::string lines;
  for (const Diagnostic& one : found.Sorted()) {
    CHECK(one.rule.text() == "tpu");
    lines += Severity(one) + one.message + " | " + one.hint + "\n";
  }
  return lines;
}

/// A kernel whose input x has this array and block; `sizes` lends it m and n, and the output is of
/// no interest.
std::string WithInput(const std::string& array, const std::string& block, const std::string& index,
                      const std::string& more = "") {
  return "kernel: t\ninputs:\n  x: {array: \"" + array + "\", block: \"" + block + "\", index: \"" +
         index + "\"" + more +
         "}\n  sizes: {array: \"f32[m, n]\", memory: any}\noutputs:\n  o: f32[8, 128]\nbody: |\n  "
         "o = 0\n";
}

std::string WithBody(const std::string& type, const std::string& body) {
  return "kernel: t\ninputs:\n  x: " + type +
         "[16, 128]\noutputs:\n  o: f32[8, 128]\nbody: |\n  o = 0\n  " + body + "\n";
}

TEST_CASE("the last two dimensions of a block are multiples of 8 and 128, or the array's own") {
  const auto legal = [](const std::string& array, const std::string& block) {
    const std::string found = Messages(WithInput(array, block, "0, 0"));
    INFO(found);
    return found.find("error") == std::string::npos;
  };
  CHECK(legal("f32[64, 512]", "8, 128"));
  CHECK(legal("f32[64, 512]", "24, 384"));
  CHECK(legal("f32[60, 500]", "60, 500"));
  CHECK(legal("f32[60, 500]", "60, 128"));
  CHECK(legal("f32[60, 500]", "8, 500"));
  CHECK(legal("f32[1, 500]", "1, 500"));
  CHECK(legal("f32[m, n]", "m, n"));
  CHECK(legal("f32[m, n]", "all, 256"));
  CHECK(legal("f32[8*m, 128*n]", "8*m, 128*n"));
  CHECK(legal("f32[m, n]", "8*m, 128"));
  CHECK(legal("bf16[64, 512]", "8, 128"));  // the rule does not depend on the dtype
  CHECK(!legal("f32[64, 512]", "4, 128"));
  CHECK(!legal("f32[64, 512]", "8, 64"));
  CHECK(!legal("f32[64, 512]", "12, 128"));
  CHECK(!legal("i8[64, 512]", "4, 128"));
}

TEST_CASE("the nearest legal block is named") {
  CHECK(Messages(WithInput("f32[64, 512]", "13, 100", "0, 0")) ==
        "error: a TPU refuses the block [13, 100] of `x`: its last two dimensions must be "
        "multiples of 8 and 128, or "
        "the array's own (64, 512) | the nearest legal block: [16, 128]\n");
  CHECK(Messages(WithInput("f32[3, 5, 100]", "2, 4, 90", "0, 0, 0")) ==
        "error: a TPU refuses the block [2, 4, 90] of `x`: its last two dimensions must be "
        "multiples of 8 and 128, or "
        "the array's own (5, 100) | the nearest legal block: [2, 5, 100]\n");
  CHECK(Messages(WithInput("f32[m, n]", "8, 200", "0, 0")) ==
        "error: a TPU refuses the block [8, 200] of `x`: its last two dimensions must be multiples "
        "of 8 and 128, or "
        "the array's own (m, n) | the nearest legal block: [8, 256]\n");
}

TEST_CASE("with sizes, a block may turn out to be the whole array") {
  const std::string spec = WithInput("f32[m, n]", "5, 100", "0, 0");
  CHECK(Messages(spec, {{"m", 5}, {"n", 100}}) == "");
  CHECK(Messages(spec, {{"m", 5}, {"n", 101}}) ==
        "error: a TPU refuses the block [5, 100] of `x`: its last two dimensions must be multiples "
        "of 8 and 128, or "
        "the array's own (5, 101) | the nearest legal block: [5, 101]\n");
}

TEST_CASE("a symbolic block is judged when its size is known") {
  const std::string spec = WithInput("f32[m, n]", "cdiv(m, 2), all", "0, 0");
  CHECK(Messages(spec) == "");
  CHECK(Messages(spec, {{"m", 32}, {"n", 7}}) == "");
  CHECK(Messages(spec, {{"m", 40}, {"n", 7}}).find("the block [20, all] of `x`") !=
        std::string::npos);
}

TEST_CASE("a squeezed dimension counts as 1") {
  CHECK(Messages(WithInput("f32[4, 64, 512]", "null, 8, 128", "0, 0, 0")) == "");
  CHECK(Messages(WithInput("f32[64, 1, 512]", "8, null, 128", "0, 0, 0")) == "");
  CHECK(Messages(WithInput("f32[64, 4, 512]", "8, null, 128", "0, 0, 0")) ==
        "error: a TPU refuses the block [8, null, 128] of `x`: its last two dimensions must be "
        "multiples of 8 and 128, "
        "or the array's own (4, 512) | `null` counts as 1 here: put that dimension before the last "
        "two of the array\n");
}

TEST_CASE("blocks of rank 1") {
  const auto legal = [](const std::string& dtype, int64_t block) {
    return Messages(WithInput(dtype + "[n]", std::to_string(block), "0")) == "";
  };
  CHECK(legal("f32", 128));
  CHECK(legal("f32", 256));
  CHECK(legal("f32", 3072));
  CHECK(!legal("f32", 64));
  CHECK(!legal("f32", 384));
  CHECK(!legal("f32", 1536));
  CHECK(!legal("bf16", 128));
  CHECK(legal("bf16", 256));
  CHECK(!legal("i8", 256));
  CHECK(legal("i8", 512));
  CHECK(legal("bool", 128));  // a bool takes 32 bits there
  CHECK(Messages(WithInput("f32[100]", "100", "0")) == "");
  CHECK(Messages(WithInput("f32[8*n]", "8*n", "0")) == "");
  CHECK(Messages(WithInput("bf16[n]", "300", "0")) ==
        "error: a TPU refuses the block of 300 of `x`: a block of rank 1 is the whole array (n), a "
        "multiple of 1024, or "
        "for bf16 a power of two from 256 on | the nearest legal block: 256\n");
  CHECK(Messages(WithInput("f32[n]", "1500", "0")).find("nearest legal block: 1024") !=
        std::string::npos);
}

TEST_CASE("forms of blocks that pallas_call refuses") {
  CHECK(Messages("kernel: t\ninputs:\n  x: f32\noutputs:\n  o: f32[8, 128]\nbody: |\n  o = x\n") ==
        "error: `x` has rank 0, and a TPU takes blocks of rank 1 and more | pass it in `scalars`, "
        "or as an array of shape "
        "[1, 1]\n");
  CHECK(Messages(WithInput("f32[64, 512]", "bounded(8), 128", "ds(0, 4), 0")) ==
        "error: `pallas_call` takes no `bounded` block: `x` has one | a bounded block runs only "
        "inside `emit_pipeline`; "
        "take a fixed block and mask it\n");
  CHECK(Messages(WithInput("f32[64, 512]", "element(8), 128", "0, 0")) ==
        "error: `x` mixes `element` with block sizes: on a TPU every dimension of such a block "
        "counts elements, or is "
        "squeezed | write `element(…)` in every dimension, and index them in elements\n");
  CHECK(Messages(WithInput("f32[4, 64, 512]", "null, element(8), all", "0, 0, 0")) == "");
  CHECK(Messages(WithInput("f32[64, 512]", "8, 128", "0, 0", ", buffers: 3")) ==
        "error: `x` has 3 buffers: `pallas_call` lowers 1 or 2 | deeper pipelines exist only "
        "inside `emit_pipeline`\n");
}

TEST_CASE("a whole array in SMEM, and arrays that stay in HBM, are no blocks") {
  CHECK(Messages("kernel: t\ninputs:\n  x: {array: \"i32[3]\", memory: smem}\noutputs:\n  o: "
                 "f32[8, 128]\nbody: |\n  o = 0\n") == "");
  CHECK(Messages("kernel: t\ninputs:\n  x: {array: \"f32[3, 5]\", memory: any}\noutputs:\n  o: "
                 "f32[8, 128]\nbody: |\n  o = 0\n") == "");
}

TEST_CASE("half-filled tiles of narrow types are a warning") {
  CHECK(Messages(WithInput("bf16[64, 512]", "8, 128", "0, 0")) ==
        "warning: the block of `x` has 8 rows, and a tile of bf16 has 16: a part of it stays empty "
        "| multiples of 16 rows "
        "fill the tiles of bf16\n");
  CHECK(Messages(WithInput("i8[64, 512]", "16, 128", "0, 0")).find("a tile of i8 has 32") !=
        std::string::npos);
  for (const std::string f8 : {"f8e4m3fn", "f8e5m2", "f8e8m0fnu"}) {
    CHECK(Messages(WithInput(f8 + "[64, 512]", "16, 128", "0, 0"))
              .find("a tile of " + f8 + " has 32") != std::string::npos);
    CHECK(Messages(WithInput(f8 + "[64, 512]", "32, 128", "0, 0")) == "");
  }
  CHECK(Messages(WithInput("bf16[8, 512]", "8, 128", "0, 0")) == "");  // there are no more rows
  CHECK(Messages(WithInput("bf16[64, 512]", "16, 128", "0, 0")) == "");
  CHECK(Messages(WithInput("f32[64, 512]", "8, 128", "0, 0")) == "");
}

TEST_CASE("types that a TPU has not") {
  CHECK(Messages(WithInput("i64[8, 128]", "8, 128", "0, 0")) ==
        "error: `x` is i64: a TPU computes with at most 32 bits | use i32\n");
  CHECK(Messages(WithInput("f16[16, 128]", "16, 128", "0, 0")) ==
        "error: `x` is f16: Pallas lists no f16 among the types of a TPU | use bf16\n");
  CHECK(Messages(WithBody("f32", "let y = f64(x)")) ==
        "error: this makes f64: a TPU computes with at most 32 bits | use f32\n");
}

TEST_CASE("operations that Mosaic does not lower") {
  CHECK(Messages(WithBody("f32", "let s = sum(x, axis=0)")) == "");
  CHECK(Messages(WithBody("i32", "let s = sum(x, axis=0)")) == "");
  CHECK(Messages(WithBody("i8", "let s = sum(x, axis=0)")) == "");  // sums are i32
  CHECK(Messages(WithBody("i8", "let s = max(x, axis=0)")) ==
        "error: Mosaic reduces floats and i32, not i8 | reduce i32(…) and cast the result back\n");
  CHECK(Messages(WithBody("u32", "let s = max(x, axis=0)")).find("Mosaic reduces floats and i32") !=
        std::string::npos);
  CHECK(Messages(WithBody("bf16", "let s = max(x, axis=0)")) == "");
  CHECK(Messages(WithBody("bf16", "let s = sum(x)")) == "");  // sums are f32
  CHECK(Messages(WithBody("bf16", "let s = max(x)")) ==
        "error: Mosaic makes scalars of tiles of 32 bits an element, not of bf16 | reduce f32(…) "
        "and cast the result back\n");
  CHECK(Messages(WithBody("i32", "let s = max(x, 3)")) == "");  // elementwise
  CHECK(Messages(WithBody("f32", "let s = argmax(x, axis=1)")) == "");
  CHECK(
      Messages(WithBody("i32", "let s = argmax(x, axis=1)")).find("argmax of f32 along one axis") !=
      std::string::npos);
  CHECK(Messages(WithBody("f32", "let s = cumsum(x, axis=1)")) ==
        "error: Mosaic has no rule for cumsum | multiply by a triangle of ones: dot(f32(iota([n, "
        "n], 0) >= iota([n, n], "
        "1)), x)\n");
  for (const char* call : {"cummax(x, axis=1)", "sort(x, axis=1)", "flip(x, 1)"}) {
    const std::string name(call, std::string_view(call).find('('));
    CHECK(Messages(WithBody("f32", std::string("let s = ") + call)) ==
          "error: Mosaic has no rule for " + name +
              " | leave it to XLA, in front of the kernel or behind it\n");
  }
  const std::pair<const char*, const char*> functions[] = {
      {"expm1(x)", "exp(x) - 1"},
      {"atan(x)", "atan2(x, 1.0)"},
      {"acos(x)", "atan2(sqrt(1 - x * x), x)"},
      {"erfc(x)", "1 - erf(x)"},
  };
  for (const auto& [call, instead] : functions) {
    const std::string name(call, std::string_view(call).find('('));
    CHECK(Messages(WithBody("f32", std::string("let s = ") + call)) ==
          "error: Mosaic has no rule for " + name + " | write " + instead + "\n");
    CHECK(Messages(WithBody("f32", std::string("let s = ") + instead)) == "");
  }
  CHECK(Messages(WithBody("f32", "let s = prod(x, axis=0)")) ==
        "error: Mosaic has no rule for prod | multiply halves of the tile, in a loop\n");
  CHECK(Messages(WithBody("f32", "let s = take(x, iota([4], 0), axis=0)")) ==
        "error: Mosaic has no rule for take | multiply by rows of a unit matrix: "
        "dot(f32(expand(ids, 1) == iota([m, n], 1)), x)\n");
  CHECK(Messages(WithBody("f32", "let s, ids = top_k(x, 2, axis=1)")) ==
        "error: Mosaic has no rule for top_k | leave it to XLA, in front of the kernel or behind "
        "it\n");
}

TEST_CASE("operations are found under conditions, in loops and in subscripts, once each") {
  const std::string body =
      "for r in range(0, 2):\n    when max(i8(x)) > 0:\n      o[r, :] = 1\n  o[argmax(i32(x[0]), "
      "axis=0) % 8, :] = 2";
  const std::string found = Messages(WithBody("f32", body));
  CHECK(found.find("Mosaic reduces floats and i32") != std::string::npos);
  CHECK(found.find("argmax of f32") != std::string::npos);
  CHECK(std::count(found.begin(), found.end(), '\n') == 2);
}

TEST_CASE("SMEM has single elements, VMEM none, and masks are of 32 bits") {
  const auto found = [](const std::string& type, const std::string& body) {
    return Messages(
        "kernel: t\nprefetch: {ids: \"i32[8]\"}\ninputs:\n  x: " + type +
        "[8, 128]\n  s: {array: \"f32[2, 4]\", memory: smem}\noutputs:\n  o: " + type +
        "[8, 128]\n  c: {array: \"f32[2, 4]\", memory: smem}\nscratch:\n  a: f32[8, 128]\n"
        "body: |\n  o = 0\n  a = 0\n  for i in range(2):\n    for j in range(4):\n"
        "      c[i, j] = s[i, j] * 2\n  " +
        body + "\n");
  };
  CHECK(found("f32", "o = x * f32(ids[3])") == "");
  CHECK(found("f32", "o = x * x[0, 5]") == "");  // reads are of any size in VMEM
  CHECK(found("f32", "o[ds(2, 1), ds(5, 1)] = s[0, 1]") == "");
  CHECK(found("f32", "o[x > 0] = x") == "");
  CHECK(found("f32", "var v: f32[8] = 0\n  v[2] = 3") == "");
  CHECK(found("f32", "a[:, 0] = f32(ids)") ==
        "error: `ids` is in SMEM, and a TPU reads single elements from there | read the elements "
        "one by one, or pass the array as an input as well\n");
  CHECK(found("f32", "a[0, 0:4] = s[1]") ==
        "error: `s` is in SMEM, and a TPU reads single elements from there | read the elements one "
        "by one, or leave out `memory: smem`\n");
  CHECK(found("f32", "c[1] = 0") ==
        "error: `c` is in SMEM, and a TPU stores single elements there | store the elements one by "
        "one, or leave out `memory: smem`\n");
  for (const char* name : {"o", "a"}) {
    CHECK(found("f32", std::string(name) + "[2, 5] = 1") ==
          "error: `" + std::string(name) +
              "` is in VMEM, and a TPU stores no single element there | store a window of one, "
              "`ds(i, 1)`, or give it `memory: smem`\n");
  }
  CHECK(found("bf16", "o[x > 0] = x") ==
        "warning: a TPU has masks for stores of 32 bits, and `o` is bf16 | in Pallas, store "
        "where(mask, value, o) without a mask\n");
  CHECK(found("bf16", "a[x > 0] = f32(x)") == "");
}

}  // namespace
}  // namespace kiln::tpu_rules_test
