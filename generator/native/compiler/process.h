#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace kiln {

/// A program to run, found as a shell finds it.
struct Process {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // besides this program's own
  int output = -1;                                 // the descriptor that it prints to
  double limit = 0;                                // seconds after which it is killed; 0: none
  std::function<void(double seconds)> waiting;     // called several times a second
};

/// Statuses that no program ends with.
constexpr int kNotStarted = -1;
constexpr int kTimedOut = -2;

/// Runs it as a group of its own, which goes when this program is interrupted, and waits for it.
/// Its exit status, 128 + the signal that ended it, or one of the above.
int RunProcess(const Process& process);

}  // namespace kiln
