#include "generator/report/report.h"

#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "generator/report/column.h"
#include "tests/catch.h"
#include "tests/report/sample.h"

namespace kiln {
namespace {

using Json = nlohmann::ordered_json;

/// What the page's script does: see 1_unpack.js.
std::vector<int64_t> Unpack(const std::string& text) {
  std::vector<int64_t> values;
  std::istringstream words(text);
  int64_t value = 0;
  for (std::string word; words >> word;) {
    const size_t times = word.find('x');
    const int64_t count = times == std::string::npos ? 1 : std::stoll(word.substr(times + 1));
    for (int64_t i = 0; i < count; ++i) values.push_back(value += std::stoll(word));
  }
  return values;
}

int64_t Sum(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

ReportInput InputOf(const Kernel& kernel, const Timeline& timeline) {
  ReportInput input;
  input.kernel = &kernel;
  input.timeline = &timeline;
  return input;
}

TEST_CASE("columns are differences with counts") {
  CHECK(ColumnOf({}) == "");
  CHECK(ColumnOf({5, 6, 7, 8, 5}) == "5 1x3 -3");
  CHECK(ColumnOf({0, 0, 0}) == "0x3");
  const std::vector<int64_t> values = {3, -9, -9, 1'000'000'000'000, 0, 1, 2, 2};
  CHECK(Unpack(ColumnOf(values)) == values);
}

TEST_CASE("a step an entry: blocks, times and copies are the timeline's") {
  const auto kernel = SampleKernel();
  const Timeline timeline = SampleTimeline(6);
  const Json data = ReportData(InputOf(*kernel, timeline));
  const Json& core = data["timeline"]["cores"][0];

  CHECK(data["timeline"]["steps_per_entry"] == 1);
  CHECK(core["entries"] == 6);
  CHECK_FALSE(core.contains("boxes"));
  CHECK(Unpack(core["begin"])[2] == 220);  // in ticks of 0.1 ns
  CHECK(Unpack(core["wait"]) == std::vector<int64_t>(6, 10));
  CHECK(Unpack(core["vpu"]) == std::vector<int64_t>(6, 70));
  CHECK(Unpack(core["end"])[5] == 660);

  const Json& in = core["copies"][0];
  CHECK(in["operand"] == 0);
  CHECK(in["out"] == false);
  CHECK(Unpack(in["entry"]) == std::vector<int64_t>{0, 2, 4});
  CHECK(Unpack(in["block"]) == std::vector<int64_t>{0, 1, 2});
  CHECK(Unpack(in["length"]) == std::vector<int64_t>{40, 40, 40});
  CHECK(Unpack(core["copies"][1]["block"]) == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("pictures count copies and the steps that compute") {
  const auto kernel = SampleKernel();
  Timeline timeline = SampleTimeline(6);
  timeline.works.push_back(timeline.works[0]);
  timeline.works[1].skipped = true;
  timeline.cores[0].steps[4].work = timeline.cores[0].steps[5].work = 1;

  const Json data = ReportData(InputOf(*kernel, timeline));
  const Json& pictures = data["timeline"]["pictures"];
  REQUIRE(pictures.size() == 2);
  CHECK(pictures[0]["title"] == "x");
  CHECK(pictures[0]["sides"][0]["name"] == "n");
  CHECK(Unpack(pictures[0]["copies"]) == std::vector<int64_t>{1, 1, 1});
  CHECK(Unpack(pictures[0]["computed"]) == std::vector<int64_t>{2, 2, 0});
  CHECK(Unpack(pictures[1]["computed"]) == std::vector<int64_t>{1, 1, 1, 1, 0, 0});
  CHECK(data["timeline"]["coverage"].is_null());  // nothing is multiplied
}

TEST_CASE("a large run comes in ranges that add up to all of it") {
  const auto kernel = SampleKernel();
  const int64_t steps = 2 * kMaxReportSteps + 12'345;
  const Timeline timeline = SampleTimeline(steps);
  const Json data = ReportData(InputOf(*kernel, timeline));
  const Json& core = data["timeline"]["cores"][0];

  CHECK(data["timeline"]["steps_per_entry"] == 4);
  CHECK(core["entries"] == (steps + 3) / 4);
  CHECK(core["steps"] == steps);
  CHECK(Unpack(core["end"]).back() == 110 * steps);
  CHECK(Sum(Unpack(core["wait"])) == 10 * steps);
  CHECK(Sum(Unpack(core["vpu"])) == 70 * steps);
  for (const Json& copies : core["copies"]) {
    const TimelineOperand& operand = timeline.operands[copies["operand"].get<size_t>()];
    CHECK(Sum(Unpack(copies["count"])) == operand.copies);
    CHECK(Sum(Unpack(copies["bytes"])) == operand.bytes);
    CHECK(Sum(Unpack(copies["busy"])) == 40 * operand.copies);
  }
  // Four steps look at two blocks of x and four of o.
  CHECK(Unpack(core["boxes"][0][0])[10] == 20);
  CHECK(Unpack(core["boxes"][0][1])[10] == 21);
  CHECK(Unpack(core["boxes"][1][0])[10] == 40);
  CHECK(Unpack(core["boxes"][1][1])[10] == 43);
  // Where there are too many blocks to draw, cells stand for several, and count them all.
  for (const Json& picture : data["timeline"]["pictures"]) {
    CHECK(Unpack(picture["copies"]).size() <= 65536);
    const TimelineOperand& operand = timeline.operands[picture["operand"].get<size_t>()];
    CHECK(Sum(Unpack(picture["copies"])) == operand.copies);
  }
  CHECK(data.dump().size() < 2'000'000);
}

TEST_CASE("nothing in a spec becomes markup") {
  const std::string doc = "'</script><script>alert(1)</script><!-- & \xe2\x80\xa8'";
  const auto kernel = SampleKernel(doc);
  const Timeline timeline = SampleTimeline(2);
  ReportInput input = InputOf(*kernel, timeline);
  input.diagnostics.push_back({true, "index-range", "</script>{{style}}<b>\xff", "", 1});
  const Json data = ReportData(input);
  const std::string page = ReportPage(data);

  const size_t begin = page.find("id=\"data\">") + 10;
  const std::string text = page.substr(begin, page.find("</script>", begin) - begin);
  CHECK(text.find_first_of("<>&") == std::string::npos);
  const Json back = Json::parse(text);
  CHECK(back["kernel"]["doc"] == kernel->doc);
  CHECK(back["diagnostics"][0]["message"] == "</script>{{style}}<b>\xef\xbf\xbd");
  // The frame, the data, the script: no other element of script.
  size_t scripts = 0;
  for (size_t at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1))
    ++scripts;
  CHECK(scripts == 2);
  CHECK(page.find("src=") == std::string::npos);
  CHECK(page.find("http://") == page.find("http://www.w3.org/2000/svg"));
  CHECK(page.find("https://") == std::string::npos);
}

TEST_CASE("without a run the page has the diagnostics") {
  const auto kernel = SampleKernel();
  ReportInput input;
  input.kernel = kernel.get();
  input.diagnostics.push_back({true, "call", "`n` is 7", "a multiple of 8", 8});
  const Json data = ReportData(input);
  CHECK(data["timeline"].is_null());
  CHECK(data["diagnostics"][0]["line"] == 8);
  CHECK(ReportPage(data).find("`n` is 7") != std::string::npos);
}

}  // namespace
}  // namespace kiln
