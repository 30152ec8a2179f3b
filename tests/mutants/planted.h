#pragma once

#include <cstdlib>
#include <cstring>

namespace kiln {

/// Whether KILN_MUTANT names this fault. Only builds with KILN_MUTANTS=ON have any.
inline bool IsPlanted(const char* name) {
  static const char* const chosen = std::getenv("KILN_MUTANT");
  return chosen != nullptr && std::strcmp(chosen, name) == 0;
}

}  // namespace kiln
