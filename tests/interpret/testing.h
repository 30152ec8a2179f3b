#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generator/check/grid/check_grid.h"
#include "generator/interpret/interpret.h"

/// Specs from text to outputs, for tests of the interpreter.
namespace kiln::testing {

struct Options {
  CheckOptions check;
  InterpretOptions interpret;
  bool check_grid = false;  // most tests ask what the interpreter finds by itself
};

struct Outcome {
  std::map<std::string, Array> outputs;
  int64_t steps = 0;
  std::string diagnostics;         // rendered; empty: none
  std::vector<std::string> rules;  // of the diagnostics, by position in the spec
};

/// Parses, checks, picks the variant, binds and interprets. Stops after the first stage that finds
/// an error.
Outcome RunSource(std::shared_ptr<const Source> source, const Inputs& inputs,
                  const Options& options = {});
/// The same for the text of `k.yaml`, so the kernel's name is k.
Outcome RunSpec(const std::string& text, const Inputs& inputs, const Options& options = {});

/// Only what it finds.
std::string Find(const std::string& text, const Inputs& inputs = {});

Array Floats(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values);
Array Ints(DType dtype, std::vector<int64_t> shape, const std::vector<int64_t>& values);
/// f32 and i32.
Array Floats(std::vector<int64_t> shape, const std::vector<double>& values);
Array Ints(std::vector<int64_t> shape, const std::vector<int64_t>& values);
/// 0, 1, 2, …
Array Counting(DType dtype, std::vector<int64_t> shape);
std::vector<double> Values(const Array& array);
/// x: 0 to 5.
inline const Inputs kSix{{{"x", Counting(DType::kF32, {6})}}, {}};

/// The values of output `o`; the test fails when something was found.
std::vector<double> Run(const std::string& text, const Inputs& inputs = {},
                        const Options& options = {});

}  // namespace kiln::testing
