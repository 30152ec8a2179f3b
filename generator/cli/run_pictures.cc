#include <cstdlib>

#include "generator/cli/run.h"
#include "generator/predict/predict.h"

namespace kiln::cli {
namespace {

/// The spec's line that a kernel's status names: "block (2, 0) of x (line 17) is …"; 0: none.
int LineIn(const std::string& message) {
  const std::string before = "(line ";
  const size_t at = message.find(before);
  return at == std::string::npos ? 0 : std::atoi(message.c_str() + at + before.size());
}

}  // namespace

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
    if (call->code != 0)
      request.findings.push_back({true, call->rule, call->message, "", LineIn(call->message)});
  }
  return WritePictures(request, options.pictures);
}

}  // namespace kiln::cli
