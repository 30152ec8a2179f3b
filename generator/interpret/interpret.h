#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "generator/bind/bind.h"
#include "generator/system/limits.h"

namespace kiln {

struct InterpretOptions {
  bool wide = false;                // floats in f64 throughout; nothing rounds
  std::optional<uint64_t> shuffle;  // visit the parallel axes in a seeded random order
  std::function<void(double)> progress;
  double seconds = 0;  // gives up then, without diagnostics at the end; 0: never
};

struct InterpretResult {
  std::map<std::string, Array> outputs;
  int64_t steps = 0;
};

/// What a run would take, besides its inputs.
Demand InterpretDemand(const Binding& binding, const InterpretOptions& options);

/// Runs the kernel on arrays, one grid step after the other, with shadow state. Diagnostics carry
/// the labels of the language page and name operand, grid point and line. The outputs are there
/// even when something was found (undefined elements read as NaN, or the largest integer).
/// Inputs of aliased outputs are not modified.
InterpretResult Interpret(const Binding& binding, const std::map<std::string, Array>& arrays,
                          const InterpretOptions& options, Diagnostics& diagnostics);

}  // namespace kiln
