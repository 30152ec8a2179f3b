#include "generator/cli/command_line.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/cli/command/command.h"
#include "generator/cli/command/complain.h"
#include "generator/cli/explain/commands.h"

namespace kiln::cli {
namespace {

void DescribeTool(const Parser& parser) {
  parser.BeTool("kiln", "kiln " KILN_VERSION);
  parser.list().Footer(
      "Start here:\n"
      "  kiln new scale --like=elementwise          a first spec\n"
      "  kiln check scale.yaml                      is it right?\n"
      "  kiln run scale.yaml x=random:1 m=100 n=50  run it\n"
      "Exit status: 0 fine, 1 errors, 2 usage, 3 internal error.");
}

/// The first word, if it looks like a command and is none.
std::optional<std::string> UnknownCommand(int argc, const char* const* argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  if (word.empty() || word[0] == '-') return std::nullopt;
  for (const Command& command : Commands()) {
    if (word == command.name) return std::nullopt;
  }
  return word;
}

int UnknownCommandError(const std::string& word) {
  if (word == "import") {
    return UsageError("this program does not trace Python functions",
                      "`kiln import` comes with the Python package: pip install . where Kiln's "
                      "sources are, then kiln import --help, or python -m kiln import --help");
  }
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.emplace_back(command.name);
  const std::string near = DidYouMean(word, names);
  return UsageError("there is no command `" + word + "`",
                    near.empty() ? "kiln --help lists the commands" : near);
}

}  // namespace

/// Whether errors are for a program: also that of an option which comes before this one.
bool AsksForJson(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--format=json") return true;
    if (word == "--format" && i + 1 < argc && argv[i + 1] == std::string_view("json")) return true;
  }
  return false;
}

CommandLine ParseCommandLine(int argc, const char* const* argv) {
  const bool json = AsksForJson(argc, argv);
  ComplainInJson(json);
  if (const auto word = UnknownCommand(argc, argv)) {
    return {"", [word = *word] { return UnknownCommandError(word); }};
  }
  // A command may ask its own part of it what was parsed, so it lives as long as `run`.
  const auto parser = std::make_shared<Parser>(
      "Kiln: TPU-style kernels as data, checked, interpreted and turned into C++.");
  DescribeTool(*parser);
  const auto complain = [](const char* what) { UsageError(what); };
  std::vector<std::pair<OptionList, std::function<int()>>> commands;
  for (const Command& command : Commands()) {
    auto& [part, run] =
        commands.emplace_back(parser->list().Part(command.name, command.summary), nullptr);
    command.add(part, run);
  }
  if (const auto status = json ? parser->Parse(argc, argv, complain) : parser->Parse(argc, argv))
    return {"", [status = *status] { return status; }};
  for (size_t c = 0; c < commands.size(); ++c) {
    if (commands[c].first.given())
      return {Commands()[c].name, [parser, run = commands[c].second] { return run(); }};
  }
  return {"", [] { return kUsage; }};
}

}  // namespace kiln::cli
