#pragma once

#include <functional>
#include <optional>

#include "generator/native/call.h"
#include "kiln/simd/nan_bits.h"

namespace kiln {

/// Whether it is a rule that undefined values break.
bool IsAboutUndefined(RuleLabel rule);

/// What a failed call's status says, at the operand or the statement that it names. Nullopt where
/// it names no line of the spec: a shape, no memory.
std::optional<Diagnostic> DiagnosticOf(const Kernel& kernel, const CallResult& call);

/// Makes the call again with these options.
using CallAgain = std::function<CallResult(const CallOptions&)>;

/// What a call finds; nullopt with a status other than 0: no line of the spec. Floats show the
/// emulator what is undefined; integers, bools and conditions do not. Where a kernel has such, an
/// emulated call that found nothing is made again with other bits in undefined memory: if that
/// shows, it is a diagnostic. So is what NaN finds where the call had other bits. Where a NaN may
/// be the caller's own, or of a bitcast, it counts only if other bits change the outputs; if they
/// do not, *result becomes that of a call with others. Where arithmetic does not keep the bits of a
/// NaN, by which floats show it, any NaN in an output is a reason to call again.
std::optional<Diagnostic> ExamineCall(const Binding& binding,
                                      const std::map<std::string, Array>& arrays,
                                      const CallOptions& how, const CallAgain& again,
                                      CallResult* result,
                                      internal::KeptNanBits kept = internal::NanBitsKept());

}  // namespace kiln
