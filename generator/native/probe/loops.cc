// What this machine can do at most: dots out of registers, and loops over memory. On one core;
// whoever calls starts several. The tool carries this text and compiles it like a kernel
// (generator/native/peaks.h); benchmarks load it as a module.
#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kiln/dot/amx.h"

// All of it, as a compiler may leave out of -march=native what Highway's target asks for: then
// nothing of Highway could be inlined.
HWY_BEFORE_NAMESPACE();

namespace {
namespace hn = hwy::HWY_NAMESPACE;
constexpr hn::ScalableTag<float> kFloats;
constexpr hn::ScalableTag<int32_t> kInts;

// More independent sums than the units are deep, and fewer than there are registers.
constexpr int kSums = HWY_TARGET <= HWY_AVX3 ? 24 : 12;

/// `steps` times kSums operations of `step` on registers. The sums are kept in an array that the
/// compiler takes apart.
template <class D, class V, class Step>
HWY_NOINLINE double Registers(D d, int64_t steps, V x, V y, const Step& step) {
  using Sum = decltype(hn::Zero(d));
  Sum sums[kSums];
#pragma GCC unroll 24
  for (Sum& sum : sums) sum = hn::Zero(d);
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 24
    for (Sum& sum : sums) {
      sum = step(x, y, sum);
      // Or the compiler would see that the sums are alike.
      asm volatile("" : "+v"(sum.raw));
    }
  }
  Sum all = hn::Zero(d);
#pragma GCC unroll 24
  for (const Sum& sum : sums) all = hn::Add(all, sum);
  return static_cast<double>(hn::GetLane(all));
}

/// The largest tile of AMX, of what the L1 holds, as registers hold too little. A step is a
/// k-group.
double AmxTiles(kiln::AmxElements elements, double per_k_group, int64_t steps, double* sink) {
  constexpr size_t kLine = 64, kVectors = 3, kDepth = 8 * kiln::kAmxKGroups;
  constexpr size_t kRow = kDepth * sizeof(int32_t);
  alignas(kLine) static char a[kiln::kAmxTileRows * kRow], b[kDepth * kVectors * kLine];
  alignas(kLine) char sums[kiln::kAmxTileRows * kVectors * kLine] = {};
  kiln::AmxTile tile;
  tile.a = a, tile.a_to_row = kRow;
  tile.b = b, tile.b_to_k = kVectors * kLine;
  tile.depth = kDepth;
  tile.sums = sums, tile.sums_to_row = kVectors * kLine, tile.sums_to_vector = kLine;
  tile.from_zero = true;
  kiln::AmxRegisters registers;
  for (int64_t i = 0; i < steps; i += kDepth)
    registers.Multiply(elements, tile, kiln::kAmxTileRows, kVectors);
  *sink = sums[0];
  constexpr double kSumsOfTile = kiln::kAmxTileRows * kVectors * kiln::kAmxKGroups;
  return per_k_group * kSumsOfTile * static_cast<double>(steps);
}

}  // namespace

extern "C" {

/// Each returns the number of operations of `steps` steps, a multiply and an add counted as two, or
/// 0 where this build has no such instruction.
double probe_f32(int64_t steps, double* sink) {
  const auto x = hn::Set(kFloats, 1.0f);
  *sink = Registers(kFloats, steps, x, x,
                    [](auto a, auto b, auto c) HWY_ATTR { return hn::MulAdd(a, b, c); });
  return 2.0 * kSums * static_cast<double>(hn::Lanes(kFloats)) * static_cast<double>(steps);
}

double probe_bf16(int64_t steps, double* sink) {
  if (kiln::HasAmx()) return AmxTiles(kiln::AmxElements::kBf16, 4.0, steps, sink);
#if defined(__AVX512BF16__) && HWY_TARGET <= HWY_AVX3
  const auto x = hn::Set(kInts, 0x3F803F80);
  *sink = Registers(kFloats, steps, x, x, [](auto a, auto b, auto c) HWY_ATTR {
    return decltype(c){_mm512_dpbf16_ps(c.raw, (__m512bh)a.raw, (__m512bh)b.raw)};
  });
  return 4.0 * kSums * static_cast<double>(hn::Lanes(kFloats)) * static_cast<double>(steps);
#else
  *sink = static_cast<double>(steps);
  return 0;
#endif
}

double probe_i8(int64_t steps, double* sink) {
  if (kiln::HasAmx()) return AmxTiles(kiln::AmxElements::kS8S8, 8.0, steps, sink);
#if defined(__AVX512VNNI__) && HWY_TARGET <= HWY_AVX3
  const auto x = hn::Set(kInts, 0x01010101);
  *sink = Registers(kInts, steps, x, x, [](auto a, auto b, auto c) HWY_ATTR {
    return decltype(c){_mm512_dpbusd_epi32(c.raw, a.raw, b.raw)};
  });
  return 8.0 * kSums * static_cast<double>(hn::Lanes(kInts)) * static_cast<double>(steps);
#else
  *sink = static_cast<double>(steps);
  return 0;
#endif
}

/// z = x + y past the caches: a STREAM "add". z is aligned to a vector and n a multiple of one.
void probe_add(const float* x, const float* y, float* z, size_t n) {
  const size_t lanes = hn::Lanes(kFloats);
  for (size_t i = 0; i < n; i += lanes)
    hn::Stream(hn::Add(hn::LoadU(kFloats, x + i), hn::LoadU(kFloats, y + i)), kFloats, z + i);
  hwy::FlushStream();
}

/// z = x, as above.
void probe_copy(const float* x, float* z, size_t n) {
  const size_t lanes = hn::Lanes(kFloats);
  for (size_t i = 0; i < n; i += lanes) hn::Stream(hn::LoadU(kFloats, x + i), kFloats, z + i);
  hwy::FlushStream();
}

/// The sum of x: nothing but reading.
float probe_read(const float* x, size_t n) {
  const size_t lanes = hn::Lanes(kFloats);
  auto a = hn::Zero(kFloats), b = a, c = a, d = a;
  for (size_t i = 0; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(kFloats, x + i));
    b = hn::Add(b, hn::LoadU(kFloats, x + i + lanes));
    c = hn::Add(c, hn::LoadU(kFloats, x + i + 2 * lanes));
    d = hn::Add(d, hn::LoadU(kFloats, x + i + 3 * lanes));
  }
  return hn::GetLane(hn::SumOfLanes(kFloats, hn::Add(hn::Add(a, b), hn::Add(c, d))));
}

/// Calls fn(a, b, c, context, status) `count` times: a call's cost without Python's.
using Call3 = int32_t (*)(const void*, const void*, const void*, void*, void*);
int32_t probe_calls(Call3 fn, const void* a, const void* b, const void* c, void* context,
                    int64_t count) {
  int32_t code = 0;
  for (int64_t i = 0; i < count; ++i) code |= fn(a, b, c, context, nullptr);
  return code;
}

/// An empty function, to be called so.
int32_t probe_nothing(const void*, const void*, const void*, void*, void*) { return 0; }

}  // extern "C"

HWY_AFTER_NAMESPACE();
