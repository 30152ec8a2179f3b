#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

/// What the emulator needs to know of a TPU: bytes are those of one core.
struct Machine {
  const char* name;
  int cores;
  int64_t vmem;
  int64_t smem;
};

/// By generation; the first is the default.
const std::vector<Machine>& Machines();
const Machine* FindMachine(const std::string& name);
std::vector<std::string> MachineNames();

}  // namespace kiln
