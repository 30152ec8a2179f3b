#include <chrono>

#include "generator/cli/run/run.h"
#include "generator/interpret/interpret.h"
#include "generator/native/call_diagnostic.h"

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

std::optional<Diagnostic> FindByElement(const Inputs& inputs, const Binding& binding,
                                        const RunOptions& options, RuleLabel rule) {
  constexpr double kPatience = 5;
  InterpretOptions how;
  how.shuffle = options.shuffle;
  how.seconds = kPatience;
  if (InterpretDemand(binding, how).bytes > options.spec.limit.limits.bytes) return std::nullopt;
  Diagnostics found;
  Interpret(binding, inputs.arrays, how, found);
  for (const Diagnostic& diagnostic : found.Sorted()) {
    const bool asked = diagnostic.rule == rule || IsAboutUndefined(diagnostic.rule);
    if (diagnostic.severity == Severity::kError && asked) return diagnostic;
  }
  return std::nullopt;
}

}  // namespace kiln::cli
