#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "generator/native/call.h"
#include "generator/predict/advise.h"
#include "generator/tune/candidates.h"

namespace kiln {

/// A way to cut the problem, and how fast it is.
struct Configuration {
  ParamValues set;     // of the params that are tuned; empty: as the spec says
  bool fixed = false;  // Direct takes these blocks, also where it would take its own
  double predicted = 0;
  double seconds = 0;  // 0: not measured
  bool wrong = false;  // its answers are not those of the spec's own sizes
};

struct TuneOptions {
  bool measure = true;  // on this CPU; else the predicted time counts
  int cores = 0;
  int most = 24;            // configurations to measure …
  double seconds = 90;      // … as long as it has not taken so long
  int64_t cache_bytes = 0;  // what the blocks of a step have to fit into; 0: any
  CompileOptions compile;
  /// Called meanwhile; a share of 1 is the end.
  std::function<void(double share)> predicting;
  /// Called after each configuration; `spec` as the spec says.
  std::function<void(int measured, const Configuration& best, const Configuration& spec)> measured;
};

struct TuneResult {
  std::vector<Configuration> tried;  // the fastest first
  Configuration spec, best;          // the spec's own; `best` may be the same
  double gain = 1;                   // the best over the spec's own: measured in turns
  size_t all = 0, kept = 0;          // combinations; those that the predictor let pass
  int measured = 0;                  // now: the others were known
  bool out_of_time = false;          // there were more to measure
  std::string error;                 // not empty: it ended early
};

/// `request.kernel` and what belongs to it are at the spec's own values; `inputs` are complete if
/// anything is to be measured.
TuneResult Tune(const AdviceRequest& request, const std::vector<TunedParam>& params,
                const TuneOptions& options);

}  // namespace kiln
