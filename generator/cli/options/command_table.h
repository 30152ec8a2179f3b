#pragma once

#include <string>
#include <vector>

#include "generator/cli/options/option_list.h"

namespace kiln::cli {

/// An option as the parser knows it, for completions and the manual page.
struct OptionRow {
  std::vector<std::string> names;  // "-o", "--out"; a positional argument has none
  std::string argument;  // of a positional one: its name; of others what follows; empty: a flag
  std::vector<std::string> choices;  // the words that it takes, where these are few
  std::string description;           // lines
};

/// A command, or a command's own: "cache list".
struct CommandRow {
  std::string path;
  std::string summary;
  std::string footer;  // lines
  std::vector<OptionRow> options, positionals;
  std::vector<std::string> commands;  // the names of those below it
};

/// The program first (its path is empty), then its commands in order.
std::vector<CommandRow> CommandTable(const OptionList& program);

/// The help of a command, or the program's own.
std::string HelpOf(const OptionList& program, const std::string& command);

/// A text of a page of docs, without the marks around code.
std::string Plain(std::string text);

}  // namespace kiln::cli
