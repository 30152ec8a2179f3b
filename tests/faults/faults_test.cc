// Faults that are put into kernels that work: the checker, the interpreter and the emulated run of
// the generated kernel find them, under one rule and at a line of the spec.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "generator/check/grid/check_grid.h"
#include "generator/check/static_rules.h"
#include "generator/interpret/interpret.h"
#include "generator/native/call_diagnostic.h"
#include "generator/native/hides.h"
#include "generator/predict/machine/machine.h"
#include "tests/catch.h"
#include "tests/faults/fault.h"
#include "tests/faults/linked.h"
#include "tests/records/one_nan.h"

namespace kiln::testing {
namespace {

/// What somebody says of a fault: the first error, and the text of the line where it is.
struct Verdict {
  std::string rule;  // empty: nothing
  std::string line;

  std::string Text() const { return rule.empty() ? "nothing" : rule + " at `" + line + "`"; }
};

std::string Trimmed(std::string_view line) {
  const size_t first = line.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : std::string(line.substr(first));
}

Verdict VerdictOf(const Diagnostic& diagnostic, const Source& source) {
  return {diagnostic.rule, Trimmed(source.Line(source.Locate(diagnostic.span.begin).line))};
}

Verdict VerdictOf(const Diagnostics& found, const Source& source) {
  for (const Diagnostic& diagnostic : found.Sorted()) {
    if (diagnostic.severity == Severity::kError) return VerdictOf(diagnostic, source);
  }
  return {};
}

const Machine& TheMachine() {
  static const Machine machine = [] {
    MachineFault fault;
    return LoadMachine("v4", &fault).value();
  }();
  return machine;
}

CallOptions Emulated(int cores) {
  CallOptions options;
  options.emulate = true;
  options.cores = cores;
  options.vmem_bytes = TheMachine().vmem;
  options.smem_bytes = TheMachine().smem;
  return options;
}

struct Verdicts {
  Verdict check, interpreter, emulator;
};

Verdict Emulate(const KernelInterface& compiled, const Binding& binding, const Inputs& inputs,
                const CallOptions& options, std::string* message) {
  const auto run = [&](const CallOptions& how) {
    return CallKernel(compiled, binding, inputs.arrays, how);
  };
  CallResult call = run(options);
  *message = call.message;
  const auto diagnostic = ExamineCall(binding, inputs.arrays, options, run, &call);
  if (diagnostic) return VerdictOf(*diagnostic, *binding.kernel->source);
  return {call.code != 0 ? call.rule : "", ""};
}

RecordCase RecordOf(const Fault& fault) {
  const std::vector<RecordCase> cases = RecordCases();
  return *std::find_if(cases.begin(), cases.end(),
                       [&](const RecordCase& of) { return of.name == fault.record; });
}

Verdicts Judge(size_t number) {
  const Fault& fault = Faults()[number];
  FaultyKernel faulty = ReadFault(fault);
  const Source& source = *faulty.source;
  Verdicts verdicts;
  if (!faulty.kernel) return {VerdictOf(faulty.found, source), {}, {}};
  const Kernel& kernel = *faulty.kernel;
  const Inputs inputs = ReadRecord(RecordOf(fault)).inputs;
  const auto binding = Bind(kernel, inputs, /*partial=*/false, faulty.found);
  REQUIRE(binding);

  CheckGrid(*binding, {.vmem_bytes = TheMachine().vmem, .smem_bytes = TheMachine().smem},
            faulty.found);
  CheckStaticRules(kernel, &*binding, faulty.found);
  verdicts.check = VerdictOf(faulty.found, source);

  Diagnostics interpreted;
  Interpret(*binding, inputs.arrays, {}, interpreted);
  verdicts.interpreter = VerdictOf(interpreted, source);

  const KernelInterface* const compiled = kiln_faulty_kernel(KernelName(number).c_str());
  REQUIRE(compiled);
  std::string message;
  verdicts.emulator = Emulate(*compiled, *binding, inputs, Emulated(1), &message);
  if (!message.empty() && !kernel.axes.empty() && fault.rule != std::string("tier") &&
      message.find("no step visits") == std::string::npos) {
    INFO(message);
    CHECK(message.find(" at grid point (") != std::string::npos);
    CHECK(message.find(" core") != std::string::npos);
  }
  const Verdict two = Emulate(*compiled, *binding, inputs, Emulated(2), &message);
  INFO("two cores: " << message);
  CHECK(two.rule == verdicts.emulator.rule);
  return verdicts;
}

std::string Transcript(const Fault& fault, const Verdicts& verdicts) {
  std::string text = std::string(fault.kind) + ": " + fault.record + "\n";
  for (const auto& [from, to] : fault.edits) {
    const auto lines = [&](const char* sign, const std::string& edit) {
      std::istringstream in(edit);
      for (std::string line; std::getline(in, line);) text += std::string(sign) + line + "\n";
    };
    lines("  - ", from);
    lines("  + ", to);
  }
  return text + "  check        " + verdicts.check.Text() + "\n  interpreter  " +
         verdicts.interpreter.Text() + "\n  emulator     " + verdicts.emulator.Text() + "\n\n";
}

void CompareWithFile(const std::string& text, const std::string& name) {
  const std::string path = KILN_SOURCE_DIR "/tests/faults/" + name;
  if (std::getenv("KILN_UPDATE")) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream in(path);
  std::stringstream known;
  known << in.rdbuf();
  CHECK(text == known.str());
}

/// With KILN_UPDATE set, found.txt is written anew: review the diff.
TEST_CASE("seeded faults are found, under one rule by all") {
  std::string all;
  for (size_t f = 0; f < Faults().size(); ++f) {
    const Fault& fault = Faults()[f];
    const Verdicts verdicts = Judge(f);
    const std::string text = Transcript(fault, verdicts);
    all += text;
    INFO(text);
    const std::string rule = fault.rule;
    // Whoever speaks gives the rule; what the interpreter cannot see (a budget) the check does.
    CHECK((verdicts.check.rule.empty() || verdicts.check.rule == rule));
    CHECK((verdicts.interpreter.rule.empty() || verdicts.interpreter.rule == rule));
    CHECK_FALSE((verdicts.check.rule.empty() && verdicts.interpreter.rule.empty()));
    CHECK(verdicts.emulator.rule == rule);
    CHECK(verdicts.emulator.line != "");
  }
  CompareWithFile(all, "found.txt");
}

/// The rule that an emulated run finds where what keeps no bits of a NaN makes one of all.
std::string RuleWithOneNan(const KernelInterface& compiled, const Binding& binding,
                           const Inputs& inputs, const CallOptions& options,
                           internal::KeptNanBits kept) {
  const auto run = [&](const CallOptions& how) {
    return WithOneNan(CallKernel(compiled, binding, inputs.arrays, how));
  };
  CallResult call = run(options);
  const auto diagnostic = ExamineCall(binding, inputs.arrays, options, run, &call, kept);
  return diagnostic ? std::string(diagnostic->rule) : call.rule;
}

/// Checks that undefined floats are found all the same, in those kernels that `is_of` names; how
/// many are found by marks alone.
int FindWithOneNan(internal::KeptNanBits kept, bool (*is_of)(const Kernel& kernel)) {
  int lost = 0;
  for (size_t f = 0; f < Faults().size(); ++f) {
    const Fault& fault = Faults()[f];
    if (!IsAboutUndefined(RuleLabel::Find(fault.rule))) continue;
    FaultyKernel faulty = ReadFault(fault);
    if (!faulty.kernel || !is_of(*faulty.kernel)) continue;
    const Inputs inputs = ReadRecord(RecordOf(fault)).inputs;
    const auto binding = Bind(*faulty.kernel, inputs, /*partial=*/false, faulty.found);
    REQUIRE(binding);
    const KernelInterface* const compiled = kiln_faulty_kernel(KernelName(f).c_str());
    REQUIRE(compiled);
    INFO(fault.kind << ": " << fault.record);
    for (const int cores : {1, 2})
      CHECK(RuleWithOneNan(*compiled, *binding, inputs, Emulated(cores), kept) == fault.rule);
    const CallResult marked = CallKernel(*compiled, *binding, inputs.arrays, Emulated(1));
    if (marked.code != 0 && WithOneNan(marked).code == 0) ++lost;
  }
  return lost;
}

TEST_CASE("undefined floats are found where arithmetic makes one NaN of all") {
  const int lost = FindWithOneNan({.by_arithmetic = false, .by_bf16_dots = false},
                                  [](const Kernel&) { return true; });
  // So many are found by marks alone, and would not be there: unless this is such a machine.
  if (internal::KeepsNanBits()) CHECK(lost >= 10);
}

TEST_CASE("undefined floats are found where dots of bf16 alone make one NaN of all") {
  const int lost = FindWithOneNan({.by_arithmetic = true, .by_bf16_dots = false}, MultipliesBf16);
  if (internal::NanBitsKept().by_bf16_dots) CHECK(lost >= 3);
}

/// By kind, the specs that have such a fault.
std::map<std::string, std::set<std::string>> KernelsByKind() {
  std::map<std::string, std::set<std::string>> kernels;
  for (const Fault& fault : Faults())
    kernels[fault.kind].insert(std::filesystem::path(RecordOf(fault).spec).stem().string());
  return kernels;
}

/// With KILN_UPDATE set, kinds.txt is written anew.
TEST_CASE("every kind of fault is in five kernels at least") {
  std::string all;
  for (const auto& [kind, kernels] : KernelsByKind()) {
    all += kind + " (" + std::to_string(kernels.size()) + "):";
    for (const std::string& kernel : kernels) all += " " + kernel;
    all += "\n";
    INFO(kind);
    CHECK(kernels.size() >= 5);
  }
  CHECK(KernelsByKind().size() >= 16);
  CompareWithFile(all, "kinds.txt");
}

}  // namespace
}  // namespace kiln::testing
