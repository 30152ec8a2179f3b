#pragma once

#include <functional>
#include <memory>
#include <string>

#include "generator/interpret/interpret.h"
#include "generator/native/compare.h"
#include "generator/native/interface.h"
#include "tests/random/draft.h"

/// One draft on every engine.
namespace kiln::soak {

/// A draft as the tool reads it, with the arguments of a call.
struct Case {
  std::shared_ptr<const Source> source;
  std::unique_ptr<Spec> spec;
  std::unique_ptr<Kernel> kernel;       // with its variants
  std::unique_ptr<Kernel> specialised;  // if one of them is chosen
  Inputs inputs;
  std::optional<Binding> binding;
  Diagnostics found;

  const Kernel& called() const { return specialised ? *specialised : *kernel; }
};

/// Reads, checks and binds, with the inputs that the kernel asks for. The binding is there if
/// nothing was found.
std::unique_ptr<Case> Prepare(std::shared_ptr<const Source> source, const CheckOptions& check,
                              const std::function<Inputs(const Kernel&)>& inputs);
std::unique_ptr<Case> Prepare(const Draft& draft);

/// The first error: its rule. Empty: there is none.
std::string FirstRule(const Diagnostics& found);

/// How far from the interpreter's a right answer may be; all 0: not at all. Nullopt: no bound, as
/// the roundings decide what is finite. `wide` is what the interpreter gives without rounding.
std::optional<Tolerance> AllowedOf(const Draft& draft, const Binding& binding, const Ref& ref,
                                   const Array& rounded, const Array& wide);

/// What came of a draft. `kind` is the same for the same sort of failure; empty: all is well.
struct Verdict {
  std::string kind;
  std::string detail;
};

/// Runs a case in this process: the interpreter, then the compiled kernel in every setting.
Verdict Judge(const Draft& draft, const Case& of, const KernelInterface& kernel);

/// The rule that an emulated run of the case gives; empty: none. What it says goes to *message.
std::string EmulatorFinds(const KernelInterface& kernel, const Case& of, int cores,
                          std::string* message);

/// A verdict as text, and back.
std::string ToText(const Verdict& verdict);
Verdict ToVerdict(const std::string& text);

}  // namespace kiln::soak
