#include "tests/fuzz/target.h"

namespace kiln::fuzz {

const std::vector<Target>& Targets() {
  static const std::vector<Target> targets = {
      SpecTarget(), BodyTarget(),   LockTarget(),    MachineTarget(),
      NpyTarget(),  GoldenTarget(), CommandTarget(),
  };
  return targets;
}

const Target* FindTarget(std::string_view name) {
  for (const Target& target : Targets()) {
    if (name == target.name) return &target;
  }
  return nullptr;
}

}  // namespace kiln::fuzz
