#include "generator/report/trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kiln {
namespace {

using Json = nlohmann::ordered_json;

/// Tracks of a core. Copies that find theirs busy go to one further on, kTracks at a time.
enum Track { kCompute = 1, kCopyIn = 2, kCopyOut = 3, kRanges = 4, kTracks = 4 };
constexpr int kHost = 0;  // the process; cores follow

std::string IndexText(const std::vector<int64_t>& index) {
  std::string text;
  for (const int64_t i : index) text += (text.empty() ? "(" : ", ") + std::to_string(i);
  return text.empty() ? "" : text + ")";
}

std::string PointText(const Timeline& timeline, int64_t point) {
  const std::vector<int64_t> at = timeline.PointOf(point);
  std::string text;
  for (size_t a = 0; a < at.size(); ++a)
    text += (a ? ", " : "(") + timeline.axes[a].name + "=" + std::to_string(at[a]);
  return text.empty() ? "()" : text + ")";
}

class TraceWriter {
 public:
  TraceWriter(const Timeline& timeline, std::ostream& out) : timeline_(timeline), out_(out) {}

  void Write() {
    out_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":"
         << Text({{"kernel", timeline_.kernel},
                  {"machine", timeline_.machine},
                  {"source", timeline_.emulated ? "an emulated run" : "a prediction"}})
         << ",\"traceEvents\":[";
    Name("process_name", kHost, 0, "host");
    Event("dispatch", kHost, kCompute, -timeline_.dispatch, 0, Json::object());
    for (size_t c = 0; c < timeline_.cores.size(); ++c) WriteCore(static_cast<int>(c));
    out_ << "\n]}\n";
  }

 private:
  void WriteCore(int index) {
    const TimelineCore& core = timeline_.cores[static_cast<size_t>(index)];
    const int process = index + 1;
    Name("process_name", process, 0, timeline_.machine + " core " + std::to_string(index));
    Name("thread_name", process, kCompute, "compute");
    if (!core.detailed) WriteRanges(core, process);
    busy_until_[0].clear();
    busy_until_[1].clear();
    for (size_t s = 0; s < core.steps.size(); ++s) WriteStep(core, process, s);
  }

  void WriteStep(const TimelineCore& core, int process, size_t s) {
    const TimelineStep& step = core.steps[s];
    const StepWork& work = timeline_.works[static_cast<size_t>(step.work)];
    const auto number = static_cast<int64_t>(s) + 1;  // as the page counts
    if (step.compute > step.begin)
      Event("wait", process, kCompute, step.begin, step.compute, {{"step", number}});
    Event((work.skipped ? "skipped " : "step ") + PointText(timeline_, step.point), process,
          kCompute, step.compute, step.end,
          {{"step", number},
           {"flops", work.flops},
           {"matmul_us", work.mxu_seconds * 1e6},
           {"vector_us", work.vpu_seconds * 1e6},
           {"statements", work.statements}});
    for (int64_t c = step.first_copy; c < step.first_copy + step.copies; ++c)
      WriteCopy(core.copies[static_cast<size_t>(c)], process, number);
  }

  void WriteCopy(const BlockCopy& copy, int process, int64_t step) {
    const TimelineOperand& operand = timeline_.operands[static_cast<size_t>(copy.operand)];
    const std::string block = IndexText(operand.BlockIndex(copy.block));
    Event(operand.name + (block.empty() ? "" : " " + block), process, TrackOf(copy, process),
          copy.begin, copy.end,
          {{"operand", operand.name}, {"block", block}, {"bytes", copy.bytes}, {"step", step}});
  }

  /// The first track of the copy's direction that is free when it begins.
  int TrackOf(const BlockCopy& copy, int process) {
    std::vector<double>& busy_until = busy_until_[copy.out];
    // Times that have been added up differently may differ in their last bits.
    constexpr double kSame = 1e-12;
    const auto free = std::find_if(busy_until.begin(), busy_until.end(),
                                   [&](double until) { return until <= copy.begin + kSame; });
    const auto nth = free - busy_until.begin();
    const int track = (copy.out ? kCopyOut : kCopyIn) + kTracks * static_cast<int>(nth);
    if (free != busy_until.end()) {
      *free = copy.end;
      return track;
    }
    busy_until.push_back(copy.end);
    Name("thread_name", process, track, copy.out ? "copy out" : "copy in");
    return track;
  }

  void WriteRanges(const TimelineCore& core, int process) {
    Name("thread_name", process, kRanges, "all steps, in ranges");
    for (const TimelineSegment& segment : core.segments) {
      const TimelineTotals& totals = segment.totals;
      Event("steps " + std::to_string(segment.first_step + 1) + " to " +
                std::to_string(segment.first_step + totals.steps),
            process, kRanges, segment.begin, segment.begin + totals.seconds,
            {{"wait_us", totals.wait * 1e6},
             {"matmul_us", totals.mxu * 1e6},
             {"vector_us", totals.vpu * 1e6},
             {"overhead_us", totals.overhead * 1e6},
             {"bytes_in", totals.bytes_in},
             {"bytes_out", totals.bytes_out}});
    }
  }

  void Name(const char* what, int process, int track, const std::string& name) {
    Put({{"name", what},
         {"ph", "M"},
         {"pid", process},
         {"tid", track},
         {"args", {{"name", name}}}});
  }

  /// Traces count microseconds; the call begins at 0.
  void Event(const std::string& name, int process, int track, double begin, double end, Json args) {
    Put({{"name", name},
         {"ph", "X"},
         {"pid", process},
         {"tid", track},
         {"ts", (begin + timeline_.dispatch) * 1e6},
         {"dur", (end - begin) * 1e6},
         {"args", std::move(args)}});
  }

  void Put(const Json& event) {
    out_ << (first_ ? "\n" : ",\n") << Text(event);
    first_ = false;
  }

  static std::string Text(const Json& value) {
    return value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  }

  const Timeline& timeline_;
  std::ostream& out_;
  bool first_ = true;
  std::vector<double> busy_until_[2];  // by direction and track
};

}  // namespace

void WriteTrace(const Timeline& timeline, std::ostream& out) { TraceWriter(timeline, out).Write(); }

}  // namespace kiln
