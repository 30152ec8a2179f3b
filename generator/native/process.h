#pragma once

#include <functional>
#include <string>
#include <vector>

namespace kiln {

/// Runs a program, found as a shell finds it, and waits for it; what it prints goes to the file
/// `log`. `waiting` is called several times a second with the time so far. Its exit status, 128 +
/// the signal that ended it, or -1 if it could not be started.
int RunProcess(const std::vector<std::string>& command, const std::string& log,
               const std::function<void(double seconds)>& waiting = nullptr);

}  // namespace kiln
