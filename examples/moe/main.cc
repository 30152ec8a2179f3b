// Runs a mixture-of-experts layer on random data and holds it against the plain sums.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "expert_up.h"
#include "layer.h"

namespace {

constexpr Shape kShape = {600, 256, 512, 8, 2};

std::vector<float> RandomValues(int64_t count, double scale, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> values(0, scale);
  std::vector<float> result(static_cast<size_t>(count));
  for (float& value : result) value = static_cast<float>(values(random));
  return result;
}

/// One expert is never liked, so that one group of rows is empty.
Weights RandomWeights(const Shape& s) {
  Weights weights;
  weights.router = RandomValues(s.width * s.experts, 1 / std::sqrt(double(s.width)), 1);
  weights.bias.assign(static_cast<size_t>(s.experts), 0.0f);
  weights.bias[3] = -1000;
  weights.up = RandomValues(s.experts * s.width * s.hidden, 1 / std::sqrt(double(s.width)), 2);
  weights.down = RandomValues(s.experts * s.hidden * s.width, 1 / std::sqrt(double(s.hidden)), 3);
  return weights;
}

/// What an expert makes of a token, one sum after the other, in double precision.
std::vector<double> Expert(const Shape& s, const Weights& weights, int64_t expert,
                           const float* token) {
  const float* const up = weights.up.data() + expert * s.width * s.hidden;
  const float* const down = weights.down.data() + expert * s.hidden * s.width;
  std::vector<double> y(static_cast<size_t>(s.width), 0.0);
  for (int64_t h = 0; h < s.hidden; ++h) {
    double sum = 0;
    for (int64_t k = 0; k < s.width; ++k) sum += double(token[k]) * double(up[k * s.hidden + h]);
    const double active = sum / (1 + std::exp(-sum));
    for (size_t c = 0; c < y.size(); ++c) y[c] += active * double(down[h * s.width + int64_t(c)]);
  }
  return y;
}

double LargestError(const Shape& s, const Weights& weights, const std::vector<float>& x,
                    const std::vector<float>& y) {
  const Routes routes = Route(s, weights, x);
  double worst = 0;
  for (int64_t t = 0; t < s.tokens; ++t) {
    std::vector<double> want(static_cast<size_t>(s.width), 0.0);
    for (int64_t i = t * s.chosen; i < (t + 1) * s.chosen; ++i) {
      const auto at = static_cast<size_t>(i);
      const auto part = Expert(s, weights, routes.expert[at], x.data() + t * s.width);
      for (size_t c = 0; c < want.size(); ++c) want[c] += double(routes.weight[at]) * part[c];
    }
    for (size_t c = 0; c < want.size(); ++c) {
      const double got = double(y[static_cast<size_t>(t * s.width) + c]);
      const double error = std::fabs(got - want[c]);
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
  }
  return worst;
}

/// Group sizes that do not fit are a status, before anything is touched.
kiln::Status Mistake(kiln::Context& context) {
  const std::vector<int32_t> sizes = {3, 2};
  const std::vector<float> x(4 * 8), w(2 * 8 * 8);
  std::vector<float> y(4 * 8);
  return kiln::expert_up({sizes.data(), {2}}, {x.data(), {4, 8}}, {w.data(), {2, 8, 8}},
                         {y.data(), {4, 8}}, context);
}

}  // namespace

int main() {
  const Shape& s = kShape;
  const Weights weights = RandomWeights(s);
  const std::vector<float> x = RandomValues(s.tokens * s.width, 1, 4);
  std::vector<float> y;
  kiln::Context context;
  Layer layer(s, weights);

  double seconds = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const kiln::Status status = layer.Run(x, y, context);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    seconds = std::min(seconds, took.count());
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.message);
      return 1;
    }
  }

  const double error = LargestError(s, weights, x, y);
  const double operations = 4.0 * double(s.tokens * s.chosen * s.width * s.hidden);
  std::printf("%d tokens, %d experts of which each token has %d; rows of each:", int(s.tokens),
              int(s.experts), int(s.chosen));
  for (const int32_t size : layer.sizes()) std::printf(" %d", size);
  std::printf("\nlargest error %.1e; %.2f ms, %.0f GF/s\n", error, 1e3 * seconds,
              1e-9 * operations / seconds);
  const kiln::Status mistake = Mistake(context);
  std::printf("a mistake: %s\n", mistake.message);
  // Two sums of up to 512 terms of magnitude 1, in f32.
  return error < 1e-5 && !mistake.ok() ? 0 : 1;
}
