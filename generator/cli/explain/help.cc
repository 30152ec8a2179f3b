#include <algorithm>
#include <iostream>
#include <sstream>

#include "generator/cli/command/command.h"
#include "generator/cli/explain/commands.h"
#include "generator/cli/explain/explain.h"
#include "generator/cli/options/command_table.h"
#include "generator/system/environment.h"

namespace kiln::cli {
namespace {

constexpr const char* kEnvironment = "environment";

/// Rows that say the same are one, with all their names.
struct Described {
  std::string names, unset, does;
};

std::vector<Described> DescribedVariables() {
  std::vector<Described> rows;
  for (const VariableRow& row : EnvironmentVariables()) {
    if (!rows.empty() && rows.back().does == row.does)
      rows.back().names += std::string(", ") + row.name;
    else
      rows.push_back({row.name, row.unset, row.does});
  }
  return rows;
}

std::string EnvironmentText() {
  std::ostringstream out;
  for (const Described& row : DescribedVariables()) {
    out << row.names << "\n  " << Plain(row.does);
    if (!row.unset.empty()) out << "\n  unless set: " << Plain(row.unset);
    out << "\n";
  }
  return out.str();
}

int Help(const OptionList& program, const std::string& topic) {
  if (topic == kEnvironment) {
    std::cout << EnvironmentText();
    return kFine;
  }
  std::vector<std::string> topics = {kEnvironment};
  for (const Command& command : Commands()) topics.push_back(command.name);
  if (!topic.empty() && std::find(topics.begin(), topics.end(), topic) == topics.end())
    return UsageError("there is no help on `" + topic + "`", DidYouMean(topic, topics));
  std::cout << HelpOf(program, topic);
  return kFine;
}

}  // namespace

std::string EnvironmentReference() {
  std::string text = "| variable | unless set | does |\n|---|---|---|\n";
  for (const Described& row : DescribedVariables())
    text += "| `" + row.names + "` | " + row.unset + " | " + row.does + " |\n";
  return text;
}

void AddHelp(const OptionList& list, std::function<int()>& run) {
  auto topic = std::make_shared<std::string>();
  auto manual = std::make_shared<bool>(false);
  list.Add("TOPIC", *topic, "a command, or `environment`: the variables that Kiln reads");
  list.Flag("--man", *manual, "print all of it as a manual page");
  list.Footer(
      "Examples:\n"
      "  kiln help run\n"
      "  kiln help --man | man -l -\n"
      "  kiln help environment\n"
      "`kiln explain` explains rules and functions.");
  run = [list, topic, manual] {
    if (!*manual) return Help(list.parent(), *topic);
    std::cout << ManualPage(list.parent());
    return int{kFine};
  };
}

}  // namespace kiln::cli
