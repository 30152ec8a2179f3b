#include "generator/native/limit.h"

#include <algorithm>

namespace kiln {
namespace {

/// From so much on of one limit, it is what binds: no more than 1.7 times the speed is left.
constexpr double kBinds = 0.6;

// What a call and a step take at the least, by `./dev bench P12` on several machines. Direct joins
// some steps, so that what it takes for them may be less.
constexpr double kCallSeconds = 0.25e-6;
constexpr double kStepSeconds = 20e-9;
constexpr double kEmulatedStepSeconds = 190e-9;

/// The level that holds so many bytes, and what a loop reads of it a second.
double LevelOf(double bytes, const Peaks& peaks, std::string* level) {
  const auto holds = [bytes](double size, double rate) { return rate > 0 && bytes <= size; };
  if (holds(peaks.l2_bytes * peaks.cores, peaks.l2_bytes_per_second)) {
    *level = "L2";
    return peaks.l2_bytes_per_second;
  }
  if (holds(peaks.last_cache_bytes, peaks.last_cache_bytes_per_second)) {
    *level = "last cache";
    return peaks.last_cache_bytes_per_second;
  }
  *level = "memory";
  return peaks.bytes_per_second;
}

}  // namespace

double Limit::share() const { return std::max({peak, memory, latency}); }

Limit LimitOf(const TimedCall& call, const Peaks& peaks) {
  Limit limit;
  const double rate = LevelOf(call.bytes, peaks, &limit.level);
  if (call.seconds <= 0) return limit;
  if (call.peak > 0) limit.peak = call.operations / call.seconds / call.peak;
  if (rate > 0) limit.memory = call.bytes / call.seconds / rate;
  const double step = call.emulated ? kEmulatedStepSeconds : kStepSeconds;
  limit.latency = std::min(1.0, (kCallSeconds + step * call.steps) / call.seconds);
  const double most = limit.share();
  limit.binds = most < kBinds          ? "instructions"
                : most == limit.peak   ? "peak"
                : most == limit.memory ? "memory"
                                       : "latency";
  return limit;
}

}  // namespace kiln
