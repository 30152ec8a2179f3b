// Runs the layer on random data, spread over the ranks, and holds it against one rank that has
// everything.
//   mpirun -n 4 build/moe_mpi [ROUNDS] [PATIENCE]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

#include "layer.h"

namespace {

constexpr Shape kShape = {509, 256, 512, 8, 2};  // tokens that no number of ranks divides

/// The same on every rank, whichever part of it a rank asks for.
void AddRandom(int64_t count, double scale, unsigned seed, std::vector<float>& to) {
  std::mt19937 random(seed);
  std::normal_distribution<double> values(0, scale);
  for (int64_t i = 0; i < count; ++i) to.push_back(static_cast<float>(values(random)));
}

Weights RandomWeights(const Shape& s, const Share& experts) {
  Weights weights;
  AddRandom(s.width * s.experts, 1 / std::sqrt(double(s.width)), 1, weights.router);
  for (int64_t e = experts.first; e < experts.first + experts.count; ++e) {
    const auto seed = static_cast<unsigned>(100 + 2 * e);
    AddRandom(s.width * s.hidden, 1 / std::sqrt(double(s.width)), seed, weights.up);
    AddRandom(s.hidden * s.width, 1 / std::sqrt(double(s.hidden)), seed + 1, weights.down);
  }
  return weights;
}

std::vector<float> RandomTokens(const Shape& s, const Share& tokens) {
  std::vector<float> x;
  for (int64_t t = tokens.first; t < tokens.first + tokens.count; ++t)
    AddRandom(s.width, 1, static_cast<unsigned>(10000 + t), x);
  return x;
}

/// What plain sums in double precision make of a token.
std::vector<double> Plain(const Shape& s, const Weights& weights, const Routes& routes,
                          const std::vector<float>& x, int64_t token) {
  std::vector<double> y(static_cast<size_t>(s.width), 0.0);
  for (int64_t i = token * s.chosen; i < (token + 1) * s.chosen; ++i) {
    const int64_t expert = routes.expert[static_cast<size_t>(i)];
    const float* const up = weights.up.data() + expert * s.width * s.hidden;
    const float* const down = weights.down.data() + expert * s.hidden * s.width;
    for (int64_t h = 0; h < s.hidden; ++h) {
      double sum = 0;
      for (int64_t k = 0; k < s.width; ++k) {
        sum += double(x[static_cast<size_t>(token * s.width + k)]) * double(up[k * s.hidden + h]);
      }
      const double weighted =
          double(routes.weight[static_cast<size_t>(i)]) * sum / (1 + std::exp(-sum));
      for (size_t c = 0; c < y.size(); ++c)
        y[c] += weighted * double(down[h * s.width + int64_t(c)]);
    }
  }
  return y;
}

double Error(double got, double want) {
  const double error = std::fabs(got - want);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

/// On one rank: what all of them computed is what it computes alone, bit for bit, and what plain
/// sums say.
bool Check(const std::vector<float>& y) {
  const Shape& s = kShape;
  const Ranks alone(MPI_COMM_SELF);
  const Weights weights = RandomWeights(s, {0, s.experts});
  const std::vector<float> x = RandomTokens(s, {0, s.tokens});
  kiln::Context context;
  const std::vector<float> by_one = Layer(s, alone, weights).Run(x, context);
  double from_one = 0, from_plain = 0;
  for (size_t i = 0; i < y.size(); ++i)
    from_one = std::max(from_one, Error(double(y[i]), double(by_one[i])));
  const Routes routes = Route(s, weights, x);
  for (int64_t t = 0; t < s.tokens; t += 7) {
    const std::vector<double> want = Plain(s, weights, routes, x, t);
    for (size_t c = 0; c < want.size(); ++c) {
      const double got = double(y[static_cast<size_t>(t * s.width) + c]);
      from_plain = std::max(from_plain, Error(got, want[c]));
    }
  }
  std::printf("largest difference from one rank %.1e, from plain sums %.1e\n", from_one,
              from_plain);
  // Two sums of up to 512 terms of magnitude 1, in f32. A token has two experts, and the sum of two
  // does not depend on their order.
  return from_one == 0 && from_plain < 1e-5;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const Ranks ranks(MPI_COMM_WORLD, argc > 2 ? std::atof(argv[2]) : 20);
  const Shape& s = kShape;
  const Weights weights = RandomWeights(s, ranks.ShareOf(s.experts));
  const std::vector<float> x = RandomTokens(s, ranks.ShareOf(s.tokens));
  kiln::Options options;
  options.cores = 1;  // a rank for each core
  kiln::Context context(options);
  Layer layer(s, ranks, weights);

  std::vector<float> y;
  double seconds = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const double start = MPI_Wtime();
    y = layer.Run(x, context);
    seconds = std::min(seconds, MPI_Wtime() - start);
    if (round == 0 && ranks.rank() == 0) std::printf("running\n"), std::fflush(stdout);
  }

  const std::vector<float> all = ranks.AllGather(y, s.tokens, s.width);
  const std::vector<int32_t> own_rows = {static_cast<int32_t>(layer.rows())};
  const std::vector<int32_t> rows = ranks.AllGather(own_rows, ranks.size(), 1);
  int status = 0;
  if (ranks.rank() == 0) {
    std::printf("%d tokens, %d experts on %d ranks; rows of each rank:", int(s.tokens),
                int(s.experts), ranks.size());
    for (const int32_t count : rows) std::printf(" %d", count);
    std::printf("; %.2f ms\n", 1e3 * seconds);
    status = Check(all) ? 0 : 1;
    std::fflush(stdout);
  }
  MPI_Finalize();
  return status;
}
