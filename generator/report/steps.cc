#include "generator/report/steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "generator/report/blocks.h"
#include "generator/report/column.h"
#include "generator/report/report.h"

namespace kiln {
namespace {

using Json = nlohmann::ordered_json;

int64_t Ticks(double seconds) { return std::llround(seconds / kSecondsPerTick); }

/// Durations, to a tenth of a nanosecond: their sums are those of the timeline.
struct Parts {
  double wait = 0, mxu = 0, vpu = 0, overhead = 0;

  void Add(const TimelineStep& step, const StepWork& work) {
    const double compute = step.end - step.compute;
    wait += step.compute - step.begin;
    mxu += std::min(work.mxu_seconds, compute);
    vpu += std::clamp(work.vpu_seconds, 0.0, std::max(compute - work.mxu_seconds, 0.0));
    overhead += std::max(compute - work.seconds(), 0.0);
  }
};

/// Times follow each other without gaps, so that ends are enough; rounded where they are, so that
/// no error adds up.
class EntryColumns {
 public:
  void Add(int64_t point, double begin, const Parts& parts, double end, int64_t work) {
    point_.Add(point);
    begin_.Add(Ticks(begin));
    wait_.Add(Ticks(parts.wait));
    mxu_.Add(Ticks(parts.mxu));
    vpu_.Add(Ticks(parts.vpu));
    end_.Add(Ticks(end));
    work_.Add(work);
  }

  Json Data() const {
    return {{"point", point_.Text()}, {"begin", begin_.Text()}, {"wait", wait_.Text()},
            {"mxu", mxu_.Text()},     {"vpu", vpu_.Text()},     {"end", end_.Text()},
            {"work", work_.Text()}};
  }

 private:
  Column point_, begin_, wait_, mxu_, vpu_, end_, work_;
};

/// All copies of one operand in one direction within one entry.
struct CopyRun {
  int64_t count = 0;
  int64_t first_block = 0;
  int64_t bytes = 0;
  double begin = 0, end = 0, busy = 0;

  void Add(const BlockCopy& copy) {
    if (count++ == 0) {
      first_block = copy.block;
      begin = copy.begin;
    }
    begin = std::min(begin, copy.begin);
    end = std::max(end, copy.end);
    busy += copy.end - copy.begin;
    bytes += copy.bytes;
  }
};

class CopyColumns {
 public:
  void Add(int64_t entry, const CopyRun& run) {
    entry_.Add(entry);
    count_.Add(run.count);
    block_.Add(run.first_block);
    bytes_.Add(run.bytes);
    const int64_t begin = Ticks(run.begin), end = Ticks(run.end);
    // Copies of one direction queue: most begin where the one before has ended.
    gap_.Add(begin - last_end_);
    length_.Add(end - begin);
    busy_.Add(Ticks(run.busy));
    last_end_ = end;
  }

  Json Data(int32_t operand, bool out, bool in_ranges) const {
    Json data = {{"operand", operand},      {"out", out},
                 {"entry", entry_.Text()},  {"block", block_.Text()},
                 {"bytes", bytes_.Text()},  {"gap", gap_.Text()},
                 {"length", length_.Text()}};
    if (in_ranges) {
      data["count"] = count_.Text();
      data["busy"] = busy_.Text();
    }
    return data;
  }

 private:
  Column entry_, count_, block_, bytes_, gap_, length_, busy_;
  int64_t last_end_ = 0;
};

/// The smallest box with every block in the core's memory during a range of steps, a low and a high
/// column by dimension. Blocks one by one need none: the copies name them.
class BoxColumns {
 public:
  explicit BoxColumns(const TimelineOperand& operand)
      : operand_(operand),
        columns_(2 * operand.dims.size()),
        low_(operand.dims.size()),
        high_(operand.dims.size()) {
    Empty();
  }

  void Cover(int64_t block) {
    if (block < 0) return;
    const std::vector<int64_t> at = operand_.BlockIndex(block);
    for (size_t d = 0; d < at.size(); ++d) {
      low_[d] = std::min(low_[d], at[d]);
      high_[d] = std::max(high_[d], at[d]);
    }
  }

  /// No block at all: low is above high.
  void EndEntry() {
    for (size_t d = 0; d < low_.size(); ++d) {
      const bool none = low_[d] > high_[d];
      columns_[2 * d].Add(none ? 1 : low_[d]);
      columns_[2 * d + 1].Add(none ? 0 : high_[d]);
    }
    Empty();
  }

  Json Data() const {
    Json data = Json::array();
    for (const Column& column : columns_) data.push_back(column.Text());
    return data;
  }

 private:
  void Empty() {
    std::fill(low_.begin(), low_.end(), std::numeric_limits<int64_t>::max());
    std::fill(high_.begin(), high_.end(), -1);
  }

  const TimelineOperand& operand_;
  std::vector<Column> columns_;
  std::vector<int64_t> low_, high_;
};

Json SegmentsData(const TimelineCore& core) {
  Column step, begin, wait, mxu, vpu, length, dma;
  for (const TimelineSegment& segment : core.segments) {
    step.Add(segment.first_step);
    begin.Add(Ticks(segment.begin));
    wait.Add(Ticks(segment.totals.wait));
    mxu.Add(Ticks(segment.totals.mxu));
    vpu.Add(Ticks(segment.totals.vpu));
    length.Add(Ticks(segment.totals.seconds));
    dma.Add(Ticks(segment.totals.dma));
  }
  return {{"count", core.segments.size()}, {"step", step.Text()}, {"begin", begin.Text()},
          {"wait", wait.Text()},           {"mxu", mxu.Text()},   {"vpu", vpu.Text()},
          {"length", length.Text()},       {"dma", dma.Text()}};
}

Json TotalsData(const TimelineTotals& totals) {
  return {{"steps", totals.steps},
          {"skipped", totals.skipped_steps},
          {"seconds", totals.seconds},
          {"wait", totals.wait},
          {"mxu", totals.mxu},
          {"vpu", totals.vpu},
          {"overhead", totals.overhead},
          {"dma", totals.dma},
          {"flops", totals.flops},
          {"copies_in", totals.copies_in},
          {"copies_out", totals.copies_out},
          {"bytes_in", totals.bytes_in},
          {"bytes_out", totals.bytes_out}};
}

/// Puts a core's steps together, entry by entry.
class CoreColumns {
 public:
  CoreColumns(const Timeline& timeline, const TimelineCore& core, int64_t steps_per_entry)
      : timeline_(timeline), core_(core), steps_per_entry_(steps_per_entry) {
    for (const TimelineOperand& operand : timeline.operands) boxes_.emplace_back(operand);
  }

  Json Data() {
    BlocksInPlace blocks(timeline_, core_);
    const auto count = static_cast<int64_t>(core_.steps.size());
    for (int64_t first = 0; first < count; first += steps_per_entry_) {
      AddEntry(first, std::min(first + steps_per_entry_, count), blocks);
    }

    Json data = entries_.Data();
    data["entries"] = entry_;
    data["steps"] = count;
    data["detailed"] = core_.detailed;
    data["totals"] = TotalsData(core_.totals);
    data["copies"] = Json::array();
    for (const auto& [key, columns] : copies_)
      data["copies"].push_back(columns.Data(key.first, key.second, steps_per_entry_ > 1));
    if (steps_per_entry_ > 1) {
      data["boxes"] = Json::array();
      for (const BoxColumns& box : boxes_) data["boxes"].push_back(box.Data());
    }
    if (!core_.detailed) data["segments"] = SegmentsData(core_);
    return data;
  }

 private:
  void AddEntry(int64_t first, int64_t end, BlocksInPlace& blocks) {
    Parts parts;
    std::map<std::pair<int32_t, bool>, CopyRun> runs;
    for (int64_t s = first; s < end; ++s) {
      const TimelineStep& step = core_.steps[static_cast<size_t>(s)];
      parts.Add(step, timeline_.works[static_cast<size_t>(step.work)]);
      for (int64_t c = step.first_copy; c < step.first_copy + step.copies; ++c) {
        const BlockCopy& copy = core_.copies[static_cast<size_t>(c)];
        if (steps_per_entry_ == 1 && copy.manual)
          AddOne(copy);
        else
          runs[{copy.operand, copy.out}].Add(copy);
      }
      blocks.Advance();
      if (steps_per_entry_ > 1) {
        for (size_t o = 0; o < boxes_.size(); ++o) boxes_[o].Cover(blocks.At(o));
      }
    }
    const TimelineStep& front = core_.steps[static_cast<size_t>(first)];
    entries_.Add(front.point, front.begin, parts, core_.steps[static_cast<size_t>(end - 1)].end,
                 front.work);
    for (const auto& [key, run] : runs) copies_[key].Add(entry_, run);
    for (BoxColumns& box : boxes_) box.EndEntry();
    ++entry_;
  }

  /// A body may start many copies on one array in one step.
  void AddOne(const BlockCopy& copy) {
    CopyRun run;
    run.Add(copy);
    copies_[{copy.operand, copy.out}].Add(entry_, run);
  }

  const Timeline& timeline_;
  const TimelineCore& core_;
  const int64_t steps_per_entry_;
  int64_t entry_ = 0;
  EntryColumns entries_;
  std::map<std::pair<int32_t, bool>, CopyColumns> copies_;
  std::vector<BoxColumns> boxes_;
};

}  // namespace

int64_t StepsPerEntry(const Timeline& timeline) {
  int64_t steps = 0;
  for (const TimelineCore& core : timeline.cores) steps += static_cast<int64_t>(core.steps.size());
  int64_t per_entry = 1;
  while (steps > kMaxReportSteps * per_entry) per_entry *= 2;
  return per_entry;
}

nlohmann::ordered_json CoreData(const Timeline& timeline, const TimelineCore& core,
                                int64_t steps_per_entry) {
  return CoreColumns(timeline, core, steps_per_entry).Data();
}

}  // namespace kiln
