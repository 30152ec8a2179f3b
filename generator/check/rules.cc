#include "generator/check/rules.h"

#include <algorithm>

namespace kiln {
namespace {

std::vector<Rule> AllRules() {
  std::vector<Rule> rules;
  AddValueRules(rules);
  AddGridRules(rules);
  AddTextRules(rules);
  std::sort(rules.begin(), rules.end(),
            [](const Rule& a, const Rule& b) { return a.label < b.label; });
  return rules;
}

std::string Fenced(std::string_view language, std::string_view text) {
  return "```" + std::string(language) + "\n" + std::string(text) + "```\n";
}

}  // namespace

const std::vector<Rule>& Rules() {
  static const std::vector<Rule> rules = AllRules();
  return rules;
}

const Rule* FindRule(std::string_view label) {
  for (const Rule& rule : Rules()) {
    if (rule.label.text() == label) return &rule;
  }
  return nullptr;
}

std::string FileName(const RuleExample& example) {
  constexpr std::string_view key = "kernel: ";
  const size_t begin = example.spec.find(key) + key.size();
  const size_t end = example.spec.find_first_of("\n ", begin);
  return std::string(example.spec.substr(begin, end - begin)) + ".yaml";
}

std::string CommandLine(const RuleExample& example) {
  std::string command = "kiln " + std::string(example.command);
  const size_t at = command.find("FILE");
  return command.replace(at, 4, FileName(example));
}

std::string RulePage(const Rule& rule, const std::string& diagnostics) {
  std::string page = "# [" + std::string(rule.label) + "] " + std::string(rule.title) + "\n\n";
  page +=
      std::string(rule.what) + "\n\n## On a TPU\n\n" + std::string(rule.why) + "\n\n## Wrong\n\n";
  page += Fenced("yaml", rule.failing.spec) + "\n";
  page +=
      Fenced("console", "$ " + CommandLine(rule.failing) + "\n" + diagnostics) + "\n## Right\n\n";
  page += Fenced("yaml", rule.mended.spec) + "\n";
  page += Fenced("console", "$ " + CommandLine(rule.mended) + "\n");
  return page;
}

}  // namespace kiln
