#include <chrono>

#include "generator/cli/run.h"
#include "generator/interpret/interpret.h"

namespace kiln::cli {
namespace {

using Clock = std::chrono::steady_clock;

InterpretOptions HowOf(const RunOptions& options) {
  InterpretOptions how;
  how.wide = options.wide;
  how.shuffle = options.shuffle;
  return how;
}

}  // namespace

bool AllowInterpreting(const Binding& binding, const RunOptions& options) {
  return options.spec.limit.Allow("interpreting " + Steps(binding),
                                  InterpretDemand(binding, HowOf(options)));
}

std::optional<RunResult> RunInterpreter(Loaded& loaded, const Inputs& inputs,
                                        const Binding& binding, const RunOptions& options) {
  if (!AllowInterpreting(binding, options)) return std::nullopt;
  InterpretOptions how = HowOf(options);
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
  InterpretOptions how;
  how.shuffle = options.shuffle;
  how.seconds = kPatience;
  if (InterpretDemand(binding, how).bytes > options.spec.limit.limits.bytes) return;
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
