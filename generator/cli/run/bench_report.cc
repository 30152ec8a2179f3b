#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "generator/cli/run/bench.h"
#include "generator/cli/run/run.h"
#include "generator/native/others.h"

namespace kiln::cli {
namespace {

/// In three digits: "41.3 ns", "11.8 ms".
std::string ShortTime(double seconds) {
  if (seconds < 1e-6) return Digits(seconds * 1e9) + " ns";
  return SimulatedTime(seconds);
}

std::string Line(const std::string& name, const std::string& value, const std::string& more) {
  std::string line = "  " + name + std::string(10 - std::min<size_t>(name.size(), 9), ' ');
  line += value + std::string(value.size() < 14 ? 14 - value.size() : 0, ' ') + "  " + more;
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string Share(double part, double whole) {
  const double percent = 100 * part / whole;
  return (percent < 1 ? Digits(percent) : std::to_string(std::lround(percent))) + " %";
}

std::string Cores(int cores) { return std::to_string(cores) + (cores == 1 ? " core" : " cores"); }

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Operations of integers are no flops.
std::string RateUnit(const CallWork& work) {
  return work.dot_type && IsFloat(*work.dot_type) ? " GF/s" : " GOP/s";
}

/// Which operations are counted: with lists that the host prepares there may be more steps than the
/// mathematics asks for, as a tile that two groups share is visited for each.
bool CountsVisits(const Kernel& kernel) {
  return std::any_of(kernel.refs.begin(), kernel.refs.end(),
                     [](const Ref& ref) { return ref.prepared; });
}

std::string RateText(const BenchResult& result) {
  const double rate = result.flops_per_second() / 1e9;
  const std::string unit = RateUnit(result.work);
  const double peak = result.peak_flops() / 1e9;
  const std::string of = peak > 0 ? Share(rate, peak) + " of " + Digits(peak) + unit + ": " +
                                        std::string(Name(*result.work.dot_type)) +
                                        " out of registers, " + Cores(result.peaks.cores)
                                  : "";
  const std::string each = CountsVisits(*result.binding->kernel)
                               ? std::string(of.empty() ? "" : "; ") + "every visit's dot counts"
                               : "";
  return Line("rate", Digits(rate) + unit, of + each);
}

std::string MemoryText(const BenchResult& result) {
  const double rate = result.bytes_per_second(), peak = result.peaks.bytes_per_second;
  const std::string most =
      rate <= peak || !result.fits_caches()
          ? Share(rate, peak) + " of " + Digits(peak / 1e9) + " GB/s, past the caches"
          : "out of caches: past them it is " + Digits(peak / 1e9) + " GB/s";
  return Line("memory", Digits(rate / 1e9) + " GB/s",
              most + "; " + Bytes(static_cast<int64_t>(result.work.bytes)) + ", each byte once");
}

std::string Hundredths(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", share);
  return text;
}

/// "0.83 of what loops over memory reach; 0.12 of the peak, calls and steps 0.01 of the time"
std::string LimitText(const BenchResult& result) {
  const Limit limit = result.limit();
  const std::string level =
      limit.level == "memory" ? "loops over memory reach" : "a loop reads of the " + limit.level;
  struct Part {
    std::string name, text;
  };
  std::vector<Part> parts;
  if (limit.peak > 0) parts.push_back({"peak", Hundredths(limit.peak) + " of the peak"});
  if (limit.memory > 0) parts.push_back({"memory", Hundredths(limit.memory) + " of what " + level});
  parts.push_back({"latency", "calls and steps " + Hundredths(limit.latency) + " of the time"});
  std::string first, others;
  for (const Part& part : parts)
    (part.name == limit.binds ? first : (others += others.empty() ? "" : ", ")) += part.text;
  const bool none = first.empty();
  return Line("limit", limit.binds, (none ? "it is none of these: " : first + "; ") + others);
}

}  // namespace

std::string BenchText(const BenchResult& result) {
  std::ostringstream out;
  out << result.kernel << ", " << (result.emulated ? "emulated" : "direct") << " on "
      << Cores(result.cores) << " of " << result.peaks.cpu << ", " << result.isa << "\n";
  const std::vector<double>& seconds = result.seconds;
  out << Line("time", ShortTime(result.median()),
              ShortTime(seconds.front()) + " to " + ShortTime(seconds.back()) + ", " +
                  std::to_string(seconds.size()) + (seconds.size() == 1 ? " call" : " calls"));
  if (result.work.flops > 0) out << RateText(result);
  if (result.work.bytes > 0) out << MemoryText(result);
  out << LimitText(result);
  const double steps = result.steps();
  if (steps > 0) out << Line("a step", ShortTime(result.median() / steps), Steps(*result.binding));
  if (!result.own_blocks.empty())
    out << Line("blocks", "Direct's own",
                "of " + Joined(result.own_blocks) + ", as no result depends on them");
  if (!result.variant.empty()) out << Line("variant", result.variant, "");
  out << Line("peaks", AgeText(result.peaks.measured), OthersText(result.peaks.others));
  if (IsBusy(result.others))
    out << Line("busy", Digits(result.others) + " cores",
                "used by other programs meanwhile: these times are too long");
  return out.str();
}

std::string BenchJson(const BenchResult& result) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["kernel"] = result.kernel;
  json["mode"] = result.emulated ? "emulate" : "direct";
  json["cpu"] = result.peaks.cpu;
  json["isa"] = result.isa;
  json["cores"] = result.cores;
  json["seconds"] = {
      {"median", result.median()}, {"min", result.seconds.front()}, {"max", result.seconds.back()}};
  json["calls"] = result.seconds.size();
  json["steps"] = result.binding->StepCount();
  json["flops"] = result.work.flops;
  json["flops_of"] = CountsVisits(*result.binding->kernel) ? "visits" : "product";
  json["bytes"] = result.work.bytes;
  json["flops_per_second"] = result.flops_per_second();
  json["bytes_per_second"] = result.bytes_per_second();
  const Limit limit = result.limit();
  json["limit"] = {{"binds", limit.binds},   {"share", limit.share()},   {"peak", limit.peak},
                   {"memory", limit.memory}, {"latency", limit.latency}, {"level", limit.level}};
  json["others"] = result.others;
  json["peak"] = {{"flops_per_second", result.peak_flops()},
                  {"bytes_per_second", result.peaks.bytes_per_second},
                  {"measured", result.peaks.measured},
                  {"others", result.peaks.others}};
  json["own_blocks"] = result.own_blocks;
  json["variant"] = result.variant;
  return json.dump(2) + "\n";
}

}  // namespace kiln::cli
