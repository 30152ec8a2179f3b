#include "generator/native/machine.h"

namespace kiln {

const std::vector<Machine>& Machines() {
  constexpr int64_t kMiB = 1 << 20;
  // As JAX's own table of hardware has them. Cores that share an HBM run one kernel together.
  static const std::vector<Machine> machines = {
      {"v4", 2, 16 * kMiB, kMiB},   {"v5e", 1, 128 * kMiB, kMiB}, {"v5p", 2, 64 * kMiB, kMiB},
      {"v6e", 1, 128 * kMiB, kMiB}, {"v7x", 2, 64 * kMiB, kMiB},
  };
  return machines;
}

const Machine* FindMachine(const std::string& name) {
  for (const Machine& machine : Machines()) {
    if (machine.name == name) return &machine;
  }
  return nullptr;
}

std::vector<std::string> MachineNames() {
  std::vector<std::string> names;
  for (const Machine& machine : Machines()) names.push_back(machine.name);
  return names;
}

}  // namespace kiln
