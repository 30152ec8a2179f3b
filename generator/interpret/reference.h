#pragma once

#include <map>
#include <string>

#include "generator/bind/bind.h"
#include "generator/system/limits.h"

namespace kiln {

/// What the expressions of `reference` say, of whole arrays and in double precision: the outputs
/// that they name, floats as f64. It shares no grid, block, plan or runtime with the kernel, only
/// what operations on tiles mean.
class ReferenceRun {
 public:
  /// `binding` is that of the kernel, complete, and `inputs` what it was made of.
  ReferenceRun(const Binding& binding, const Inputs& inputs, Diagnostics& diagnostics);

  Demand Needs() const;
  /// Empty when something was found.
  std::map<std::string, Array> Run(Diagnostics& diagnostics) const;

 private:
  Inputs inputs_;
  std::optional<Binding> binding_;
};

}  // namespace kiln
