#include "generator/report/trace.h"

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.h"
#include "tests/report/sample.h"

namespace kiln {
namespace {

nlohmann::json TraceOf(const Timeline& timeline) {
  std::ostringstream text;
  WriteTrace(timeline, text);
  return nlohmann::json::parse(text.str());
}

std::string TrackName(const nlohmann::json& trace, const nlohmann::json& event) {
  for (const nlohmann::json& other : trace["traceEvents"]) {
    if (other["name"] == "thread_name" && other["pid"] == event["pid"] &&
        other["tid"] == event["tid"])
      return other["args"]["name"];
  }
  return "";
}

TEST_CASE("a trace has every step and copy on its track") {
  const nlohmann::json trace = TraceOf(SampleTimeline(4));
  std::map<std::string, int> count;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++count[TrackName(trace, event)];
  }
  CHECK(count == std::map<std::string, int>{
                     {"", 1}, {"compute", 8}, {"copy in", 2}, {"copy out", 4}});  // "": the host

  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["name"] != "x (1)") continue;
    CHECK(event["ts"].get<double>() == Approx(0.1 + 0.018));  // after the dispatch
    CHECK(event["dur"].get<double>() == Approx(0.004));
    CHECK(event["args"]["bytes"] == 32);
    CHECK(event["args"]["step"] == 3);
  }
}

TEST_CASE("copies that overlap have tracks of their own") {
  Timeline timeline = SampleTimeline(2);
  for (BlockCopy& copy : timeline.cores[0].copies) {
    if (copy.out) copy.end += 100e-9;
  }
  const nlohmann::json trace = TraceOf(timeline);
  std::map<int, int> tracks;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && TrackName(trace, event) == "copy out") ++tracks[event["tid"]];
  }
  CHECK(tracks.size() == 2);
}

TEST_CASE("a trace of a run that is not known step by step has all of it in ranges") {
  Timeline timeline = SampleTimeline(2);
  TimelineCore& core = timeline.cores[0];
  core.detailed = false;
  core.totals.steps = 2000;
  for (int64_t s = 0; s < 2000; s += 1000) {
    core.segments.push_back({s, 11e-9 * static_cast<double>(s), {}});
    core.segments.back().totals.steps = 1000;
    core.segments.back().totals.seconds = 11e-6;
  }
  const nlohmann::json trace = TraceOf(timeline);
  std::vector<std::string> ranges;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && TrackName(trace, event) == "all steps, in ranges")
      ranges.push_back(event["name"]);
  }
  CHECK(ranges == std::vector<std::string>{"steps 1 to 1000", "steps 1001 to 2000"});
}

}  // namespace
}  // namespace kiln
