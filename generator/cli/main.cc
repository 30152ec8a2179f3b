#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>

#include "generator/cli/command/complain.h"
#include "generator/cli/command_line.h"
#include "generator/system/interrupt.h"

namespace {

/// What was printed may not have arrived: standard output may be a file on a full disk.
int Delivered(int status) {
  kiln::cli::EndComplaints();
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
    return Delivered(kiln::cli::InternalError("out of memory"));
  } catch (const std::exception& error) {
    return Delivered(kiln::cli::InternalError(std::string("internal error: ") + error.what()));
  }
}
