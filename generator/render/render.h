#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generator/plan/plan.h"

namespace kiln {

/// The text of one generated kernel: NAME.h and NAME.cc, and of its runner.
struct Generated {
  std::string header;
  std::string source;
  std::string runner = {};  // NAME_runner.cc, a program that calls it
};

/// The spec of a text, as its comments call it, and a command that runs its kernel.
struct SpecName {
  std::string file;      // without folders: the text does not depend on where it is generated
  std::string instance;  // whatever the kernel is called; empty: the kernel knows
  std::vector<std::pair<std::string, std::string>> set;  // params that the command set

  template <class Text>
  SpecName(const Text& name) : file(name) {}  // NOLINT: a file's name is one
};

/// Plans to C++: that of the kernel, then those of its variants.
Generated Render(const std::vector<std::unique_ptr<Plan>>& plans, const SpecName& spec);

}  // namespace kiln
