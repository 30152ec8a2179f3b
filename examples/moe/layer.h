// A mixture-of-experts layer: every token goes to the few experts that its router likes best.
#pragma once

#include <cstdint>
#include <vector>

#include "kiln/kiln.h"

struct Shape {
  int64_t tokens, width, hidden, experts, chosen;  // `chosen` experts for each token
};

/// All row-major.
struct Weights {
  std::vector<float> router;  // [width, experts]
  std::vector<float> bias;    // [experts], of the router
  std::vector<float> up;      // [experts, width, hidden]
  std::vector<float> down;    // [experts, hidden, width]
};

/// Where the tokens go: `chosen` entries for each, one token after the other.
struct Routes {
  std::vector<int32_t> expert;
  std::vector<float> weight;  // those of a token add up to 1
};

/// The softmax of each token's scores, of which the largest are kept.
Routes Route(const Shape& shape, const Weights& weights, const std::vector<float>& x);

/// The layer; memory is kept from call to call.
class Layer {
 public:
  Layer(const Shape& shape, const Weights& weights);

  /// y[tokens, width] of x[tokens, width].
  kiln::Status Run(const std::vector<float>& x, std::vector<float>& y, kiln::Context& context);

  /// Rows of each expert in the last run.
  const std::vector<int32_t>& sizes() const { return sizes_; }

 private:
  void Sort(const Routes& routes, const std::vector<float>& x);
  kiln::Status Multiply(kiln::Context& context);
  void Unsort(const Routes& routes, std::vector<float>& y) const;

  const Shape shape_;
  const Weights& weights_;
  std::vector<int32_t> sizes_;
  std::vector<int64_t> row_of_;  // by token and choice
  std::vector<float> sorted_;    // a token's row for each of its experts, expert by expert
  std::vector<float> hidden_;
  std::vector<float> results_;
};
