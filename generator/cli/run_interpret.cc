#include <unistd.h>

#include <chrono>
#include <cmath>

#include "generator/cli/run.h"
#include "generator/interpret/interpret.h"

namespace kiln::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// What the interpreter holds: the arrays, and the shadow of every element of an output.
constexpr double kShadowBytes = 16;

double BytesNeeded(const Binding& binding) {
  double bytes = 0;
  for (size_t i = 0; i < binding.kernel->refs.size(); ++i) {
    const Ref& ref = binding.kernel->refs[i];
    if ((ref.role != Role::kInput && ref.role != Role::kOutput) || ref.view_of >= 0) continue;
    double elements = 1;
    for (int64_t extent : binding.arrays[i]) elements *= static_cast<double>(extent);
    const double shadow = ref.role == Role::kOutput ? kShadowBytes : 0;
    bytes += elements * (static_cast<double>(SizeOf(ref.dtype)) + shadow);
  }
  return bytes;
}

double BytesOfMachine() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

/// Better a sentence now than the system's killer later.
bool FitsInMemory(const Binding& binding) {
  const double machine = BytesOfMachine();
  const double needed = BytesNeeded(binding);
  if (needed <= machine / 2) return true;
  const double gib = static_cast<double>(1 << 30);
  UsageError("interpreting these sizes needs " + Number(std::round(needed / gib * 10) / 10) +
                 " GiB of memory, and this machine has " +
                 Number(std::round(machine / gib * 10) / 10),
             "`kiln check` with the same sizes needs none of it");
  return false;
}

}  // namespace

std::optional<RunResult> RunInterpreter(Loaded& loaded, const Inputs& inputs,
                                        const Binding& binding, const RunOptions& options) {
  if (!FitsInMemory(binding)) return std::nullopt;
  InterpretOptions how;
  how.wide = options.wide;
  how.shuffle = options.shuffle;
  Progress progress("interpreting");
  how.progress = progress.Callback();
  const auto start = Clock::now();
  InterpretResult result = Interpret(binding, inputs.arrays, how, loaded.diagnostics);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return RunResult{
      std::move(result.outputs), "interpreted: " + Steps(binding) + " in " + Duration(seconds), {}};
}

void LocateUndefined(const Inputs& inputs, const Binding& binding, const RunOptions& options,
                     Diagnostic& finding) {
  constexpr double kPatience = 5;
  if (BytesNeeded(binding) > BytesOfMachine() / 4) return;
  InterpretOptions how;
  how.shuffle = options.shuffle;
  how.seconds = kPatience;
  Diagnostics found;
  Interpret(binding, inputs.arrays, how, found);
  for (const Diagnostic& by_element : found.Sorted()) {
    if (by_element.severity != Severity::kError || by_element.rule != finding.rule) continue;
    finding.notes.push_back({finding.span, "element by element: " + by_element.message});
    finding.notes.insert(finding.notes.end(), by_element.notes.begin(), by_element.notes.end());
    finding.span = by_element.span;
    finding.hint = by_element.hint;
    return;
  }
}

}  // namespace kiln::cli
