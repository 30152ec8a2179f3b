#pragma once

#include <functional>
#include <optional>

#include "generator/bind/bind.h"
#include "generator/predict/machine/machine.h"
#include "generator/predict/steps/timeline.h"
#include "generator/system/limits.h"

namespace kiln {

struct PredictOptions {
  int64_t cores = 0;    // 0: the machine's
  bool detail = false;  // every step, and segments; else only sums
  /// Called now and then with the share that is done, where it takes long. May be null.
  std::function<void(double)> progress;
  /// What steps of ever new kinds may hold: it is not known before.
  double bytes = DefaultLimits().bytes;
};

/// What Predict would take: nothing where it would only find something.
Demand PredictDemand(const Binding& binding, const Machine& machine, const PredictOptions& options);

/// What a run on the machine would look like, from index maps and conditions alone: neither data
/// nor memory for arrays is needed, but prefetch arrays and scalars that those look at. Nullopt,
/// and a diagnostic, when something that decides the steps is not known, or when they take longer
/// or are of more kinds than can be kept.
std::optional<Timeline> Predict(const Binding& binding, const Machine& machine,
                                const PredictOptions& options, Diagnostics& diagnostics);

}  // namespace kiln
