#include "tests/report/sample.h"

#include <stdexcept>

#include "generator/check/check_spec.h"

namespace kiln {
namespace {

constexpr double kNano = 1e-9;

TimelineOperand Operand(const char* name, TimelineOperand::Kind kind, int ref, int64_t blocks) {
  TimelineOperand operand;
  operand.name = name;
  operand.kind = kind;
  operand.ref = ref;
  operand.line = 5 + ref;
  operand.element_bits = 32;
  operand.dims = {{8 * blocks, 8, blocks, 8, 0, false}};
  operand.buffers = 2;
  operand.memory_bytes = 64;
  return operand;
}

}  // namespace

std::unique_ptr<Kernel> SampleKernel(const std::string& doc) {
  const std::string text = "kernel: sample\ndoc: " + doc +
                           "\ngrid: {i: \"2 * cdiv(n, 8)\"}\n"
                           "inputs:\n  x: {array: \"f32[n]\", block: 8, index: i // 2}\n"
                           "outputs:\n  o: {array: \"f32[2 * n]\", block: 8, index: i}\n"
                           "require: [n % 8 == 0]\n"
                           "body: |\n  o = x\n";
  auto source = std::make_shared<const Source>("folder/sample.yaml", text);
  Diagnostics diagnostics;
  const auto spec = ParseSpec(source, diagnostics);
  auto kernel = spec ? CheckSpec(*spec, {}, diagnostics) : nullptr;
  if (!kernel) throw std::runtime_error(Render(diagnostics, *source));
  return kernel;
}

Timeline SampleTimeline(int64_t steps) {
  Timeline timeline;
  timeline.kernel = "sample";
  timeline.machine = "v5e";
  timeline.axes = {{"i", steps, false}};
  timeline.operands = {Operand("x", TimelineOperand::Kind::kInput, 0, (steps + 1) / 2),
                       Operand("o", TimelineOperand::Kind::kOutput, 1, steps)};
  timeline.works = {{}};
  timeline.works[0].vpu_seconds = 7 * kNano;
  timeline.dispatch = 100 * kNano;
  timeline.vmem_bytes = 128;
  timeline.vmem_budget = 1024;

  TimelineCore core;
  for (int64_t s = 0; s < steps; ++s) {
    const double begin = 11 * kNano * static_cast<double>(s);
    TimelineStep step{s,
                      0,
                      0,
                      static_cast<int64_t>(core.copies.size()),
                      begin,
                      begin + kNano,
                      begin + 11 * kNano};
    if (s % 2 == 0) core.copies.push_back({0, false, false, s / 2, 32, begin - 4 * kNano, begin});
    core.copies.push_back({1, true, false, s, 32, step.end, step.end + 4 * kNano});
    step.copies = static_cast<int32_t>(core.copies.size() - static_cast<size_t>(step.first_copy));
    core.steps.push_back(step);
  }
  TimelineTotals& totals = core.totals;
  totals.steps = steps;
  totals.seconds = 11 * kNano * static_cast<double>(steps);
  totals.wait = kNano * static_cast<double>(steps);
  totals.vpu = 7 * totals.wait;
  totals.overhead = 3 * totals.wait;
  totals.copies_in = timeline.operands[0].copies = (steps + 1) / 2;
  totals.copies_out = timeline.operands[1].copies = steps;
  totals.bytes_in = timeline.operands[0].bytes = 32 * totals.copies_in;
  totals.bytes_out = timeline.operands[1].bytes = 32 * totals.copies_out;
  timeline.operands[0].skipped = steps - totals.copies_in;
  timeline.seconds = timeline.dispatch + totals.seconds;
  timeline.cores = {core};
  return timeline;
}

}  // namespace kiln
