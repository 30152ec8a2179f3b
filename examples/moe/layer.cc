#include "layer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "expert_down.h"
#include "expert_up.h"

namespace {

size_t Size(int64_t count) { return static_cast<size_t>(count); }

/// The token's scores, as a softmax.
std::vector<float> Scores(const Shape& shape, const Weights& weights, const float* token) {
  std::vector<float> scores = weights.bias;
  for (int64_t k = 0; k < shape.width; ++k) {
    const float* const row = &weights.router[Size(k * shape.experts)];
    for (size_t e = 0; e < scores.size(); ++e) scores[e] += token[k] * row[e];
  }
  const float top = *std::max_element(scores.begin(), scores.end());
  float sum = 0;
  for (float& score : scores) sum += score = std::exp(score - top);
  for (float& score : scores) score /= sum;
  return scores;
}

}  // namespace

Routes Route(const Shape& shape, const Weights& weights, const std::vector<float>& x) {
  Routes routes;
  std::vector<int32_t> order(Size(shape.experts));
  for (int64_t t = 0; t < shape.tokens; ++t) {
    const std::vector<float> scores = Scores(shape, weights, &x[Size(t * shape.width)]);
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + shape.chosen, order.end(),
                      [&](int32_t a, int32_t b) { return scores[Size(a)] > scores[Size(b)]; });
    float kept = 0;
    for (int64_t c = 0; c < shape.chosen; ++c) kept += scores[Size(order[Size(c)])];
    for (int64_t c = 0; c < shape.chosen; ++c) {
      routes.expert.push_back(order[Size(c)]);
      routes.weight.push_back(scores[Size(order[Size(c)])] / kept);
    }
  }
  return routes;
}

Layer::Layer(const Shape& shape, const Weights& weights)
    : shape_(shape),
      weights_(weights),
      row_of_(Size(shape.tokens * shape.chosen)),
      sorted_(row_of_.size() * Size(shape.width)),
      hidden_(row_of_.size() * Size(shape.hidden)),
      results_(sorted_.size()) {}

kiln::Status Layer::Run(const std::vector<float>& x, std::vector<float>& y,
                        kiln::Context& context) {
  const Routes routes = Route(shape_, weights_, x);
  Sort(routes, x);
  const kiln::Status status = Multiply(context);
  if (status.ok()) Unsort(routes, y);
  return status;
}

/// A counting sort: rows of one expert end up side by side.
void Layer::Sort(const Routes& routes, const std::vector<float>& x) {
  sizes_.assign(Size(shape_.experts), 0);
  for (const int32_t e : routes.expert) ++sizes_[Size(e)];
  std::vector<int64_t> next(sizes_.size(), 0);
  for (size_t e = 1; e < next.size(); ++e) next[e] = next[e - 1] + sizes_[e - 1];
  for (size_t i = 0; i < row_of_.size(); ++i) {
    const int64_t row = row_of_[i] = next[Size(routes.expert[i])]++;
    const int64_t token = static_cast<int64_t>(i) / shape_.chosen;
    std::copy_n(&x[Size(token * shape_.width)], shape_.width, &sorted_[Size(row * shape_.width)]);
  }
}

/// Through the experts: two grouped products, the first with its activation.
kiln::Status Layer::Multiply(kiln::Context& context) {
  const auto rows = static_cast<int64_t>(row_of_.size());
  const int64_t width = shape_.width, hidden = shape_.hidden, experts = shape_.experts;
  const kiln::Tensor<const int32_t> sizes(sizes_.data(), {experts});
  const kiln::Tensor<float> between(hidden_.data(), {rows, hidden});
  const kiln::Status status =
      kiln::expert_up(sizes, {sorted_.data(), {rows, width}},
                      {weights_.up.data(), {experts, width, hidden}}, between, context);
  if (!status.ok()) return status;
  return kiln::expert_down(sizes, between, {weights_.down.data(), {experts, hidden, width}},
                           {results_.data(), {rows, width}}, context);
}

/// Back to the order of tokens, each the weighted sum of what its experts say.
void Layer::Unsort(const Routes& routes, std::vector<float>& y) const {
  y.assign(Size(shape_.tokens * shape_.width), 0.0f);
  for (size_t i = 0; i < row_of_.size(); ++i) {
    const float* const from = &results_[Size(row_of_[i] * shape_.width)];
    float* const to = &y[i / Size(shape_.chosen) * Size(shape_.width)];
    for (int64_t c = 0; c < shape_.width; ++c) to[c] += routes.weight[i] * from[c];
  }
}
