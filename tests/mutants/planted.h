#pragma once

#include <cstdlib>
#include <cstring>

namespace kiln {

/// While it is set no fault is planted: what one changes is seen by doing the same with and
/// without.
inline bool no_fault_is_planted = false;

/// Whether KILN_MUTANT names this fault. Only builds with KILN_MUTANTS=ON have any.
inline bool IsPlanted(const char* name) {
  static const char* const chosen = std::getenv("KILN_MUTANT");
  return chosen != nullptr && !no_fault_is_planted && std::strcmp(chosen, name) == 0;
}

}  // namespace kiln
