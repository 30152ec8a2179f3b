// What `kiln bench` says of a call's limit, on a machine of round numbers.
#include "generator/native/limit.h"

#include <cmath>

#include "generator/native/caches.h"
#include "tests/catch.h"

namespace kiln {
namespace {

bool Near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

Peaks RoundPeaks() {
  Peaks peaks;
  peaks.cores = 2;
  peaks.bytes_per_second = 50e9;
  peaks.l2_bytes = 1 << 20;
  peaks.l2_bytes_per_second = 500e9;
  peaks.last_cache_bytes = 32 << 20;
  peaks.last_cache_bytes_per_second = 100e9;
  return peaks;
}

/// A call of a second, with so much work and of so many steps.
TimedCall Call(double operations, double bytes, double steps = 1) {
  TimedCall call;
  call.seconds = 1;
  call.operations = operations;
  call.peak = 100e9;
  call.bytes = bytes;
  call.steps = steps;
  return call;
}

TEST_CASE("the limit is what a call comes nearest to") {
  const Limit peak = LimitOf(Call(90e9, 5e9), RoundPeaks());
  CHECK(peak.binds == "peak");
  CHECK(Near(peak.share(), 0.9));
  CHECK(Near(peak.memory, 0.1));
  CHECK(peak.level == "memory");

  const Limit memory = LimitOf(Call(10e9, 40e9), RoundPeaks());
  CHECK(memory.binds == "memory");
  CHECK(Near(memory.share(), 0.8));

  const Limit latency = LimitOf(Call(10e9, 5e9, 40e6), RoundPeaks());
  CHECK(latency.binds == "latency");
  CHECK(latency.share() > 0.7);
}

TEST_CASE("a call that is far from all of them has other instructions to do") {
  const Limit limit = LimitOf(Call(30e9, 25e9), RoundPeaks());
  CHECK(limit.binds == "instructions");
  CHECK(Near(limit.share(), 0.5));
  // Without dots, and where their peak is not known, the peak is no limit.
  TimedCall call = Call(30e9, 25e9);
  call.peak = 0;
  CHECK(LimitOf(call, RoundPeaks()).peak == 0);
}

TEST_CASE("arrays that a cache holds are limited by that cache") {
  TimedCall call;
  call.seconds = 1e-3;
  call.bytes = 2 << 20;  // the L2 of two cores
  Limit limit = LimitOf(call, RoundPeaks());
  CHECK(limit.level == "L2");
  CHECK(Near(limit.memory, call.bytes / 1e-3 / 500e9));
  call.bytes += 1;
  CHECK(LimitOf(call, RoundPeaks()).level == "last cache");
  call.bytes = (32 << 20) + 1;
  CHECK(LimitOf(call, RoundPeaks()).level == "memory");
  Peaks without = RoundPeaks();  // as an operating system may say nothing of caches
  without.l2_bytes_per_second = without.last_cache_bytes_per_second = 0;
  call.bytes = 100;
  CHECK(LimitOf(call, without).level == "memory");
}

TEST_CASE("a step of the emulator takes longer, and a call no more than all of its time") {
  TimedCall call = Call(0, 0, 1000);
  call.seconds = 1e-3;
  const double direct = LimitOf(call, RoundPeaks()).latency;
  call.emulated = true;
  CHECK(LimitOf(call, RoundPeaks()).latency > 5 * direct);
  call.seconds = 1e-9;
  CHECK(LimitOf(call, RoundPeaks()).latency == 1);
  CHECK(LimitOf(TimedCall{}, RoundPeaks()).binds.empty());
}

TEST_CASE("the caches of this machine are of a size that a machine has") {
  const int64_t l2 = CacheBytes(2), last = CacheBytes(3);
  CHECK((l2 == 0 || (l2 >= 64 << 10 && l2 <= 1 << 30)));
  CHECK((last == 0 || last >= l2));
}

}  // namespace
}  // namespace kiln
