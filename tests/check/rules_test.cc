#include "generator/check/rules.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "generator/check/check_spec.h"
#include "generator/ir/kernel.h"
#include "tests/catch.h"

namespace kiln::rules_test {
namespace {

namespace fs = std::filesystem;

std::set<std::string> Labels() {
  std::set<std::string> labels;
  for (const Rule& rule : Rules()) labels.emplace(rule.label);
  return labels;
}

std::string ReadText(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Every `Error("label"` and `Warning("label"` under a folder of the generator, with its file.
std::set<std::pair<std::string, std::string>> Reported(const std::string& folder) {
  static const std::regex call(R"((?:Error|Warning)\(\s*"([a-z-]+)\")");
  std::set<std::pair<std::string, std::string>> found;
  for (const auto& entry :
       fs::directory_iterator(fs::path(KILN_SOURCE_DIR) / "generator" / folder)) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = ReadText(entry.path());
    for (auto it = std::sregex_iterator(text.begin(), text.end(), call);
         it != std::sregex_iterator(); ++it) {
      found.emplace((*it)[1].str(), entry.path().filename().string());
    }
  }
  return found;
}

/// The labels that the text of a spec gives by itself.
std::set<std::string> FoundAlone(const RuleExample& example) {
  Diagnostics diagnostics;
  const auto source = std::make_shared<const Source>(FileName(example), std::string(example.spec));
  if (const auto spec = ParseSpec(source, diagnostics)) CheckSpec(*spec, {}, diagnostics);
  std::set<std::string> labels;
  for (const Diagnostic& found : diagnostics.Sorted()) labels.insert(found.rule);
  return labels;
}

TEST_CASE("the table has every rule of the language once, in the order of the page") {
  std::vector<std::string> labels;
  for (const Rule& rule : Rules()) labels.emplace_back(rule.label);
  CHECK(labels == std::vector<std::string>{"undefined", "tail", "revisit", "race", "coverage",
                                           "alias", "index-range", "tier", "sync", "call", "syntax",
                                           "yaml-split", "key", "name", "type", "shape", "assert",
                                           "reference", "tpu"});
  CHECK(FindRule("tail")->label.text() == "tail");
  CHECK(FindRule("tails") == nullptr);
}

TEST_CASE("every label that the generator reports is a rule") {
  const std::set<std::string> labels = Labels();
  for (const char* folder : {"spec", "elaborate", "bind", "check", "check/grid", "interpret"}) {
    const auto reported = Reported(folder);
    CHECK(!reported.empty());
    for (const auto& [label, file] : reported) {
      INFO(file << " reports [" << label << "]");
      CHECK(labels.count(label) == 1);
    }
  }
}

TEST_CASE("rules are explained in full") {
  for (const Rule& rule : Rules()) {
    INFO(rule.label);
    CHECK(!rule.title.empty());
    CHECK(rule.title.find('\n') == std::string_view::npos);
    CHECK(rule.what.size() > 200);
    CHECK(rule.why.size() > 100);
    const bool same =
        rule.failing.spec == rule.mended.spec && rule.failing.command == rule.mended.command;
    CHECK(!same);
    CHECK(FileName(rule.failing) == FileName(rule.mended));
    for (const RuleExample* example : {&rule.failing, &rule.mended}) {
      CHECK(example->spec.rfind("kernel: ", 0) == 0);
      CHECK(example->spec.back() == '\n');
      const bool check = example->command.rfind("check FILE", 0) == 0;
      CHECK((check || example->command.rfind("run FILE", 0) == 0));
      CHECK(CommandLine(*example).find(FileName(*example)) != std::string::npos);
    }
  }
}

TEST_CASE("a failing example that needs no sizes fails for its own reason alone") {
  for (const Rule& rule : Rules()) {
    if (rule.failing.command != "check FILE") continue;
    INFO(rule.label);
    CHECK(FoundAlone(rule.failing) == std::set<std::string>{std::string(rule.label)});
  }
}

TEST_CASE("a mended example has no diagnostics by itself") {
  for (const Rule& rule : Rules()) {
    INFO(rule.label);
    CHECK(FoundAlone(rule.mended).empty());
  }
}

TEST_CASE("each rule has a label of its own") {
  std::set<std::string> labels;
  for (const Rule& rule : Rules()) {
    INFO(rule.label);
    CHECK(labels.emplace(rule.label).second);
  }
}

TEST_CASE("the command line of an example names its file") {
  const RuleExample example = {"kernel: rows\ngrid: {}\n", "check FILE m=20"};
  CHECK(FileName(example) == "rows.yaml");
  CHECK(CommandLine(example) == "kiln check rows.yaml m=20");
}

TEST_CASE("a rule's page is Markdown with both specs and the diagnostics") {
  const Rule rule = {"tail",
                     "a title",
                     "What it says.",
                     "What a TPU does.",
                     {"kernel: a\nbody: 1\n", "check FILE m=1"},
                     {"kernel: a\nbody: 2\n", "check FILE"}};
  CHECK(RulePage(rule, "a.yaml:1:1: error[tail]: no\n") ==
        "# [tail] a title\n\nWhat it says.\n\n## On a TPU\n\nWhat a TPU does.\n\n## Wrong\n\n"
        "```yaml\nkernel: a\nbody: 1\n```\n\n"
        "```console\n$ kiln check a.yaml m=1\na.yaml:1:1: error[tail]: no\n```\n\n## Right\n\n"
        "```yaml\nkernel: a\nbody: 2\n```\n\n```console\n$ kiln check a.yaml\n```\n");
}

}  // namespace
}  // namespace kiln::rules_test
