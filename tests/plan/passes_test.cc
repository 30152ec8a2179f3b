// What each pass of the planner does to the plan of a small kernel, as text. With KILN_UPDATE set
// this rewrites it: review the diff.
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tests/cli/tool.h"
#include "tests/plan/pass_examples.h"
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

std::vector<std::string> PlanAfter(const std::string& text, const std::string& pass) {
  if (pass.empty()) return {};
  const auto source = std::make_shared<const Source>("k.yaml", text);
  Diagnostics found;
  const auto spec = ParseSpec(source, found);
  const auto kernel = spec ? CheckSpec(*spec, {}, found) : nullptr;
  INFO(text << Render(found, *source));
  REQUIRE(kernel);
  std::istringstream plan(ToString(*MakePlan(*kernel, found, pass)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(plan, line);) lines.push_back(line);
  return lines;
}

/// The lines of `before` that are gone, and those of `after` that are new, in order.
std::string Changes(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  const size_t n = before.size(), m = after.size();
  std::vector<std::vector<int>> common(n + 1, std::vector<int>(m + 1));  // in what follows
  for (size_t i = n; i-- > 0;) {
    for (size_t j = m; j-- > 0;) {
      common[i][j] = before[i] == after[j] ? common[i + 1][j + 1] + 1
                                           : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::string text;
  for (size_t i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && before[i] == after[j]) {
      ++i;
      ++j;
    } else if (i < n && (j == m || common[i + 1][j] >= common[i][j + 1])) {
      text += "- " + before[i++] + "\n";
    } else {
      text += "+ " + after[j++] + "\n";
    }
  }
  return text;
}

TEST_CASE("each pass changes a plan as recorded") {
  std::string text, previous;
  size_t at = 0;
  for (const Pass& pass : Passes()) {
    REQUIRE(at < std::size(kPassExamples));
    REQUIRE(std::string(kPassExamples[at].pass) == pass.name);
    const char* const spec = kPassExamples[at++].spec;
    const std::string changes = Changes(PlanAfter(spec, previous), PlanAfter(spec, pass.name));
    INFO(pass.name);
    CHECK(!changes.empty());
    text +=
        std::string("==== ") + pass.name + ": " + pass.does + "\n\n" + spec + "\n" + changes + "\n";
    previous = pass.name;
  }
  CHECK(at == std::size(kPassExamples));
  const std::string file = (test::fs::path(KILN_SOURCE_DIR) / "tests/plan/passes.txt").string();
  INFO("KILN_UPDATE=1 rewrites tests/plan/passes.txt");
  if (std::getenv("KILN_UPDATE")) test::WriteText(file, text);
  CHECK(test::ReadText(file) == text);
}

}  // namespace
}  // namespace kiln
