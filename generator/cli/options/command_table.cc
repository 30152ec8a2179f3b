#include "generator/cli/options/command_table.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace kiln::cli {
namespace {

/// Of "TEXT:{interpret,direct,emulate}".
std::vector<std::string> ChoicesOf(const std::string& type) {
  std::vector<std::string> choices;
  const size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos) return choices;
  std::istringstream words(type.substr(begin + 1, end - begin - 1));
  for (std::string word; std::getline(words, word, ',');) choices.push_back(word);
  return choices;
}

OptionRow RowOf(const CLI::Option& option) {
  OptionRow row;
  row.description = option.get_description();
  const std::string type = option.get_type_name();
  row.choices = ChoicesOf(type);
  if (option.get_positional()) {
    row.argument = option.get_name(/*positional=*/true);
    return row;
  }
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) row.argument = type.substr(0, type.find(':'));
  return row;
}

void Add(const CLI::App& app, const std::string& path, std::vector<CommandRow>& table) {
  CommandRow row;
  row.path = path;
  row.summary = app.get_description();
  row.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    (option->get_positional() ? row.positionals : row.options).push_back(RowOf(*option));
  }
  const auto all = [](const CLI::App*) { return true; };
  for (const CLI::App* below : app.get_subcommands(all)) row.commands.push_back(below->get_name());
  table.push_back(std::move(row));
  for (const CLI::App* below : app.get_subcommands(all))
    Add(*below, path + (path.empty() ? "" : " ") + below->get_name(), table);
}

}  // namespace

std::vector<CommandRow> CommandTable(const OptionList& program) {
  std::vector<CommandRow> table;
  Add(program.app(), "", table);
  return table;
}

std::string HelpOf(const OptionList& program, const std::string& command) {
  const CLI::App& all = program.app();
  if (!command.empty()) return all.get_subcommand(command)->help(all.get_name());
  // Asked itself, it would print the help of the command that runs.
  return all.get_formatter()->make_help(&all, all.get_name(), CLI::AppFormatMode::Normal);
}

std::string Plain(std::string text) {
  std::erase(text, '`');
  return text;
}

}  // namespace kiln::cli
