// The text of a general body against plain loops, and one mode against the other.
#include "tests/runtime/samples/softmax.h"

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "hwy/targets.h"
#include "tests/runtime/runtime_testing.h"

namespace kiln {
namespace {

std::vector<float> RandomFloats(int64_t size, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = uniform(generator);
  return values;
}

std::vector<bf16> ToBf16(const std::vector<float>& values) {
  std::vector<bf16> to;
  for (const float value : values) to.push_back(hwy::BF16FromF32(value));
  return to;
}

Options In(Mode mode, int cores) {
  Options options;
  options.mode = mode;
  options.cores = cores;
  return options;
}

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Every target that this CPU can run, the best first.
template <class Fn>
void OnEachTarget(const Fn& fn) {
  for (int64_t targets = hwy::SupportedTargets() & (HWY_AVX3_DL | HWY_AVX3 | HWY_AVX2);
       targets != 0; targets &= targets - 1) {
    hwy::SetSupportedTargetsForTest(targets & -targets);
    INFO(hwy::TargetName(targets & -targets));
    fn();
  }
  hwy::SetSupportedTargetsForTest(0);
}

struct Softmax {
  std::vector<bf16> z;
  std::vector<float> s;
};

Softmax RunSoftmax(const std::vector<bf16>& x, int64_t m, int64_t n, const Options& options) {
  Softmax result{std::vector<bf16>(x.size()), std::vector<float>(static_cast<size_t>(m))};
  Context context(options);
  const Status status = sample_softmax({x.data(), {m, n}}, {result.z.data(), {m, n}},
                                       {result.s.data(), {m}}, context);
  CHECK(std::string(status.message) == "");
  return result;
}

void CheckSoftmax(const std::vector<bf16>& x, int64_t m, int64_t n, const Softmax& result) {
  double worst = 0;
  for (int64_t r = 0; r < m; ++r) {
    double high = -INFINITY, sum = 0;
    const auto at = [&](int64_t c) { return double{hwy::F32FromBF16(x[r * n + c])}; };
    for (int64_t c = 0; c < n; ++c) high = std::max(high, at(c));
    for (int64_t c = 0; c < n; ++c) sum += std::exp(at(c) - high);
    worst = std::max(worst, std::abs(result.s[r] / sum - 1) * 1e3);
    for (int64_t c = 0; c < n; ++c) {
      const double z = hwy::F32FromBF16(result.z[r * n + c]);
      worst = std::max(worst, std::abs(z / (std::exp(at(c) - high) / sum) - 1));
    }
  }
  CHECK(worst < 1.0 / 256);  // half a unit in the last place of a bf16
}

TEST_CASE("sample_softmax: both modes, all targets, ragged shapes") {
  OnEachTarget([] {
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {256, 64}, {600, 77}}) {
      const auto x = ToBf16(RandomFloats(m * n, static_cast<uint32_t>(n)));
      const Softmax direct = RunSoftmax(x, m, n, In(Mode::kDirect, 2));
      CheckSoftmax(x, m, n, direct);
      const Softmax emulated = RunSoftmax(x, m, n, In(Mode::kEmulated, 3));
      CHECK(SameBits(direct.z, emulated.z));
      CHECK(SameBits(direct.s, emulated.s));
    }
  });
}

TEST_CASE("sample_softmax: nothing to do") {
  RunSoftmax({}, 0, 5, In(Mode::kDirect, 2));
  RunSoftmax({}, 0, 5, In(Mode::kEmulated, 2));
}

TEST_CASE("sample_softmax: what does not fit") {
  const int64_t n = 1 << 16;
  const std::vector<bf16> x(static_cast<size_t>(n));
  std::vector<bf16> z(x.size());
  float s = 0;
  Context context(In(Mode::kEmulated, 1));
  const Status status = sample_softmax({x.data(), {1, n}}, {z.data(), {1, n}}, {&s, {1}}, context);
  CHECK(std::string(status.message) ==
        "sample_softmax: [tier] the kernel needs at least 64.0 MiB of VMEM with x (line 5) on core "
        "0, which has 16.0 MiB: "
        "x 2 x 32.0 MiB");
}

TEST_CASE("sample_softmax: the C interface") {
  const auto x = ToBf16(RandomFloats(12, 1));
  std::vector<bf16> z(12);
  std::vector<float> s(3);
  int64_t shape[] = {3, 4};
  DLTensor x_tensor{
      const_cast<bf16*>(x.data()), {kDLCPU, 0}, 2, {kDLBfloat, 16, 1}, shape, nullptr, 0};
  DLTensor z_tensor = x_tensor, s_tensor = x_tensor;
  z_tensor.data = z.data();
  s_tensor.data = s.data();
  s_tensor.dtype = {kDLFloat, 32, 1};
  s_tensor.ndim = 1;
  kiln_status status;
  CHECK(kiln_sample_softmax(&x_tensor, &z_tensor, &s_tensor, nullptr, &status) == 0);
  CheckSoftmax(x, 3, 4, {z, s});
  CHECK(kiln_sample_softmax(&x_tensor, &x_tensor, &s_tensor, nullptr, &status) == kAlias);
  CHECK(std::string(status.message) == "sample_softmax: z overlaps x in memory");
  CHECK(kiln_sample_softmax(&x_tensor, &s_tensor, &s_tensor, nullptr, nullptr) == kCall);
}

}  // namespace
}  // namespace kiln
