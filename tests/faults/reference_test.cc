// Kernels that break no rule and compute something else: only a reference finds them.
#include "generator/interpret/reference.h"

#include <fstream>
#include <sstream>

#include "generator/check/check_spec.h"
#include "generator/check/grid/check_grid.h"
#include "generator/check/static_rules.h"
#include "generator/data/array.h"
#include "generator/interpret/interpret.h"
#include "generator/native/compare.h"
#include "tests/catch.h"

namespace kiln::testing {
namespace {

struct ValidFault {
  const char* spec;
  const char* from;
  const char* to;
  const char* survives = nullptr;  // why the reference does not find it
};

const std::vector<ValidFault>& ValidFaults() {
  static const std::vector<ValidFault> faults = {
      // The wrong block.
      {"matmul", "    index: l, j\n    pad: 0\n  bias", "    index: l, 0\n    pad: 0\n  bias"},
      {"matmul", "index: i, l", "index: i, steps(l) - 1 - l"},
      {"matmul", "index: i, l", "index: 0, l"},
      {"matmul", "bias: {array: \"f32[n]\", like: z}",
       "bias: {array: \"f32[n]\", block: bn, index: 0}"},
      {"add_2d", "y: {array: \"T[m, n]\", like: x}",
       "y: {array: \"T[m, n]\", block: \"bm, bn\", index: \"i // 2 * 2, j\"}"},
      {"sum_axes", "index: b, i, j", "index: 0, i, j"},
      {"segment_sum", "index: t, j", "index: max(t - 1, 0), j"},
      {"embedding_gather", "index: max(ids[t], 0), j", "index: abs(ids[t]) // 2, j"},
      {"gmm", "index: group - group_offset, l, j", "index: 0, l, j"},
      {"stencil2d", "index: i * bm, j * bn", "index: i * bm, 0"},
      // The wrong part of the block.
      {"stencil2d", "below = u[2:bm + 2, 1:bn + 1]", "below = u[0:bm, 1:bn + 1]"},
      {"gmm", "<= at(out, 0) < offsets", "< at(out, 0) < offsets"},
      // The wrong step.
      {"sum_rows", "when first(j):\n    o = 0\n  o += ", "o = "},
      {"sum_rows", "when first(j):", "when first(j) or last(j):"},
      {"matmul", "acc += dot(x, y)", "acc = dot(x, y)"},
      {"matmul", "  acc += dot(x, y)\n", "  when not last(l):\n    acc += dot(x, y)\n"},
      {"matmul_int8", "z += dot(x, y)", "z += dot(x, y) if not last(l) else 2 * dot(x, y)"},
      {"segment_sum", "sums += x", "sums = f32(x)"},
      // The wrong value.
      {"matmul", "gelu(acc + bias)", "gelu(acc)"},
      {"matmul", "gelu(acc + bias)", "gelu(acc) + bias"},
      {"matmul", "gelu(acc + bias)", "silu(acc + bias)"},
      {"matmul", "gelu(acc + bias)", "gelu_tanh(acc + bias)"},
      {"matmul_input_fusion", "silu(x) * f32(gate)", "silu(f32(gate)) * f32(x)"},
      {"add_2d", "T(x + y)", "T(x - y)"},
      {"stencil2d", "pad: outside", "pad: 0"},
      {"sum_rows", "    pad: 0 ", "    pad: 1 "},
      {"embedding_gather", "if ids[t] >= 0", "if ids[t] > 0"},
      {"iota", "o[i] = i", "o[i] = i + 1"},
      // What no reference of these inputs can find.
      {"matmul", "acc += dot(x, y)", "acc += f32(bf16(dot(x, y)))",
       "roundings to bf16 on the way are allowed to a body that rounds to bf16 on the way"},
      {"matmul_int8", "z += dot(x, y)", "z += min(dot(x, y), 1000000)",
       "no random input gets there"},
  };
  return faults;
}

std::string Replaced(std::string text, const ValidFault& fault) {
  const size_t at = text.find(fault.from);
  INFO(fault.spec << ": " << fault.from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, std::string(fault.from).size(), fault.to);
}

std::string ReadSpec(const std::string& name) {
  std::ifstream in(std::string(KILN_SOURCE_DIR) + "/specs/" + name + ".yaml");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Array Integers(const std::vector<int64_t>& values) {
  Array array = Array::Zeros(DType::kI32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) array.SetInt(static_cast<int64_t>(i), values[i]);
  return array;
}

Array Number(double value) {
  Array array = Array::Zeros(DType::kF32, {});
  array.SetFloat(0, value);
  return array;
}

/// A call of more than one block along every axis, ragged where that is allowed, and params to
/// make it small.
struct SmallCall {
  std::vector<std::pair<std::string, std::string>> set;
  Inputs inputs;
};

SmallCall CallOf(const std::string& spec) {
  SmallCall call;
  const auto set = [&](const char* name, const char* value) { call.set.emplace_back(name, value); };
  auto& dims = call.inputs.dims;
  auto& arrays = call.inputs.arrays;
  if (spec.starts_with("matmul")) {
    for (const char* block : {"bm", "bn", "bk"}) set(block, "8");
    if (spec == "matmul") set("T", "f32");
    dims = {{"m", 20}, {"n", 28}, {"k", 37}};
  } else if (spec == "add_2d") {
    set("bm", "8"), set("bn", "16");
    dims = {{"m", 30}, {"n", 41}};
  } else if (spec == "sum_rows" || spec == "sum_axes") {
    set("bm", "8"), set("bn", "16");
    dims = {{"m", 20}, {"n", 41}};
    if (spec == "sum_axes") dims["batch"] = 3;
  } else if (spec == "stencil2d") {
    set("bm", "8"), set("bn", "16");
    dims = {{"m", 20}, {"n", 41}};
    arrays = {{"centre", Number(-0.75)}, {"side", Number(0.25)}};
  } else if (spec == "segment_sum") {
    dims = {{"n", 9}, {"d", 100}, {"segments", 7}};
    arrays = {{"ids", Integers({0, 0, 0, 2, 4, 4, 5, 5, 5})}};
  } else if (spec == "embedding_gather") {
    dims = {{"vocab", 40}, {"tokens", 9}, {"d", 96}};
    arrays = {{"ids", Integers({3, 3, -1, 0, 39, 17, 17, 2, -1})}};
  } else if (spec == "gmm") {
    for (const char* block : {"tm", "tk", "tn"}) set(block, "16");
    set("T", "f32");
    dims = {{"m", 70}, {"n", 20}, {"k", 37}, {"groups", 5}, {"shard", 3}, {"group_offset", 1}};
    arrays = {{"sizes", Integers({10, 20, 0, 25, 15})}};
  } else if (spec == "iota") {
    dims = {{"n", 9}};
  }
  return call;
}

/// The inputs that the call does not give.
void Fill(const Kernel& kernel, Inputs& inputs) {
  Diagnostics ignored;
  const auto partial = Bind(kernel, inputs, /*partial=*/true, ignored);
  REQUIRE(partial);
  for (size_t r = 0; r < kernel.refs.size(); ++r) {
    const Ref& ref = kernel.refs[r];
    if (ref.role == Role::kInput && ref.view_of < 0)
      inputs.arrays[ref.name] = RandomArray(ref.dtype, partial->arrays[r], 17 + r);
  }
}

/// What the rules say, and whether the outputs are those of the reference.
struct Judgement {
  std::string rules;  // empty: nothing
  int64_t wrong = 0;  // elements
};

Judgement Judge(const std::string& name, const std::string& text) {
  const auto source = std::make_shared<const Source>(name + ".yaml", text);
  SmallCall call = CallOf(name);
  Diagnostics found;
  const auto spec = ParseSpec(source, found);
  CheckOptions options;
  options.set = call.set;
  options.sizes_follow = true;
  const auto kernel = spec ? CheckSpec(*spec, options, found) : nullptr;
  if (!kernel) return {Render(found, *source)};
  REQUIRE(kernel->reference);
  Fill(*kernel, call.inputs);
  const auto binding = Bind(*kernel, call.inputs, /*partial=*/false, found);
  if (!binding || found.HasErrors()) return {Render(found, *source)};
  CheckGrid(*binding, {}, found);
  CheckStaticRules(*kernel, &*binding, found);
  auto outputs = Interpret(*binding, call.inputs.arrays, {}, found).outputs;
  const auto wanted = ReferenceRun(*binding, call.inputs, found).Run(found);
  if (found.HasErrors()) return {Render(found, *source)};
  Judgement judgement;
  for (const Reference& reference : kernel->references) {
    const Ref& ref = kernel->refs[static_cast<size_t>(reference.ref)];
    const Difference difference =
        Compare(outputs.at(ref.name), wanted.at(ref.name), ToleranceOf(*binding, ref));
    judgement.wrong += difference.elements;
  }
  return judgement;
}

TEST_CASE("what breaks no rule and computes something else is found by the reference") {
  for (const ValidFault& fault : ValidFaults()) {
    INFO(fault.spec << "\n- " << fault.from << "\n+ " << fault.to);
    const Judgement judgement = Judge(fault.spec, Replaced(ReadSpec(fault.spec), fault));
    CHECK(judgement.rules == "");
    if (fault.survives)
      CHECK(judgement.wrong == 0);
    else
      CHECK(judgement.wrong > 0);
  }
}

TEST_CASE("without a fault the references of these kernels hold") {
  for (const ValidFault& fault : ValidFaults()) {
    INFO(fault.spec);
    const Judgement judgement = Judge(fault.spec, ReadSpec(fault.spec));
    CHECK(judgement.rules == "");
    CHECK(judgement.wrong == 0);
  }
}

}  // namespace
}  // namespace kiln::testing
