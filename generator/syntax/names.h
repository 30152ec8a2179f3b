#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/syntax/trees.h"
#include "generator/text/diagnostic.h"

namespace kiln {

constexpr size_t kMaxNameLength = 64;

/// `text` in backquotes, cut when it is long.
std::string Quote(std::string_view text);

/// Letters, digits and `_`, not a digit first.
bool IsIdentifier(std::string_view text);

/// Words of Kiln's own grammar, which name nothing else.
bool IsReservedWord(std::string_view text);

/// "did you mean", for what stands where a dtype may: JAX's name of one, or nearly one of
/// `candidates`.
std::string HintForDType(std::string_view text, const std::vector<std::string>& candidates);

/// Whether a spec may give something this name, so that it can reach C++ as it stands: an
/// identifier that is neither Kiln's nor C++'s. Reports error[name] when not.
bool CheckNewName(const Ident& name, Diagnostics& diagnostics);

}  // namespace kiln
