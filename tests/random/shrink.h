#pragma once

#include <functional>

#include "tests/random/batch_run.h"

namespace kiln::soak {

/// Every draft that is one step smaller: without a statement, an operand, a key or an axis, with
/// half a size, with an argument in place of an expression. Most are not valid any more.
std::vector<Draft> Smaller(const Draft& draft);

struct ShrinkOptions {
  std::string folder;
  Flavour flavour;
  double seconds = 120;
  std::function<void(size_t characters)> progress;
};

/// The smallest draft that was found to fail in the same way within the time.
Draft Shrink(Draft draft, const Verdict& verdict, const Toolchain& tools,
             const ShrinkOptions& options);

}  // namespace kiln::soak
