// One fuzzer: libFuzzer calls this, with bytes of its own making, or of ours.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "tests/fuzz/libfuzzer/mutate.h"
#include "tests/fuzz/target.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

const kiln::fuzz::Target& TheTarget() {
  static const kiln::fuzz::Target target = kiln::fuzz::KILN_FUZZ_TARGET();
  return target;
}

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// The longest run, said at the end: libFuzzer's own figure is in whole seconds, and of a clock
/// that runs on while others have the CPU.
struct Slowest {
  double seconds = 0;
  ~Slowest() { std::fprintf(stderr, "stat::slowest_input_ms: %.0f\n", seconds * 1000); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Slowest slowest;
  const double start = CpuSeconds();
  TheTarget().run({reinterpret_cast<const char*>(data), size});
  slowest.seconds = std::max(slowest.seconds, CpuSeconds() - start);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  if (!TheTarget().is_text || seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string text =
      kiln::fuzz::MutateText({reinterpret_cast<const char*>(data), size}, seed);
  const size_t kept = std::min(text.size(), most);
  std::memcpy(data, text.data(), kept);
  return kept;
}
