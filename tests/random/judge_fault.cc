#include <algorithm>

#include "tests/random/plant/plant.h"

namespace kiln::soak {
namespace {

std::string FirstDiagnostic(const Diagnostics& found, const Source& source) {
  for (const Diagnostic& diagnostic : found.Sorted()) {
    if (diagnostic.severity == Severity::kError) return Render(diagnostic, source);
  }
  return "";
}

}  // namespace

Verdict JudgeFault(const Draft& draft, const Case& of, const KernelInterface& kernel) {
  const Fault& fault = *draft.fault;
  const auto expected = [&](const std::string& rule) {
    return std::find(fault.rules.begin(), fault.rules.end(), rule) != fault.rules.end();
  };
  const std::string checker = FirstRule(of.found);
  std::string said = FirstDiagnostic(of.found, *of.source);
  if (!checker.empty() && !expected(checker))
    return {"fault: " + fault.kind + ": the checker says " + checker, said};
  if (!of.binding || !kernel.call)
    return checker.empty() ? Verdict{"fault: " + fault.kind + ": missed", ""} : Verdict{};

  // A budget is nothing to the interpreter.
  const bool budget = fault.rules[0] == "tier";
  Diagnostics found;
  if (!budget) Interpret(*of.binding, of.inputs.arrays, {}, found);
  const std::string interpreter = FirstRule(found);
  said += FirstDiagnostic(found, *of.source);
  if (!interpreter.empty() && !expected(interpreter))
    return {"fault: " + fault.kind + ": the interpreter says " + interpreter, said};
  if (checker.empty() && interpreter.empty()) return {"fault: " + fault.kind + ": missed", said};

  for (const int cores : {1, 2}) {
    std::string message;
    const std::string emulator = EmulatorFinds(kernel, of, cores, &message);
    const std::string who = "the emulator on " + std::to_string(cores) + " cores";
    if (emulator.empty() && (!interpreter.empty() || budget))
      return {"fault: " + fault.kind + ": missed by " + who, said};
    if (!emulator.empty() && !expected(emulator))
      return {"fault: " + fault.kind + ": " + who + " says " + emulator, said + message + "\n"};
  }
  return {};
}

}  // namespace kiln::soak
