// The order of the rules that need no run, and which of them a binding or sample sizes supersede.
#include "generator/check/static_rules.h"

#include "generator/check/index_map_rules.h"
#include "generator/check/sample_sizes.h"
#include "generator/check/shape_rules.h"
#include "generator/check/tail_rules.h"
#include "generator/check/undefined_rules.h"

namespace kiln {

void CheckStaticRules(const Kernel& kernel, const Binding* binding, Diagnostics& diagnostics) {
  CheckUndefined(kernel, diagnostics);
  CheckTails(kernel, binding, diagnostics);
  if (!binding) CheckShapes(kernel, diagnostics);
  // Trying sizes out names blocks and grid points; where the grid itself depends on values that
  // only a call has, the maps alone must do.
  if (!binding && !CheckSampleSizes(kernel, diagnostics)) CheckIndexMaps(kernel, diagnostics);
}

}  // namespace kiln
