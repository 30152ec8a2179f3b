#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// What a kernel's object file holds, in bytes.
struct ObjectCode {
  /// The code of an instruction set.
  struct Target {
    std::string name;  // as Highway has it: "AVX3_DL"
    int64_t bytes = 0;
  };
  std::vector<Target> targets;  // by name
  int64_t common = 0;           // code that is there once: checks of arguments, grids
  int64_t emulator = 0;         // of it: what runs in Emulated alone
  int64_t constants = 0;
  int64_t data = 0;    // that can be written, or is as soon as it is loaded
  int64_t unwind = 0;  // tables for who walks the stack

  int64_t total() const;
};

/// Reads the tables of an ELF object file of 64 bits. Nullopt: *why.
std::optional<ObjectCode> ReadObjectCode(std::string_view file, std::string* why);

}  // namespace kiln
