// Completions and the manual page, which are made from the parser's tables.
#include <algorithm>

#include "generator/cli/command/command.h"
#include "generator/cli/explain/commands.h"
#include "generator/cli/options/command_table.h"
#include "generator/system/environment.h"
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

bool Has(const std::string& program) {
  if (Shell("command -v " + program).status == 0) return true;
  WARN("there is no " << program << " here: its completions are not tried");
  return false;
}

/// What fish offers for the last word of a line.
std::string FishOffers(const std::string& line) {
  const Folder folder;
  WriteText(folder / "spec.yaml", "");
  const Shown shown = Shell(
      "kiln completion fish >script; export HOME=$PWD\n"
      "fish --no-config -c 'source ./script; complete -C \"" +
          line + "\"' | cut -f1 | sort | tr '\\n' ' '",
      folder.path());
  CHECK(shown.err.empty());
  return shown.out;
}

TEST_CASE("fish completes commands, options and their values") {
  if (!Has("fish")) return;
  CHECK(FishOffers("kiln comp") == "compile completion ");
  CHECK(FishOffers("kiln run --m") == "--machine --mode ");
  CHECK(FishOffers("kiln run --mode dir") == "direct ");
  CHECK(FishOffers("kiln run --mode=e") == "--mode=emulate ");
  CHECK(FishOffers("kiln check sp") == "spec.yaml ");
  CHECK(FishOffers("kiln cache clear --a") == "--all ");
}

TEST_CASE("zsh completes commands, options and their values") {
  if (!Has("zsh")) return;
  // An interactive shell, in which whoever types presses Tab; `kiln` says with what it is called.
  const Folder folder;
  WriteText(folder / "spec.yaml", "");
  WriteText(folder / "type.zsh",
            "zmodload zsh/zpty\nexport HOME=$PWD\n"
            "for line in 'kiln che' 'kiln run --mod' 'kiln run --mode=emu' 'kiln run --mode dir' "
            "'kiln check sp' 'kiln cache clear --a'; do\n"
            "  rm -f said done\n"
            "  zpty shell zsh -f -i\n"
            "  zpty -w shell \"PROMPT=; fpath=($PWD \\$fpath); autoload -Uz compinit; "
            "compinit -u -D; kiln() { print -r -- \\\"\\$@\\\" >$PWD/said; touch $PWD/done }\"\n"
            "  zpty -w shell \"$line\"$'\\t'\n"
            "  for i in {1..600}; do [[ -e done ]] && break; sleep 0.05; done\n"
            "  zpty -d shell\n"
            "  cat said\n"
            "done\n");
  const Shown shown = Shell("kiln completion zsh >_kiln; zsh -f type.zsh", folder.path());
  CHECK(shown.err.empty());
  CHECK(shown.out ==
        "check\nrun --mode\nrun --mode=emulate\nrun --mode direct\ncheck spec.yaml\n"
        "cache clear --all\n");
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
    const cli::Parser parser;
    std::function<int()> run;
    command.add(parser.list(), run);
    for (const std::string& text : texts) CHECK(Contains(text, command.name));
    std::string name = command.name;
    for (size_t at = 0; (at = name.find('-', at)) != name.npos; at += 2) name.insert(at, "\\");
    CHECK(Contains(manual.out, ".SS kiln " + name + "\n"));
    const auto table = cli::CommandTable(parser.list());
    for (const cli::OptionRow& option : table[0].options) {
      for (const std::string& word : option.names) {
        if (!word.starts_with("--")) continue;
        INFO(word);
        CHECK(Contains(texts[0], word));
        CHECK(Contains(texts[1], "'" + word));
        CHECK(Contains(texts[2], " -l " + word.substr(2)));
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
