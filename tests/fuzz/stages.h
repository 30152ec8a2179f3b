#pragma once

#include <string>
#include <vector>

#include "generator/ir/kernel.h"
#include "generator/spec/spec.h"

namespace kiln::fuzz {

/// The path of a spec that is in no file, whose name would have to be the kernel's.
inline constexpr const char* kNoFile = "-";

/// Takes a spec through every stage that its text alone decides, and through the checks of a call
/// of small sizes, and the call: what `check`, `show`, `generate`, `predict`,
/// `report` and `run` do, in memory. `turn`
/// chooses the sizes. Null when the spec does not check.
std::unique_ptr<Kernel> RunStages(const Spec& spec, const CheckOptions& options, size_t turn,
                                  Diagnostics& found);

/// Every word of the spec language: keys, forms, functions, dtypes.
std::vector<std::string> SpecWords();

/// The YAML specs of the repository, right and wrong ones.
std::vector<std::string> SpecTexts();

}  // namespace kiln::fuzz
