#pragma once

#include <functional>
#include <optional>

#include "generator/native/call.h"

namespace kiln {

/// What the status of a failed call says, at the operand or the statement that it names. Nullopt
/// where it names no line of the spec: a shape, no memory.
std::optional<Diagnostic> FindingOf(const Kernel& kernel, const CallResult& call);

/// Floats show the emulator what is undefined; integers, bools and conditions do not. Where a
/// kernel has such, an emulated call that found nothing is made again with other bits in undefined
/// memory: if that shows, it is a finding. So is what NaN finds where the call had other bits.
std::optional<Diagnostic> FindHidden(const Kernel& kernel, const CallResult& first, CallOptions how,
                                     const std::function<CallResult(const CallOptions&)>& call);

}  // namespace kiln
