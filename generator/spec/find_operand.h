#pragma once

#include <string>

#include "generator/spec/spec.h"
#include "generator/text/diagnostic.h"

namespace kiln {

/// The input or output of this name; null: none.
OperandEntry* FindOperand(Spec& spec, const std::string& name);

/// The same for a name in a key's value: that there is none is an error.
OperandEntry* RequireOperand(Spec& spec, const Ident& name, Diagnostics& diagnostics);

}  // namespace kiln
