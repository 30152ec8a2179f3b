#include <exception>
#include <iostream>
#include <new>

#include "generator/cli/command.h"
#include "generator/cli/command_line.h"

int main(int argc, char** argv) {
  try {
    return kiln::cli::ParseCommandLine(argc, argv).run();
  } catch (const std::bad_alloc&) {
    std::cerr << "kiln: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "kiln: internal error: " << error.what() << "\n";
  }
  return kiln::cli::kInternal;
}
