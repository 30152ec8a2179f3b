#include "tests/interpret/testing.h"

#include "generator/check/check_spec.h"
#include "tests/catch.h"

namespace kiln::testing {
namespace {

/// The kernel for these inputs: the base, or its first variant that holds.
std::unique_ptr<Kernel> KernelFor(const Spec& spec, const Inputs& inputs, CheckOptions options,
                                  Diagnostics& found) {
  std::unique_ptr<Kernel> kernel = CheckSpec(spec, options, found);
  if (!kernel) return nullptr;
  const int variant = ChooseVariant(*kernel, inputs);
  if (variant < 0) return kernel;
  return CheckSpec(spec, WithVariant(options, kernel->variants[static_cast<size_t>(variant)]),
                   found);
}

Outcome Messages(const Diagnostics& found, const Source& source, Outcome outcome = {}) {
  outcome.diagnostics = Render(found, source);
  for (const Diagnostic& diagnostic : found.Sorted()) outcome.rules.push_back(diagnostic.rule);
  return outcome;
}

}  // namespace

Outcome RunSource(std::shared_ptr<const Source> source, const Inputs& inputs,
                  const Options& options) {
  Diagnostics found;
  const std::unique_ptr<Spec> spec = ParseSpec(source, found);
  if (!spec) return Messages(found, *source);
  const std::unique_ptr<Kernel> kernel = KernelFor(*spec, inputs, options.check, found);
  if (!kernel || found.HasErrors()) return Messages(found, *source);
  const std::optional<Binding> binding = Bind(*kernel, inputs, /*partial=*/false, found);
  if (!binding || found.HasErrors()) return Messages(found, *source);
  if (options.check_grid) {
    CheckGrid(*binding, {}, found);
    if (found.HasErrors()) return Messages(found, *source);
  }
  Diagnostics run_found;
  InterpretResult result = Interpret(*binding, inputs.arrays, options.interpret, run_found);
  return Messages(run_found, *source, {std::move(result.outputs), result.steps, "", {}});
}

Outcome RunSpec(const std::string& text, const Inputs& inputs, const Options& options) {
  return RunSource(std::make_shared<const Source>("k.yaml", text), inputs, options);
}

std::string Find(const std::string& text, const Inputs& inputs) {
  return RunSpec(text, inputs).diagnostics;
}

Array Floats(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  Array array = Array::Zeros(dtype, std::move(shape));
  REQUIRE(array.size() == static_cast<int64_t>(values.size()));
  StoreFloats(array, 0, array.size(), values.data());
  return array;
}

Array Ints(DType dtype, std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  Array array = Array::Zeros(dtype, std::move(shape));
  REQUIRE(array.size() == static_cast<int64_t>(values.size()));
  StoreInts(array, 0, array.size(), values.data());
  return array;
}

Array Floats(std::vector<int64_t> shape, const std::vector<double>& values) {
  return Floats(DType::kF32, std::move(shape), values);
}

Array Ints(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  return Ints(DType::kI32, std::move(shape), values);
}

Array Counting(DType dtype, std::vector<int64_t> shape) {
  Array array = Array::Zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < array.size(); ++i) {
    if (IsFloat(dtype))
      array.SetFloat(i, static_cast<double>(i));
    else
      array.SetInt(i, i);
  }
  return array;
}

std::vector<double> Values(const Array& array) {
  std::vector<double> values;
  for (int64_t i = 0; i < array.size(); ++i) {
    values.push_back(IsFloat(array.dtype) ? array.GetFloat(i)
                                          : static_cast<double>(array.GetInt(i)));
  }
  return values;
}

std::vector<double> Run(const std::string& text, const Inputs& inputs, const Options& options) {
  const Outcome outcome = RunSpec(text, inputs, options);
  if (outcome.diagnostics != "") {
    FAIL_CHECK(outcome.diagnostics);
    return {};
  }
  return Values(outcome.outputs.at("o"));
}

}  // namespace kiln::testing
