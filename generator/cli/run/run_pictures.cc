#include "generator/cli/run/run.h"
#include "generator/predict/predict.h"

namespace kiln::cli {
namespace {

/// Of the run, if it came to its end and has been kept; else of what it was about to do.
std::optional<Timeline> TimelineToShow(const Binding& binding, const RunOptions& options,
                                       const Machine& machine, const CallResult* call) {
  if (call != nullptr && call->code == 0) {
    if (auto recorded = TimelineOf(binding, machine, call->recorded)) return recorded;
  }
  const LimitOptions& limit = options.spec.limit;
  Progress progress("simulating");
  const PredictOptions how{options.cores, true, progress.Callback(), limit.limits.bytes};
  if (!limit.Allow("simulating " + Steps(binding), PredictDemand(binding, machine, how)))
    return std::nullopt;
  Diagnostics unknown;
  return Predict(binding, machine, how, unknown);
}

}  // namespace

bool WriteRunPictures(const Loaded& loaded, const Binding& binding, const RunOptions& options,
                      const Machine& machine, const CallResult* call) {
  if (!options.pictures.any()) return true;
  PictureRequest request;
  request.loaded = &loaded;
  request.binding = &binding;
  request.machine = &machine;

  const auto timeline = TimelineToShow(binding, options, machine, call);
  if (timeline) {
    request.timeline = &*timeline;
    request.advice = {BoundLine({*timeline, machine, SummaryOf(*timeline, machine), {}})};
  }
  if (call != nullptr) {
    for (const CopyRecord& record : call->copies)
      request.counts.push_back({record.operand, record.copies, record.bytes});
    // One that names a line is among the spec's diagnostics.
    if (call->code != 0 && !loaded.diagnostics.HasErrors())
      request.diagnostics.push_back({true, call->rule, call->message, "", 0});
  }
  return WritePictures(request, options.pictures);
}

}  // namespace kiln::cli
