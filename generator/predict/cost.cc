#include "generator/predict/cost.h"

#include <algorithm>

namespace kiln {

namespace {

/// The HBM, if copies take longer than all that runs beside them, however little steps wait for
/// them; else what most of the time goes into. The two units of a core take turns.
std::string BoundOf(const TimelineTotals& of, double floors, double dispatch) {
  const double compute = of.mxu + of.vpu;
  if (dispatch > of.seconds) return "dispatch";
  if (of.dma > std::max(compute, floors) || of.wait > std::max(compute, of.overhead)) return "HBM";
  if (of.overhead > compute) return "steps";
  return of.mxu >= of.vpu ? "MXU" : "VPU";
}

}  // namespace

CostSummary SummaryOf(const Timeline& timeline, const Machine& machine) {
  CostSummary summary;
  summary.seconds = timeline.seconds;
  const TimelineCore* slowest = nullptr;
  for (const TimelineCore& core : timeline.cores) {
    summary.steps += core.totals.steps;
    summary.skipped_steps += core.totals.skipped_steps;
    summary.flops += core.totals.flops;
    if (slowest == nullptr || core.totals.seconds > slowest->totals.seconds) slowest = &core;
  }
  for (const TimelineOperand& operand : timeline.operands) summary.bytes += operand.bytes;

  const TimelineTotals none;
  const TimelineTotals& of = slowest != nullptr ? slowest->totals : none;
  const auto skipped = static_cast<double>(of.skipped_steps);
  const double floors = (static_cast<double>(of.steps) - skipped) * machine.step_seconds() +
                        skipped * machine.skipped_step_seconds();
  summary.needs = {{"MXU", of.mxu},
                   {"VPU", of.vpu},
                   {"HBM", of.dma},
                   {"steps", floors},
                   {"dispatch", timeline.dispatch}};
  summary.bound = BoundOf(of, floors, timeline.dispatch);

  const auto cores = static_cast<double>(timeline.cores.size());
  summary.peak_flops = timeline.dot_flops_per_second * cores;
  if (summary.peak_flops > 0 && summary.seconds > 0)
    summary.utilization = summary.flops / summary.seconds / summary.peak_flops;
  if (summary.bytes > 0) summary.intensity = summary.flops / static_cast<double>(summary.bytes);
  // All cores' units against the HBM that they share.
  const double bytes_per_second = machine.hbm_bps * static_cast<double>(machine.cores);
  const double peak = timeline.dot_flops_per_second > 0 ? summary.peak_flops
                                                        : machine.RateOf(DType::kBF16).value_or(0);
  summary.ridge = peak / bytes_per_second;
  return summary;
}

}  // namespace kiln
