#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace kiln::soak {

/// What became of work in a process of its own.
struct Outcome {
  std::string text;  // what it returned
  std::string died;  // empty, or "of SIGSEGV", "after 20 s"
};

/// Work in a process of its own, so that what crashes or hangs takes nothing else with it. What it
/// writes to the standard error is lost, but for its end in `died`.
class Child {
 public:
  Child(int seconds, const std::function<std::string()>& work);

  /// Reads what there is; true when the child has ended, or had to.
  bool Poll();
  /// What Poll waits for.
  std::vector<int> files() const { return {out_, error_}; }
  Outcome Finish();

 private:
  pid_t process_ = -1;
  int out_ = -1, error_ = -1;
  std::chrono::steady_clock::time_point end_;
  std::string text_, errors_;
  bool late_ = false;
};

/// Waits until one of the children has something to say, or for a second.
void WaitForAny(const std::vector<Child>& children);

Outcome RunInChild(int seconds, const std::function<std::string()>& work);

}  // namespace kiln::soak
