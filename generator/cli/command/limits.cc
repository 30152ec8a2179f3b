#include <algorithm>

#include "generator/cli/command/command.h"

namespace kiln::cli {

void LimitOptions::Add(const OptionList& list) {
  const auto read = [this](const std::string& text) {
    if (!ParseLimits(text, limits)) return false;
    time_given = limits.seconds != DefaultLimits().seconds;
    return true;
  };
  list.Add("--limit", read, "memory, time or both, as in 64GiB,2h",
           "what a stage (a check of the grid, a prediction, a run) may take of this machine;\n"
           "unless given half of its memory but at most 8GiB, and 1min as far as that can be\n"
           "estimated beforehand. What would take more is refused before it begins")
      .Takes("MEMORY,TIME");
}

bool LimitOptions::Allow(const std::string& what, const Demand& demand) const {
  if (limits.Allow(demand)) return true;
  const bool memory = demand.bytes > limits.bytes;
  const bool time = demand.seconds > limits.seconds;
  const std::string bytes = memory ? RoughBytes(demand.bytes) : "";
  const std::string seconds = time ? RoughSeconds(demand.seconds) : "";
  const std::string had = (memory ? RoughBytes(limits.bytes) : "") +
                          (memory && time ? " and " : "") +
                          (time ? RoughSeconds(limits.seconds) : "");
  const std::string enough = LimitFor(demand, limits);
  UsageError(what + " would take about " + bytes + (memory && time ? " and " : "") + seconds,
             enough.empty() ? "no machine has that; are these the sizes that were meant?"
                            : "--limit=" + enough + " raises the limit of " + had);
  return false;
}

GridCheckOptions LimitOptions::ForGrid(Progress& progress) const {
  GridCheckOptions options;
  options.progress = progress.Callback();
  // The default is shorter than a minute: most of what it leaves out, nobody would wait for.
  if (time_given) {
    const double work = std::min(limits.seconds * kGridWorkPerSecond, 0x1p62);
    options.work = static_cast<int64_t>(work);
  }
  return options;
}

}  // namespace kiln::cli
