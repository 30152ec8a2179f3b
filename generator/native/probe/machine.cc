// What kernels that the tool compiles take of this CPU. The tool carries this text and compiles it
// like a kernel (generator/native/cpu.h).
#include "kiln/core/machine.h"

#include <cstdint>
#include <cstdio>

#include "kiln/core/blocks.h"
#include "kiln/kiln-inl.h"
// The dots after what they use.
#include "kiln/dot/panels-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Writes JSON; returns whether it fits.
bool Describe(char* text, int64_t capacity) {
  const Cpu cpu = CompletedCpu({});
  constexpr int64_t kSize = 4096;  // M, N and K of the product that is described
  const auto number = [](int64_t value) { return static_cast<long long>(value); };
  const int written = std::snprintf(
      text, static_cast<size_t>(capacity),
      "{\"target\": \"%s\", \"highway\": \"%d.%d.%d\", \"vector_bytes\": %zu, "
      "\"vector_registers\": %d, \"amx\": %s, \"l1_bytes\": %lld, "
      "\"l2_bytes\": %lld, \"last_cache_bytes\": %lld, \"page_bytes\": %lld, \"tile_rows\": %zu, "
      "\"tile_columns\": %zu, \"product\": %lld, \"mc\": %lld, \"nc\": %lld, \"kc\": %lld}",
      hwy::TargetName(HWY_TARGET), HWY_MAJOR, HWY_MINOR, HWY_PATCH,
      hn::Lanes(hn::ScalableTag<uint8_t>()), kTilesOf8Rows ? 32 : 16, HasAmx() ? "true" : "false",
      number(cpu.l1_bytes), number(cpu.l2_bytes), number(cpu.last_cache_bytes), number(PageBytes()),
      size_t{kTileRows}, kTileVectors * hn::Lanes(hn::ScalableTag<float>()), number(kSize),
      number(ChooseMC(cpu, kSize, /*cores=*/1, kSize, kSize)),
      number(ChooseNC(kSize, /*cores=*/1, kSize)),
      number(DepthFor<float>(cpu, kSize, kSize, kSize)));
  return written > 0 && written < capacity;
}

}  // namespace
}  // namespace kiln::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

extern "C" int32_t probe_machine(char* text, int64_t capacity) {
  return kiln::HWY_NAMESPACE::Describe(text, capacity) ? 0 : 1;
}
