// The hand-written kernel against a reference without blocks: every target, both machines, one core
// and two, with sizes that cut blocks, panels and vectors.

#include "tests/runtime/samples/matmul.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "tests/catch.h"

namespace kiln {
namespace {

struct Problem {
  int64_t m, k, n;
  std::vector<float> x, y, bias;
};

Problem RandomProblem(int64_t m, int64_t k, int64_t n) {
  std::mt19937 random(static_cast<uint32_t>(m + k + n));
  std::uniform_real_distribution<float> any(-1, 1);
  Problem problem{m, k, n, {}, {}, {}};
  for (int64_t i = 0; i < m * k; ++i) problem.x.push_back(any(random));
  for (int64_t i = 0; i < k * n; ++i) problem.y.push_back(any(random));
  for (int64_t i = 0; i < n; ++i) problem.bias.push_back(any(random));
  return problem;
}

/// The kernel's answer, in memory in which every element that is not one of z's stays as it was.
std::vector<float> Run(const Problem& problem, Context& context) {
  const auto& [m, k, n, x, y, bias] = problem;
  const int64_t stride = n + 5;
  std::vector<float> z(static_cast<size_t>(m * stride), 77.0f);
  const Status status = sample_matmul(
      Tensor<const float>(x.data(), {m, k}), Tensor<const float>(y.data(), {k, n}),
      Tensor<const float>(bias.data(), {n}), Tensor<float>(z.data(), {m, n}, {stride, 1}), context);
  CHECK(std::string(status.message) == "");
  std::vector<float> answer;
  bool kept = true;
  for (int64_t i = 0; i < m * stride; ++i) {
    const float value = z[static_cast<size_t>(i)];
    if (i % stride < n) {
      answer.push_back(value);
    } else {
      kept = kept && value == 77.0f;
    }
  }
  CHECK(kept);
  return answer;
}

/// The largest error in units of what rounding may cost.
double WorstError(const Problem& problem, const std::vector<float>& answer) {
  const auto& [m, k, n, x, y, bias] = problem;
  double worst = 0;
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t c = 0; c < n; ++c) {
      double sum = bias[static_cast<size_t>(c)], size = std::abs(sum);
      for (int64_t i = 0; i < k; ++i) {
        const double product = static_cast<double>(x[static_cast<size_t>(r * k + i)]) *
                               static_cast<double>(y[static_cast<size_t>(i * n + c)]);
        sum += product;
        size += std::abs(product);
      }
      const double expected = sum * 0.5 * (1 + std::erf(sum * std::sqrt(0.5)));
      const double tolerance =
          std::numeric_limits<float>::epsilon() * (size * std::sqrt(static_cast<double>(k)) + 4);
      const double error = std::abs(answer[static_cast<size_t>(r * n + c)] - expected);
      worst = std::max(worst, error / tolerance);
    }
  }
  return worst;
}

TEST_CASE("the sample kernel, on all targets and machines") {
  constexpr int64_t kSizes[][3] = {{1, 1, 1},    {3, 5, 600},    {15, 600, 33},
                                   {520, 40, 8}, {20, 1030, 50}, {11, 70, 1100}};
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const auto& [m, k, n] : kSizes) {
      const Problem problem = RandomProblem(m, k, n);
      std::vector<float> first;
      for (const Mode mode : {Mode::kDirect, Mode::kEmulated}) {
        for (const int32_t cores : {1, 2}) {
          Options options;
          options.mode = mode;
          options.cores = cores;
          Context context(options);
          const std::vector<float> answer = Run(problem, context);
          INFO(hwy::TargetName(target) << ' ' << m << 'x' << k << 'x' << n << ", cores " << cores);
          if (first.empty()) {
            first = answer;
            CHECK(WorstError(problem, answer) < 1);
          }
          CHECK(std::memcmp(answer.data(), first.data(), first.size() * sizeof(float)) == 0);
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_CASE("a call that does not fit") {
  const Problem problem = RandomProblem(2, 3, 4);
  std::vector<float> z(8);
  const Status status = sample_matmul(
      Tensor<const float>(problem.x.data(), {2, 3}), Tensor<const float>(problem.y.data(), {3, 4}),
      Tensor<const float>(problem.bias.data(), {3}), Tensor<float>(z.data(), {2, 4}));
  CHECK(status.code == kCall);
  CHECK(std::string(status.message) == "sample_matmul: bias has shape [3], expected [4]");
}

}  // namespace
}  // namespace kiln
