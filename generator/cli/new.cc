#include "generator/cli/command.h"

namespace kiln::cli {

void AddNew(CLI::App& app, std::function<int()>& run) {
  auto name = std::make_shared<std::string>();
  app.add_option("NAME", *name, "the kernel's name")->required();
  run = [] { return UsageError("`kiln new` is still being written"); };
}

}  // namespace kiln::cli
