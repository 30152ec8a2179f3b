#include "tests/fuzz/pictures.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "generator/cli/run/predict.h"
#include "generator/predict/predict.h"
#include "generator/report/report.h"
#include "generator/report/trace.h"
#include "tests/fuzz/support.h"

namespace kiln::fuzz {
namespace {

// A sanitized build takes many times as long.
constexpr Limits kMostOfPrediction = {4 << 20, 2e-3};  // bytes, seconds

}  // namespace

void PredictCall(const Binding& binding, const Machine& machine, Diagnostics& found) {
  PredictOptions options;
  options.detail = true;
  options.bytes = kMostOfPrediction.bytes;
  if (!kMostOfPrediction.Allow(PredictDemand(binding, machine, options))) return;
  const auto timeline = Predict(binding, machine, options, found);
  Expect(timeline.has_value() || found.HasErrors(), "what is not predicted has a diagnostic");
  if (!timeline) return;

  const cli::PredictResult result{*timeline, machine, SummaryOf(*timeline, machine), {}};
  Expect(!cli::PredictText(result).empty(), "a prediction has a text");
  Expect(nlohmann::json::accept(cli::PredictJson(result)), "… and as JSON, for programs");

  ReportInput input;
  input.kernel = binding.kernel;
  input.binding = &binding;
  input.timeline = &*timeline;
  input.bound = result.cost.bound;
  Expect(!ReportData(input).dump().empty(), "a page shows it");
  std::ostringstream trace;
  WriteTrace(*timeline, trace);
  Expect(nlohmann::json::accept(trace.str()), "a trace is JSON");
}

}  // namespace kiln::fuzz
