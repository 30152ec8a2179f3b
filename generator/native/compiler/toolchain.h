#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kiln {

/// What turns generated text into a shared library on this machine.
struct Toolchain {
  std::vector<std::string> compile;  // the compiler and its flags, as far as the source file
  std::vector<std::string> link;     // what follows it
  std::vector<std::string> object;   // instead of both: for an object file, of all instruction sets
  std::string fingerprint;           // changes with whatever decides about the result
  // For who asks.
  std::string version;  // of the compiler, as it says it
  std::string runtime;  // the library
};

/// The system's compiler ($CXX, else c++) and Kiln's runtime: of $KILN_HOME if that is set, else
/// of the installation or build that this program belongs to. Nullopt: `why` says what is missing.
std::optional<Toolchain> FindToolchain(std::string* why);

}  // namespace kiln
