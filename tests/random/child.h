#pragma once

#include <functional>
#include <string>

namespace kiln::soak {

/// What became of work in a process of its own.
struct Outcome {
  std::string text;  // what it returned
  std::string died;  // empty, or "of SIGSEGV", "after 20 s"
};

/// Runs `work` in a child, so that what crashes or hangs takes nothing else with it. What the child
/// writes to the standard error is lost, but for its end in `died`.
Outcome RunInChild(int seconds, const std::function<std::string()>& work);

}  // namespace kiln::soak
