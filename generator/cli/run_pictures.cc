#include "generator/cli/run.h"
#include "generator/predict/predict.h"

namespace kiln::cli {

bool WriteRunPictures(const Loaded& loaded, const Binding& binding, const RunOptions& options,
                      const Machine& machine, const CallResult* call) {
  if (!options.pictures.any()) return true;
  PictureRequest request;
  request.loaded = &loaded;
  request.binding = &binding;
  request.machine = &machine;

  // When steps and copies happen is the model's; which copies there were the run tells, too.
  Diagnostics unknown;
  Progress progress("simulating");
  const auto timeline =
      Predict(binding, machine, {options.cores, true, progress.Callback()}, unknown);
  if (timeline) {
    request.timeline = &*timeline;
    request.advice = {BoundLine({*timeline, machine, SummaryOf(*timeline, machine), {}})};
  }
  if (call != nullptr) {
    for (const CopyRecord& record : call->copies)
      request.counts.push_back({record.operand, record.copies, record.bytes});
    if (call->code != 0) request.findings.push_back({true, call->rule, call->message, "", 0});
  }
  return WritePictures(request, options.pictures);
}

}  // namespace kiln::cli
