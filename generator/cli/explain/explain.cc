#include "generator/cli/explain/explain.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "generator/bind/host.h"
#include "generator/cli/command/command.h"
#include "generator/elaborate/elaborate.h"

namespace kiln::cli {
namespace {

constexpr size_t kWidth = 92;  // of running text on a terminal

/// Paragraphs filled to kWidth; list items keep lines of their own.
std::string Filled(std::string_view text, const std::string& indent) {
  std::istringstream lines{std::string(text)};
  std::string out, line;
  size_t column = 0;  // 0: a new line begins
  std::string hanging;
  while (std::getline(lines, line)) {
    if (line.empty() || line.rfind("- ", 0) == 0) {
      if (column > 0) out += "\n";
      if (line.empty()) out += "\n";
      column = 0;
      hanging = line.empty() ? "" : "  ";
    }
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (column > 0 && column + 1 + word.size() > kWidth) {
        out += "\n";
        column = 0;
      }
      const bool item = word == "-" && column == 0;
      out += column > 0 ? " " : indent + (item ? "" : hanging);
      if (column == 0)
        column = indent.size() + (item ? 0 : hanging.size());
      else
        ++column;
      out += word;
      column += word.size();
    }
  }
  return out + (column > 0 ? "\n" : "");
}

std::string Indented(std::string_view text, const std::string& indent) {
  std::istringstream lines{std::string(text)};
  std::string out, line;
  while (std::getline(lines, line)) out += (line.empty() ? "" : indent) + line + "\n";
  return out;
}

void PrintRule(const Rule& rule) {
  std::cout << "[" << rule.label << "] " << rule.title << "\n\n"
            << Filled(rule.what, "") << "\nOn a TPU\n\n"
            << Filled(rule.why, "") << "\nWrong: " << FileName(rule.failing) << "\n\n"
            << Indented(rule.failing.spec, "    ") << "\n    $ " << CommandLine(rule.failing)
            << "\n"
            << Indented(RunExample(rule.failing).err, "    ")
            << "\nRight: " << FileName(rule.mended) << "\n\n"
            << Indented(rule.mended.spec, "    ") << "\n    $ " << CommandLine(rule.mended) << "\n";
}

void PrintRules() {
  std::cout << "Every diagnostic carries the label of a rule: error[index-range].\n\n";
  for (const Rule& rule : Rules()) {
    std::cout << "  " << std::left << std::setw(13) << rule.label.text() << rule.title << "\n";
  }
  std::cout << "\n`kiln explain RULE` says more, with a failing and a mended example;\n"
               "`kiln explain --functions` lists what a body can call.\n";
}

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// "error[tail]" and "[tail]", copied from a diagnostic, mean "tail".
std::string LabelOf(const std::string& word) {
  const size_t open = word.find('[');
  const size_t close = word.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open)
    return LowerCase(word);
  return LowerCase(word.substr(open + 1, close - open - 1));
}

int UnknownRule(const std::string& label) {
  std::vector<std::string> labels;
  std::string list;
  for (const Rule& rule : Rules()) {
    labels.emplace_back(rule.label);
    list += (list.empty() ? "" : ", ") + std::string(rule.label);
  }
  const std::string nearest = DidYouMean(label, labels);
  return UsageError("there is no rule `" + label + "`",
                    (nearest.empty() ? "" : nearest + " ") + "rules: " + list);
}

void PrintFunctions() {
  std::cout << "In a body (those marked * also in index maps, steps and shapes):\n\n";
  for (const Operation& f : Functions()) {
    std::cout << (f.in_index ? "* " : "  ") << std::left << std::setw(33) << f.signature << " "
              << f.doc << "\n";
  }
  std::cout
      << "\nA dtype's name casts: bf16(x).\n\nIn `prepare`, on the host, before the grid starts:\n";
  for (const std::string& name : HostFunctionNames()) {
    const HostFunction& function = *FindHostFunction(name);
    std::cout << "\n  " << Signature(function) << "\n" << Filled(function.doc, "      ");
    for (const HostReturn& result : function.results) {
      std::cout << "      " << std::left << std::setw(14) << result.name << Name(result.dtype)
                << (result.rank == 0 ? ", a scalar: "
                                     : ", rank " + std::to_string(result.rank) + ": ")
                << result.doc << "\n";
    }
  }
}

struct ExplainCommand {
  std::string rule;
  std::string write_docs;
  bool markdown = false;
  bool functions = false;

  int Run() const {
    if (!write_docs.empty()) {
      const std::string why = WriteDocs(write_docs);
      return why.empty() ? kFine : UsageError(why);
    }
    if (functions) {
      markdown ? void(std::cout << FunctionReference()) : PrintFunctions();
      return kFine;
    }
    if (rule.empty()) {
      markdown ? void(std::cout << RuleReference()) : PrintRules();
      return kFine;
    }
    const Rule* found = FindRule(LabelOf(rule));
    if (!found) return UnknownRule(LabelOf(rule));
    markdown ? void(std::cout << RulePage(*found, RunExample(found->failing).err))
             : PrintRule(*found);
    return kFine;
  }
};

}  // namespace

void AddExplain(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<ExplainCommand>();
  list.Add("RULE", command->rule,
           "the label in a diagnostic's brackets; without it all rules are listed");
  list.Flag("--functions", command->functions, "lists what bodies and `prepare` can call");
  list.Flag("--markdown", command->markdown, "prints Markdown, as in docs/");
  list.Add("--write-docs", command->write_docs, "").Hidden();  // for ./dev docs
  list.Footer(
      "Examples:\n"
      "  kiln explain                what rules there are\n"
      "  kiln explain index-range    one of them, with a failing and a mended spec\n"
      "  kiln explain --functions    what a body can call");
  run = [command] { return command->Run(); };
}

}  // namespace kiln::cli
