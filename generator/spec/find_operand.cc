#include "generator/spec/find_operand.h"

#include <vector>

#include "generator/text/diagnostic.h"

namespace kiln {

OperandEntry* FindOperand(Spec& spec, const std::string& name) {
  for (auto* entries : {&spec.inputs, &spec.outputs}) {
    for (OperandEntry& entry : *entries) {
      if (entry.name.name == name) return &entry;
    }
  }
  return nullptr;
}

OperandEntry* RequireOperand(Spec& spec, const Ident& name, Diagnostics& diagnostics) {
  OperandEntry* const found = FindOperand(spec, name.name);
  if (found) return found;
  std::vector<std::string> names;
  for (const OperandEntry& entry : spec.inputs) names.push_back(entry.name.name);
  for (const OperandEntry& entry : spec.outputs) names.push_back(entry.name.name);
  diagnostics.Error("name", name.span, "`" + name.name + "` is not an operand",
                    DidYouMean(name.name, names));
  return nullptr;
}

}  // namespace kiln
