#pragma once

#include "generator/check/check_spec.h"
#include "generator/check/grid/check_grid.h"
#include "tests/catch.h"
#include "tests/check/grid/grid_builder.h"

/// Whole messages of the grid check, for specs with sizes.
namespace kiln {

using Found = std::vector<std::string>;

/// A spec that is right by itself, and sizes that it is checked with.
struct Case {
  std::unique_ptr<Kernel> kernel;
  Inputs inputs;
  GridCheckOptions options;

  explicit Case(const std::string& text) {
    const auto source = std::make_shared<const Source>("-", "kernel: k\n" + text);
    Diagnostics diagnostics;
    const auto spec = ParseSpec(source, diagnostics);
    if (spec) kernel = CheckSpec(*spec, {}, diagnostics);
    INFO(Render(diagnostics, *source));
    REQUIRE(kernel);
  }
  Case& Dim(const std::string& name, int64_t value) {
    inputs.dims[name] = value;
    return *this;
  }
  Case& Host(const std::string& name, const std::vector<int64_t>& values) {
    const Ref& ref = kernel->refs[static_cast<size_t>(kernel->FindRef(name))];
    std::vector<int64_t> shape;
    if (ref.role != Role::kScalar) shape = {static_cast<int64_t>(values.size())};
    inputs.arrays[name] = build::Ints(shape, values, ref.dtype);
    return *this;
  }
  Found Check() const {
    Diagnostics diagnostics;
    const auto binding = Bind(*kernel, inputs, /*partial=*/true, diagnostics);
    INFO(Render(diagnostics, *kernel->source));
    REQUIRE(binding);
    REQUIRE(diagnostics.empty());
    CheckGrid(*binding, options, diagnostics);
    return build::Messages(diagnostics);
  }
};

inline constexpr const char* kGather = R"yaml(
prefetch: {ids: "i32[count]"}
grid: {t: count}
inputs:
  x: {array: "f32[m, n]", block: "128, all", index: "ids[t], 0"}
outputs:
  o: {array: "f32[count]", block: "null", index: t, init: 0}
body: |
  o = sum(x)
)yaml";

}  // namespace kiln
