#include <algorithm>
#include <iostream>
#include <sstream>

#include "generator/cli/command/command.h"
#include "generator/cli/options/command_table.h"

/// `kiln completion SHELL`: scripts made from the parser's own tables, so that none can be behind.
namespace kiln::cli {
namespace {

constexpr const char* kShells[] = {"bash", "zsh", "fish"};

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Inside single quotes.
std::string Escaped(const std::string& text, const std::string& special) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\'') {
      escaped += "'\\''";
      continue;
    }
    if (special.find(c) != std::string::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::vector<std::string> NamesOf(const CommandRow& row) {
  std::vector<std::string> names;
  for (const OptionRow& option : row.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// The words that may stand where no option's value is due.
std::vector<std::string> WordsOf(const CommandRow& row) {
  std::vector<std::string> words = row.commands;
  for (const OptionRow& positional : row.positionals)
    words.insert(words.end(), positional.choices.begin(), positional.choices.end());
  return words;
}

/// Bash takes `--mode=direct` for three words.
std::string Bash(const std::vector<CommandRow>& table) {
  std::ostringstream out;
  out << "# bash completion for kiln, made by `kiln completion bash`.\n"
         "_kiln() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} path= words= "
         "i\n"
         "  [[ $word == = ]] && word= || [[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD - "
         "2]}\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    case \"$path ${COMP_WORDS[i]}\" in\n";
  std::string paths;
  for (const CommandRow& row : table) {
    if (!row.path.empty()) paths += (paths.empty() ? "" : "|") + std::string("' ") + row.path + "'";
  }
  out << "      " << paths
      << ") path=\"$path ${COMP_WORDS[i]}\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$path $before\" in\n";
  for (const CommandRow& row : table) {
    for (const OptionRow& option : row.options) {
      if (option.argument.empty()) continue;
      for (const std::string& name : option.names) {
        out << "    '" << (row.path.empty() ? "" : " ") << row.path << " " << name << "') ";
        if (!option.choices.empty())
          out << "COMPREPLY=($(compgen -W '" << Joined(option.choices)
              << "' -- \"$word\")); return ;;\n";
        else
          out << "COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n";
      }
    }
  }
  out << "  esac\n"
         "  case $path in\n";
  for (const CommandRow& row : table) {
    out << "    '" << (row.path.empty() ? "" : " ") << row.path << "')\n"
        << "      words='" << Joined(WordsOf(row)) << "'\n"
        << "      [[ $word == -* ]] && words='" << Joined(NamesOf(row)) << "' ;;\n";
  }
  out << "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  [[ $word == -* || -z $path ]] || COMPREPLY+=($(compgen -f -- \"$word\"))\n"
         "}\n"
         "complete -o filenames -F _kiln kiln\n";
  return out.str();
}

std::string ZshArgument(const OptionRow& option) {
  if (option.argument.empty()) return "";
  const std::string action = option.choices.empty() ? "_files" : "(" + Joined(option.choices) + ")";
  return ":" + Escaped(option.argument, ":[]\\") + ":" + action;
}

/// A case of the function for a command, and those below it by a function of their own.
void ZshCommand(const CommandRow& row, std::ostringstream& out) {
  out << "    '" << row.path << "')\n      _arguments -s";
  for (const OptionRow& option : row.options) {
    for (const std::string& name : option.names) {
      const bool joins = !option.argument.empty() && name.rfind("--", 0) == 0;
      out << " \\\n        '" << name << (joins ? "=" : "") << "["
          << Escaped(FirstLine(option.description), "[]\\:") << "]"
          << Escaped(ZshArgument(option), "") << "'";
    }
  }
  if (!row.commands.empty()) {
    out << " \\\n        '1:command:(" << Joined(row.commands) << ")'";
  } else if (const auto words = WordsOf(row); !words.empty()) {
    out << " \\\n        '*:word:(" << Joined(words) << ")'";
  } else {
    out << " \\\n        '*:file:_files'";
  }
  out << " ;;\n";
}

std::string Zsh(const std::vector<CommandRow>& table) {
  std::ostringstream out;
  out << "#compdef kiln\n"
         "# zsh completion for kiln, made by `kiln completion zsh`.\n"
         "_kiln() {\n"
         "  local -a commands\n"
         "  commands=(\n";
  for (const CommandRow& row : table) {
    if (!row.path.empty() && row.path.find(' ') == std::string::npos)
      out << "    '" << row.path << ":" << Escaped(row.summary, ":\\") << "'\n";
  }
  out << "  )\n"
         "  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local at=$words[2]\n"
         "  case \"$words[2] ${words[3]-}\" in\n";
  std::string nested;
  for (const CommandRow& row : table) {
    if (row.path.find(' ') != std::string::npos)
      nested += (nested.empty() ? "" : "|") + std::string("'") + row.path + "'";
  }
  out << "    " << nested
      << ") ((CURRENT > 3)) && at=\"$words[2] $words[3]\" && shift words && ((--CURRENT)) ;;\n"
         "  esac\n"
         "  ((CURRENT > 2)) && shift words && ((--CURRENT)) || at=\n"
         "  case $at in\n";
  for (const CommandRow& row : table) ZshCommand(row, out);
  out << "  esac\n"
         "}\n"
         "_kiln \"$@\"\n";
  return out.str();
}

/// When a line of the script holds: at the command and none below it.
std::string FishCondition(const CommandRow& row) {
  if (row.path.empty()) return "__fish_use_subcommand";
  std::string condition;
  std::istringstream words(row.path);
  for (std::string word; words >> word;)
    condition +=
        (condition.empty() ? "" : "; and ") + std::string("__fish_seen_subcommand_from ") + word;
  if (!row.commands.empty())
    condition += "; and not __fish_seen_subcommand_from " + Joined(row.commands);
  return condition;
}

std::string Fish(const std::vector<CommandRow>& table) {
  std::ostringstream out;
  out << "# fish completion for kiln, made by `kiln completion fish`.\n"
         "complete -c kiln -n __fish_use_subcommand -f\n";
  for (const CommandRow& row : table) {
    const std::string begin = "complete -c kiln -n '" + FishCondition(row) + "'";
    for (const std::string& word : row.commands) {
      const std::string path = row.path + (row.path.empty() ? "" : " ") + word;
      const auto below = std::find_if(table.begin(), table.end(),
                                      [&](const CommandRow& other) { return other.path == path; });
      out << begin << " -f -a " << word << " -d '" << Escaped(below->summary, "\\") << "'\n";
    }
    for (const OptionRow& positional : row.positionals) {
      if (!positional.choices.empty())
        out << begin << " -f -a '" << Joined(positional.choices) << "'\n";
    }
    for (const OptionRow& option : row.options) {
      out << begin;
      for (const std::string& name : option.names)
        out << (name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1));
      if (!option.choices.empty())
        out << " -x -a '" << Joined(option.choices) << "'";
      else if (!option.argument.empty())
        out << " -r";
      out << " -d '" << Escaped(FirstLine(option.description), "\\") << "'\n";
    }
  }
  return out.str();
}

int Print(const OptionList& program, const std::string& shell) {
  const auto table = CommandTable(program);
  std::cout << (shell == "bash" ? Bash(table) : shell == "zsh" ? Zsh(table) : Fish(table));
  return kFine;
}

}  // namespace

void AddCompletion(const OptionList& list, std::function<int()>& run) {
  auto shell = std::make_shared<std::string>();
  list.Add("SHELL", *shell, "which shell's script to print")
      .Required()
      .OneOf({std::begin(kShells), std::end(kShells)});
  list.Footer(
      "Examples:\n"
      "  kiln completion bash\n"
      "An installation has these where the shells look. Elsewhere, for this shell:\n"
      "  bash  source <(kiln completion bash)\n"
      "  zsh   kiln completion zsh >~/.zfunc/_kiln, with ~/.zfunc in fpath\n"
      "  fish  kiln completion fish >~/.config/fish/completions/kiln.fish");
  run = [list, shell] { return Print(list.parent(), *shell); };
}

}  // namespace kiln::cli
