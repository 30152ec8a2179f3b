#pragma once

#include <functional>
#include <vector>

#include "generator/cli/options/option_list.h"

namespace kiln::cli {

/// A subcommand: `add` declares its options and leaves what to run in `run`.
struct Command {
  const char* name;
  const char* summary;
  void (*add)(const OptionList& list, std::function<int()>& run);
};

/// All of them, in the order in which they are listed.
const std::vector<Command>& Commands();

}  // namespace kiln::cli
