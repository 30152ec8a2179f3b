#pragma once

#include <map>
#include <optional>
#include <string>

#include "generator/native/call.h"

namespace kiln {

/// What the status of a failed call says, at the operand or the statement that it names. Nullopt
/// where it names no line of the spec: a shape, no memory.
std::optional<Diagnostic> FindingOf(const Kernel& kernel, const CallResult& call);

/// Floats show the emulator what is undefined, integers and bools do not: whether some of either
/// decide what a kernel computes.
bool HidesUndefined(const Kernel& kernel);

/// The first element of two calls' outputs that differs though only undefined memory did: a finding
/// of the rule that `first`, whose undefined integers have all bits set, tells.
std::optional<Diagnostic> FindUndefined(const Kernel& kernel,
                                        const std::map<std::string, Array>& first,
                                        const std::map<std::string, Array>& second);

}  // namespace kiln
