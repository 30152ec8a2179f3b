#pragma once

#include <string>
#include <vector>

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

// predict_report.cc
std::string PredictText(const PredictResult& result);
std::string PredictJson(const PredictResult& result);

}  // namespace kiln::cli
