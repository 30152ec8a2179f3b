// One fuzzer: libFuzzer calls this, with bytes of its own making.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/target.h"

namespace {

/// The longest run, said at the end: libFuzzer's own figure is in whole seconds.
struct Slowest {
  std::chrono::steady_clock::duration time{};
  ~Slowest() {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time);
    std::fprintf(stderr, "stat::slowest_input_ms: %lld\n", static_cast<long long>(ms.count()));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const kiln::fuzz::Target target = kiln::fuzz::KILN_FUZZ_TARGET();
  static Slowest slowest;
  const auto start = std::chrono::steady_clock::now();
  target.run({reinterpret_cast<const char*>(data), size});
  slowest.time = std::max(slowest.time, std::chrono::steady_clock::now() - start);
  return 0;
}
