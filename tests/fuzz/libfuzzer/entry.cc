// One fuzzer: libFuzzer calls this, with bytes of its own making.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include "tests/fuzz/target.h"

namespace {

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// The longest run, said at the end: libFuzzer's own figure is in whole seconds, and of a clock that
/// runs on while others have the CPU.
struct Slowest {
  double seconds = 0;
  ~Slowest() { std::fprintf(stderr, "stat::slowest_input_ms: %.0f\n", seconds * 1000); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const kiln::fuzz::Target target = kiln::fuzz::KILN_FUZZ_TARGET();
  static Slowest slowest;
  const double start = CpuSeconds();
  target.run({reinterpret_cast<const char*>(data), size});
  slowest.seconds = std::max(slowest.seconds, CpuSeconds() - start);
  return 0;
}
