// The transformer of examples/train/model.py, one character at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kiln/kiln.h"
#include "npz.h"

/// A matrix of weights, or a vector of them.
struct Weight {
  std::vector<float> values;
  int64_t rows = 1, columns = 0;

  kiln::Tensor<const float> matrix() const { return {values.data(), {rows, columns}}; }
  kiln::Tensor<const float> vector() const { return {values.data(), {columns}}; }
};

class Model {
 public:
  /// Of what train.py wrote; std::runtime_error where something lacks or has another shape.
  explicit Model(const std::map<std::string, Array>& arrays);

  /// A number for each character of the vocabulary that may follow `token`, which comes after all
  /// tokens before. At most `context()` of them fit.
  const std::vector<float>& Next(int token);

  /// The tokens, as characters; sorted.
  const std::string& vocabulary() const { return vocabulary_; }
  int64_t context() const { return position_.rows; }

 private:
  struct Layer {
    Weight attention_norm, qkv, out, mlp_norm, gate, up, down;
    std::vector<float> keys, values;  // heads x context x width / heads, of the tokens so far
  };

  std::vector<float> Product(const std::vector<float>& x, const Weight& y);
  std::vector<float> Norm(const std::vector<float>& x, const Weight& weight);
  std::vector<float> Attention(Layer& layer, const std::vector<float>& x);
  std::vector<float> Mlp(const Layer& layer, const std::vector<float>& x);

  kiln::Context context_;
  std::string vocabulary_;
  int64_t heads_ = 0, width_ = 0;
  int64_t length_ = 0;  // tokens so far
  Weight embedding_, position_, norm_, head_;
  std::vector<Layer> layers_;
  std::vector<float> logits_;
};
