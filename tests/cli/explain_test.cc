#include "generator/cli/explain/explain.h"

#include <regex>
#include <set>

#include "generator/bind/host.h"
#include "generator/elaborate/elaborate.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::cli {
namespace {

using test::Contains;
using test::Kiln;

/// The labels of errors and warnings in what the tool printed.
std::set<std::string> LabelsIn(const std::string& diagnostics) {
  static const std::regex label(R"((?:error|warning)\[([a-z-]+)\])");
  std::set<std::string> labels;
  for (auto it = std::sregex_iterator(diagnostics.begin(), diagnostics.end(), label);
       it != std::sregex_iterator(); ++it) {
    labels.insert((*it)[1].str());
  }
  return labels;
}

TEST_CASE("the failing example of each rule fails for that rule and no other") {
  for (const Rule& rule : Rules()) {
    const Answer answer = RunExample(rule.failing);
    INFO(rule.label << "\n" << answer.err);
    CHECK(answer.status == 1);
    CHECK(LabelsIn(answer.err) == std::set<std::string>{std::string(rule.label)});
    CHECK(answer.out.empty());
  }
}

TEST_CASE("the mended example of each rule has no diagnostics") {
  for (const Rule& rule : Rules()) {
    const Answer answer = RunExample(rule.mended);
    INFO(rule.label << "\n" << answer.err);
    CHECK(answer.status == 0);
    CHECK(answer.err.empty());
  }
}

TEST_CASE("explain shows what the tool answers to the failing example") {
  const test::Folder folder;
  for (const Rule& rule : Rules()) {
    INFO(rule.label);
    test::WriteText(folder / FileName(rule.failing), std::string(rule.failing.spec));
    const test::Shown shown = test::Shell(CommandLine(rule.failing), folder.path());
    CHECK(shown.status == 1);
    CHECK(shown.err == RunExample(rule.failing).err);
  }
}

TEST_CASE("explain prints title, meaning and both examples as plain text") {
  const test::Shown shown = Kiln("explain revisit");
  CHECK(shown.status == 0);
  CHECK(shown.err.empty());
  CHECK(shown.out.rfind("[revisit] an output block is left and visited again\n\n", 0) == 0);
  for (const char* part :
       {"\nOn a TPU\n", "\nWrong: column_sums.yaml\n", "    $ kiln check column_sums.yaml\n",
        "error[revisit]", "\nRight: column_sums.yaml\n", "    kernel: column_sums\n"}) {
    INFO(part);
    CHECK(Contains(shown.out, part));
  }
  CHECK(!Contains(shown.out, "\x1b"));
  CHECK(!Contains(shown.out, "```"));
  CHECK(!Contains(shown.out, "/tmp"));
}

TEST_CASE("running text is filled to a terminal's width") {
  for (const Rule& rule : Rules()) {
    std::istringstream lines(Kiln("explain " + std::string(rule.label)).out);
    for (std::string line; std::getline(lines, line) && line != "On a TPU";) {
      INFO(line);
      CHECK(line.size() <= 92);
    }
  }
}

TEST_CASE("explain without a rule lists them all") {
  const test::Shown shown = Kiln("explain");
  CHECK(shown.status == 0);
  for (const Rule& rule : Rules()) {
    INFO(rule.label);
    CHECK(Contains(shown.out, "  " + std::string(rule.label) + " "));
    CHECK(Contains(shown.out, rule.title));
  }
}

TEST_CASE("a label may be pasted as a diagnostic shows it") {
  const std::string plain = Kiln("explain tail").out;
  CHECK(Kiln("explain '[tail]'").out == plain);
  CHECK(Kiln("explain 'error[tail]'").out == plain);
  CHECK(Kiln("explain TAIL").out == plain);
}

TEST_CASE("an unknown rule is a usage error with the nearest and all labels") {
  const test::Shown shown = Kiln("explain indexrange");
  CHECK(shown.status == 2);
  CHECK(shown.out.empty());
  CHECK(shown.err ==
        "kiln: there is no rule `indexrange`\n"
        "  hint: did you mean `index-range`? rules: undefined, tail, revisit, race, coverage, "
        "alias, index-range, tier, "
        "sync, call, syntax, yaml-split, key, name, type, shape, assert, reference, tpu\n");
  CHECK(Kiln("explain ''").status == 0);  // no rule: the list
  CHECK(Kiln("explain zzzzzz")
            .err.rfind("kiln: there is no rule `zzzzzz`\n  hint: rules: undefined, tail,", 0) == 0);
}

TEST_CASE("--markdown prints the page of the manual") {
  for (const Rule& rule : Rules()) {
    const std::string label(rule.label);
    INFO(label);
    CHECK(Kiln("explain --markdown " + label).out ==
          test::ReadText(test::fs::path(KILN_SOURCE_DIR) / "docs/rules" / (label + ".md")));
  }
}

TEST_CASE("--functions lists everything that bodies and prepare can call") {
  const test::Shown shown = Kiln("explain --functions");
  CHECK(shown.status == 0);
  for (const Operation& function : Functions()) {
    INFO(function.name);
    CHECK(Contains(shown.out, std::string(function.signature) + " "));
    CHECK(Contains(shown.out, function.doc));
  }
  for (const std::string& name : HostFunctionNames()) {
    INFO(name);
    CHECK(Contains(shown.out, Signature(*FindHostFunction(name))));
  }
  const test::Shown markdown = Kiln("explain --functions --markdown");
  CHECK(markdown.out.rfind("| function |", 0) == 0);
}

}  // namespace
}  // namespace kiln::cli
