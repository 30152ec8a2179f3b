#include <iostream>

#include "generator/cli/command.h"
#include "generator/front/rules.h"

namespace kiln::cli {

void AddExplain(CLI::App& app, std::function<int()>& run) {
  auto label = std::make_shared<std::string>();
  app.add_option("RULE", *label, "the label in a finding's brackets: index-range");
  run = [label] {
    for (const Rule& rule : Rules()) std::cout << rule.label << "  " << rule.title << "\n";
    return FindRule(*label) || label->empty() ? kFine : UsageError("there is no rule `" + *label + "`");
  };
}

}  // namespace kiln::cli
