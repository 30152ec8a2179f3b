#pragma once

#include <functional>
#include <string>

namespace kiln::cli {

/// What a command line asks for.
struct CommandLine {
  std::string command;  // empty: none, since help or a usage error has been printed
  /// Does it; returns the exit status.
  std::function<int()> run;
};

CommandLine ParseCommandLine(int argc, const char* const* argv);

}  // namespace kiln::cli
