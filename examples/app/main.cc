// A network of one layer on random data: two kernels that Kiln generated when this was built.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "dense.h"
#include "softmax_rows.h"

namespace {

std::vector<float> RandomValues(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> result(static_cast<size_t>(count));
  for (float& value : result) value = values(random);
  return result;
}

/// What every caller does with a status.
bool Succeeded(const kiln::Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s: %s\n", NameOf(status.code), status.message);
  return status.ok();
}

/// The largest distance of a row's sum from 1.
double WorstRow(const std::vector<float>& values, int64_t rows, int64_t columns) {
  double worst = 0;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += values[static_cast<size_t>(r * columns + c)];
    worst = std::fmax(worst, std::fabs(sum - 1));
  }
  return worst;
}

}  // namespace

int main() {
  const int64_t rows = 100, ins = 300, classes = 10;
  const std::vector<float> x = RandomValues(rows * ins, 1);
  const std::vector<float> w = RandomValues(ins * classes, 2);
  const std::vector<float> bias = RandomValues(classes, 3);
  std::vector<float> hidden(static_cast<size_t>(rows * classes));
  std::vector<float> likely(hidden.size());

  // A context keeps threads and memory from call to call; kernels can share it.
  kiln::Options options;
  options.cores = 2;
  kiln::Context context(options);

  const kiln::Tensor<float> y(hidden.data(), {rows, classes});
  const kiln::Tensor<float> p(likely.data(), {rows, classes});
  const bool good = Succeeded(kiln::dense({x.data(), {rows, ins}}, {w.data(), {ins, classes}},
                                          {bias.data(), {classes}}, y, context)) &&
                    Succeeded(kiln::softmax_rows(y, p, context));
  if (!good) return 1;

  // A mistake is a status that says what is wrong, not a crash.
  const kiln::Tensor<float> narrow(likely.data(), {rows, classes - 1});
  const kiln::Status status = kiln::softmax_rows(y, narrow, context);
  std::printf("a mistake: %s\n", status.message);

  const double worst = WorstRow(likely, rows, classes);
  std::printf("%d rows of %d probabilities, each row within %.1g of 1\n", static_cast<int>(rows),
              static_cast<int>(classes), worst);
  return !status.ok() && worst < 1e-5 ? 0 : 1;
}
