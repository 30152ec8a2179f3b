#pragma once

#include <string>
#include <vector>

#include "generator/cli/run/simulate.h"
#include "generator/predict/advise.h"
#include "generator/predict/cost.h"

namespace kiln::cli {

/// What `kiln predict` found out.
struct PredictResult {
  const Timeline& timeline;
  const Machine& machine;
  CostSummary cost;
  std::vector<Advice> advice;
};

/// With what would help, if `advise`.
PredictResult ResultOf(const Simulation& simulation, const Timeline& timeline, bool advise);

// predict_report.cc
/// What is being waited for, in a sentence.
std::string BoundText(const PredictResult& result);
/// A line for each piece of advice.
std::vector<std::string> AdviceLines(const PredictResult& result);
std::string PredictText(const PredictResult& result);
std::string PredictJson(const PredictResult& result);

}  // namespace kiln::cli
