#pragma once

#include <functional>
#include <optional>

#include "generator/front/bind.h"
#include "generator/predict/machine.h"
#include "generator/predict/timeline.h"

namespace kiln {

struct PredictOptions {
  int64_t cores = 0;    // 0: the machine's
  bool detail = false;  // every step, and segments; else only sums
  /// Called now and then with the share that is done, where it takes long. May be null.
  std::function<void(double)> progress;
};

/// What a run on the machine would look like, from index maps and conditions alone: neither data
/// nor memory for arrays is needed, but prefetch arrays and scalars that those look at. Nullopt,
/// and a finding, when something that decides the steps is not known.
std::optional<Timeline> Predict(const Binding& binding, const Machine& machine,
                                const PredictOptions& options, Diagnostics& diagnostics);

}  // namespace kiln
