// What a prediction says without running is what an emulated run does: every step, every copy of
// every block, and every time.
#include "generator/predict/predict.h"
#include "tests/catch.h"
#include "tests/records/kernels.h"

namespace kiln::testing {
namespace {

std::string Text(const Timeline& timeline, const BlockCopy& copy) {
  const bool known = copy.operand >= 0;
  std::string text =
      known ? timeline.operands[static_cast<size_t>(copy.operand)].name : std::string("?");
  text += (copy.out ? " out" : " in") + std::string(copy.manual ? " by hand" : "");
  return text + " " + std::to_string(copy.block) + ": " + std::to_string(copy.bytes) +
         " bytes at " + std::to_string(copy.begin * 1e9) + " to " + std::to_string(copy.end * 1e9) +
         " ns";
}

std::string Text(const TimelineStep& step) {
  return "point " + std::to_string(step.point) + " from " + std::to_string(step.begin * 1e9) +
         " computes " + std::to_string(step.compute * 1e9) + " to " +
         std::to_string(step.end * 1e9) + " ns, " + std::to_string(step.copies) + " copies";
}

/// The first thing that differs; empty: nothing.
std::string Difference(const Timeline& predicted, const Timeline& recorded) {
  if (predicted.cores.size() != recorded.cores.size()) return "another number of cores";
  for (size_t c = 0; c < predicted.cores.size(); ++c) {
    const TimelineCore& want = predicted.cores[c];
    const TimelineCore& got = recorded.cores[c];
    const std::string core = "core " + std::to_string(c) + ": ";
    for (size_t s = 0; s < std::min(want.steps.size(), got.steps.size()); ++s) {
      if (Text(want.steps[s]) != Text(got.steps[s]))
        return core + "predicted " + Text(want.steps[s]) + ", recorded " + Text(got.steps[s]);
    }
    if (want.steps.size() != got.steps.size()) return core + "another number of steps";
    for (size_t i = 0; i < std::min(want.copies.size(), got.copies.size()); ++i) {
      const std::string text = Text(predicted, want.copies[i]);
      if (text != Text(recorded, got.copies[i]))
        return core + "predicted " + text + ", recorded " + Text(recorded, got.copies[i]);
    }
    if (want.copies.size() != got.copies.size()) return core + "another number of copies";
  }
  for (size_t o = 0; o < predicted.operands.size(); ++o) {
    const TimelineOperand& want = predicted.operands[o];
    const TimelineOperand& got = recorded.operands[o];
    if (want.bytes != got.bytes || want.copies != got.copies || want.skipped != got.skipped)
      return "the sums of " + want.name;
  }
  return predicted.seconds == recorded.seconds ? "" : "the seconds";
}

TEST_CASE("predictions are what emulated runs do") {
  MachineFault fault;
  const Machine machine = LoadMachine("v4", &fault).value();
  int compared = 0;
  for (const RecordCase& of : RecordCases()) {
    const KernelInterface* kernel = KernelOf(of.name);
    if (kernel == nullptr) continue;
    const Replay replay(of);
    for (const int cores : {1, 2, 3}) {
      INFO(of.name << " on " << cores);
      CallOptions how;
      how.emulate = how.events = true;
      how.cores = cores;
      const CallResult ran = CallKernel(*kernel, *replay.binding, replay.record.inputs.arrays, how);
      REQUIRE(ran.code == 0);
      const auto recorded = TimelineOf(*replay.binding, machine, ran.recorded);
      REQUIRE(recorded);
      PredictOptions options;
      options.cores = cores;
      options.detail = true;
      Diagnostics found;
      const auto predicted = Predict(*replay.binding, machine, options, found);
      REQUIRE(predicted);
      CHECK(Difference(*predicted, *recorded) == "");
      ++compared;
    }
  }
  CHECK(compared > 300);
}

TEST_CASE("nothing is recorded unless someone asks") {
  const RecordCase of = RecordCases().front();
  const Replay replay(of);
  CallOptions how;
  how.emulate = true;
  const CallResult ran =
      CallKernel(*KernelOf(of.name), *replay.binding, replay.record.inputs.arrays, how);
  CHECK(ran.recorded.cores.empty());
}

}  // namespace
}  // namespace kiln::testing
