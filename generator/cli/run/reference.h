#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/cli/command/command.h"
#include "generator/native/compare.h"

namespace kiln::cli {

/// How far an output is from what the spec's `reference` says.
struct ReferenceVerdict {
  const Ref* output = nullptr;
  Span span;  // of the reference
  Difference difference;
};

/// Compares outputs of any engine with the spec's references, whose tolerance is that between two
/// engines. Nullopt after an error, which is printed or in the diagnostics.
std::optional<std::vector<ReferenceVerdict>> CompareWithReference(
    const Binding& binding, const Inputs& inputs, const std::map<std::string, Array>& outputs,
    const LimitOptions& limit, Diagnostics& diagnostics);

/// Reports those that are too far as [reference].
void ReportVerdicts(const std::vector<ReferenceVerdict>& verdicts, Diagnostics& diagnostics);

/// "`z` is what its reference says, within 1.2e-07 at [3, 7] where 3e-06 is allowed"
std::string TextOf(const ReferenceVerdict& verdict);

}  // namespace kiln::cli
