#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/text/rule_label.h"

namespace kiln {

/// A whole spec file, and the command that shows what a rule says about it.
struct RuleExample {
  std::string_view spec;
  std::string_view command;  // as one types it after `kiln`: "check FILE n=30 ids=0,9"
};

/// One rule of the language, for people: `kiln explain` prints it, docs/rules/ is written from it.
struct Rule {
  RuleLabel label;         // "index-range"
  std::string_view title;  // one line
  std::string_view what;   // Markdown paragraphs
  std::string_view why;    // what a TPU does with it, and how it shows there
  RuleExample failing;
  RuleExample mended;
};

/// Every rule, in the order of the language page.
const std::vector<Rule>& Rules();
/// Null when there is none of that label.
const Rule* FindRule(std::string_view label);

/// The name of an example's file: its kernel's.
std::string FileName(const RuleExample& example);
/// The command with the file's name in it: "kiln check gather.yaml n=30 ids=0,9".
std::string CommandLine(const RuleExample& example);

/// The rule's page in Markdown. `diagnostics`: what the failing example's command answers.
std::string RulePage(const Rule& rule, const std::string& diagnostics);

// The table's parts.
void AddValueRules(std::vector<Rule>& rules);  // undefined … assert, reference
void AddGridRules(std::vector<Rule>& rules);   // revisit, race, alias, index-range, tier, sync
void AddTextRules(std::vector<Rule>& rules);   // syntax, yaml-split, key, name, call, tpu

}  // namespace kiln
