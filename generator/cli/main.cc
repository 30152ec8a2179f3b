#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>

#include "generator/cli/command/command.h"
#include "generator/cli/command_line.h"
#include "generator/data/interrupt.h"

namespace {

/// What was printed may not have arrived: standard output may be a file on a full disk.
int Delivered(int status) {
  std::cout.flush();
  if (std::cout.good()) return status;
  return std::max(status, kiln::cli::UsageError("cannot write all of standard output",
                                                "is it closed, or is its disk full?"));
}

}  // namespace

int main(int argc, char** argv) {
  kiln::EndOnInterrupt();
  // A file that may grow no more is an error of whoever writes it, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return Delivered(kiln::cli::ParseCommandLine(argc, argv).run());
  } catch (const std::bad_alloc&) {
    std::cerr << "kiln: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "kiln: internal error: " << error.what() << "\n";
  }
  return kiln::cli::kInternal;
}
