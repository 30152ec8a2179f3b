// A mixture-of-experts layer in which each rank has some of the tokens and some of the experts.
#pragma once

#include <cstdint>
#include <vector>

#include "kiln/kiln.h"
#include "ranks.h"

struct Shape {
  int64_t tokens, width, hidden, experts, chosen;  // `chosen` experts for each token
};

/// All row-major; the router is everybody's, the experts are this rank's.
struct Weights {
  std::vector<float> router;  // [width, experts]
  std::vector<float> up;      // [own experts, width, hidden]
  std::vector<float> down;    // [own experts, hidden, width]
};

/// Where tokens go: `chosen` entries for each, one token after the other.
struct Routes {
  std::vector<int32_t> expert;
  std::vector<float> weight;  // those of a token add up to 1
};

/// The softmax of each token's scores, of which the largest are kept.
Routes Route(const Shape& shape, const Weights& weights, const std::vector<float>& x);

class Layer {
 public:
  Layer(const Shape& shape, const Ranks& ranks, const Weights& weights)
      : shape_(shape), ranks_(ranks), weights_(weights), mine_(ranks.ShareOf(shape.experts)) {}

  /// y of this rank's tokens, of their x: both [own tokens, width]. Ends all ranks where a kernel
  /// refuses.
  std::vector<float> Run(const std::vector<float>& x, kiln::Context& context);

  /// Rows that this rank multiplied in the last run.
  int64_t rows() const;

 private:
  /// All tokens and where they go, of everybody's own.
  Routes Gather(const std::vector<float>& x);
  /// A row for each token and choice, those of one expert side by side.
  void Sort(const Routes& routes);
  /// Through this rank's experts: rows of others come out as zeros.
  kiln::Status Multiply(kiln::Context& context);
  /// What this rank's experts add to each token.
  std::vector<float> Unsort(const Routes& routes) const;

  const Shape shape_;
  const Ranks& ranks_;
  const Weights& weights_;
  const Share mine_;               // experts
  std::vector<float> tokens_;      // of all ranks
  std::vector<int32_t> sizes_;     // rows of each expert
  std::vector<int64_t> first_of_;  // by expert, the first of its rows
  std::vector<int64_t> row_of_;    // by token and choice
  std::vector<float> sorted_, hidden_, results_;
};
