// Completions and the manual page, which are made from the parser's tables.
#include <algorithm>

#include "generator/cli/command/command.h"
#include "generator/data/environment.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

/// What bash offers for the last of the words; `=` is a word of its own there.
std::vector<std::string> Offered(const std::string& words, const std::string& last) {
  const Folder folder;
  WriteText(folder / "spec.yaml", "");
  const Shown shown = Shell(
      "kiln completion bash >script\n"
      "bash -c 'source ./script; COMP_WORDS=(" +
          words + " \"" + last +
          "\"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _kiln; printf \"%s\\n\" "
          "\"${COMPREPLY[@]}\"'",
      folder.path());
  INFO(shown.err);
  CHECK(shown.status == 0);
  CHECK(shown.err.empty());
  std::vector<std::string> lines;
  std::istringstream in(shown.out);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

using Words = std::vector<std::string>;

TEST_CASE("bash completes commands, options and their values") {
  CHECK(Offered("kiln", "che") == Words{"check"});
  CHECK(Offered("kiln", "comp") == Words{"compile", "completion"});
  CHECK(Offered("kiln run", "--m") == Words{"--machine", "--mode"});
  CHECK(Offered("kiln run --mode", "dir") == Words{"direct"});
  CHECK(Offered("kiln run --mode =", "e") == Words{"emulate"});
  CHECK(Offered("kiln run --mode", "=") == Words{"direct", "emulate", "interpret"});
  CHECK(Offered("kiln check", "sp") == Words{"spec.yaml"});
  CHECK(Offered("kiln run spec.yaml -o", "sc") == Words{"script"});
  CHECK(Offered("kiln cache", "cl") == Words{"clear"});
  CHECK(Offered("kiln cache clear", "--a") == Words{"--all"});
  CHECK(Offered("kiln completion", "z") == Words{"zsh"});
}

TEST_CASE("every command and option is in every shell's script and in the manual page") {
  std::vector<std::string> texts;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    texts.push_back(Kiln(std::string("completion ") + shell).out);
    CHECK(Contains(texts.back(), std::string("made by `kiln completion ") + shell));
  }
  const Shown manual = Kiln("help --man");
  CHECK(manual.status == 0);
  for (const cli::Command& command : cli::Commands()) {
    INFO(command.name);
    CLI::App app;
    std::function<int()> run;
    command.add(app, run);
    for (const std::string& text : texts) CHECK(Contains(text, command.name));
    std::string name = command.name;
    for (size_t at = 0; (at = name.find('-', at)) != name.npos; at += 2) name.insert(at, "\\");
    CHECK(Contains(manual.out, ".SS kiln " + name + "\n"));
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group().empty()) continue;
      for (const std::string& word : option->get_lnames()) {
        INFO(word);
        CHECK(Contains(texts[0], "--" + word));
        CHECK(Contains(texts[1], "'--" + word));
        CHECK(Contains(texts[2], " -l " + word));
      }
    }
  }
  for (const VariableRow& row : EnvironmentVariables()) CHECK(Contains(manual.out, row.name));
  CHECK(Contains(manual.out, ".SH EXIT STATUS\n"));
  CHECK(!Contains(manual.out, "write\\-docs"));
}

TEST_CASE("shells and man read what is printed without a complaint") {
  const std::pair<const char*, const char*> readers[] = {
      {"bash", "kiln completion bash | bash -n"},
      {"zsh", "kiln completion zsh | zsh -n"},
      {"fish", "kiln completion fish >script.fish && fish -n script.fish"},
      {"man",
       "kiln help --man >kiln.1 && LC_ALL=C.UTF-8 MANROFFSEQ= man --warnings -l kiln.1 >text"}};
  for (const auto& [program, command] : readers) {
    if (Shell("command -v " + std::string(program)).status != 0) continue;  // not installed
    const Folder folder;
    const Shown shown = Shell(command, folder.path());
    INFO(command << "\n" << shown.err);
    CHECK(shown.status == 0);
    CHECK(shown.err.empty());
  }
  CHECK(Kiln("completion ksh").status == 2);
}

}  // namespace
}  // namespace kiln::test
