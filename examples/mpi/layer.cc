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
  std::vector<float> scores(Size(shape.experts), 0.0f);
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
  for (size_t at = 0; at < x.size(); at += Size(shape.width)) {
    const std::vector<float> scores = Scores(shape, weights, &x[at]);
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

std::vector<float> Layer::Run(const std::vector<float>& x, kiln::Context& context) {
  const Routes routes = Gather(x);
  Sort(routes);
  const kiln::Status status = Multiply(context);
  if (!status.ok()) ranks_.Fail(status.message);
  return ranks_.ReduceScatter(Unsort(routes), shape_.tokens, shape_.width);
}

Routes Layer::Gather(const std::vector<float>& x) {
  const Routes own = Route(shape_, weights_, x);
  tokens_ = ranks_.AllGather(x, shape_.tokens, shape_.width);
  return {ranks_.AllGather(own.expert, shape_.tokens, shape_.chosen),
          ranks_.AllGather(own.weight, shape_.tokens, shape_.chosen)};
}

void Layer::Sort(const Routes& routes) {
  sizes_.assign(Size(shape_.experts), 0);
  for (const int32_t e : routes.expert) ++sizes_[Size(e)];
  first_of_.assign(sizes_.size() + 1, 0);
  for (size_t e = 0; e < sizes_.size(); ++e) first_of_[e + 1] = first_of_[e] + sizes_[e];
  std::vector<int64_t> next = first_of_;
  row_of_.resize(routes.expert.size());
  sorted_.resize(routes.expert.size() * Size(shape_.width));
  for (size_t i = 0; i < row_of_.size(); ++i) {
    const int64_t row = row_of_[i] = next[Size(routes.expert[i])]++;
    const auto token = static_cast<int64_t>(i) / shape_.chosen;
    std::copy_n(&tokens_[Size(token * shape_.width)], shape_.width,
                &sorted_[Size(row * shape_.width)]);
  }
}

kiln::Status Layer::Multiply(kiln::Context& context) {
  const auto rows = static_cast<int64_t>(row_of_.size());
  const int64_t width = shape_.width, hidden = shape_.hidden;
  const auto first = static_cast<int32_t>(mine_.first);
  hidden_.resize(Size(rows * hidden));
  results_.resize(Size(rows * width));
  const kiln::Tensor<const int32_t> sizes(sizes_.data(), {shape_.experts});
  const kiln::Tensor<float> between(hidden_.data(), {rows, hidden});
  const kiln::Status status =
      kiln::expert_up(sizes, first, {sorted_.data(), {rows, width}},
                      {weights_.up.data(), {mine_.count, width, hidden}}, between, context);
  if (!status.ok()) return status;
  return kiln::expert_down(sizes, first, between,
                           {weights_.down.data(), {mine_.count, hidden, width}},
                           {results_.data(), {rows, width}}, context);
}

std::vector<float> Layer::Unsort(const Routes& routes) const {
  std::vector<float> y(Size(shape_.tokens * shape_.width), 0.0f);
  for (size_t i = 0; i < row_of_.size(); ++i) {
    const int64_t expert = routes.expert[i];
    if (expert < mine_.first || expert >= mine_.first + mine_.count) continue;
    const float* const from = &results_[Size(row_of_[i] * shape_.width)];
    float* const to = &y[i / Size(shape_.chosen) * Size(shape_.width)];
    for (int64_t c = 0; c < shape_.width; ++c) to[c] += routes.weight[i] * from[c];
  }
  return y;
}

int64_t Layer::rows() const {
  return first_of_[Size(mine_.first + mine_.count)] - first_of_[Size(mine_.first)];
}
