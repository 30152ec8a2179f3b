#include "model.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>

#include "attention.h"
#include "gated.h"
#include "product.h"
#include "rmsnorm.h"

namespace {

using Floats = std::vector<float>;

size_t Size(int64_t count) { return static_cast<size_t>(count); }

void Check(const kiln::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message);
}

/// One row.
kiln::Tensor<const float> Row(const Floats& x) {
  return {x.data(), {1, static_cast<int64_t>(x.size())}};
}
kiln::Tensor<float> Row(Floats& x) { return {x.data(), {1, static_cast<int64_t>(x.size())}}; }

const Array& Find(const std::map<std::string, Array>& arrays, const std::string& name,
                  const std::string& dtype) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) throw std::runtime_error("the weights have no " + name);
  if (found->second.dtype != dtype)
    throw std::runtime_error(name + " is " + found->second.dtype + ", expected " + dtype);
  return found->second;
}

Weight FindWeight(const std::map<std::string, Array>& arrays, const std::string& name) {
  const Array& array = Find(arrays, name, "<f4");
  if (array.shape.empty() || array.shape.size() > 2)
    throw std::runtime_error(name + " is neither a matrix nor a vector");
  Weight weight{Floats(Size(array.size())), 1, array.shape.back()};
  if (array.shape.size() == 2) weight.rows = array.shape[0];
  std::memcpy(weight.values.data(), array.bytes.data(), array.bytes.size());
  return weight;
}

void AddTo(Floats& x, std::span<const float> y) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

}  // namespace

Model::Model(const std::map<std::string, Array>& arrays)
    : vocabulary_(Find(arrays, "vocabulary", "|u1").bytes),
      embedding_(FindWeight(arrays, "embedding")),
      position_(FindWeight(arrays, "position")),
      norm_(FindWeight(arrays, "norm")),
      head_(FindWeight(arrays, "head")) {
  const Array& heads = Find(arrays, "heads", "<i4");
  int32_t count = 0;
  if (heads.size() == 1) std::memcpy(&count, heads.bytes.data(), sizeof count);
  heads_ = count;
  width_ = embedding_.columns;
  const auto letters = static_cast<int64_t>(vocabulary_.size());
  bool good = heads_ > 0 && width_ % heads_ == 0 && position_.columns == width_ &&
              embedding_.rows == letters && head_.columns == letters;
  for (int i = 0; arrays.count(std::to_string(i) + ".qkv") > 0; ++i) {
    const auto of = [&](const char* name) { return FindWeight(arrays, std::to_string(i) + name); };
    layers_.push_back({of(".attention_norm"), of(".qkv"), of(".out"), of(".mlp_norm"), of(".gate"),
                       of(".up"), of(".down"), Floats(position_.values.size()),
                       Floats(position_.values.size())});
    const Layer& layer = layers_.back();
    good = good && layer.qkv.columns == 3 * width_ && layer.out.columns == width_ &&
           layer.down.columns == width_;
  }
  // Whatever else has to fit the kernels check.
  if (!good) throw std::runtime_error("the weights do not fit one another");
}

const Floats& Model::Next(int token) {
  if (length_ == context()) throw std::runtime_error("the text is as long as it may be");
  Floats x(Size(width_));
  std::copy_n(&embedding_.values[Size(token * width_)], width_, x.begin());
  AddTo(x, std::span(position_.values).subspan(Size(length_ * width_), x.size()));
  ++length_;
  for (Layer& layer : layers_) {
    AddTo(x, Attention(layer, Norm(x, layer.attention_norm)));
    AddTo(x, Mlp(layer, Norm(x, layer.mlp_norm)));
  }
  logits_ = Product(Norm(x, norm_), head_);
  return logits_;
}

Floats Model::Product(const Floats& x, const Weight& y) {
  Floats z(Size(y.columns));
  Check(kiln::product(Row(x), y.matrix(), Row(z), context_));
  return z;
}

Floats Model::Norm(const Floats& x, const Weight& weight) {
  Floats y(x.size());
  Check(kiln::rmsnorm(Row(x), weight.vector(), Row(y), context_));
  return y;
}

/// The new token against the keys and values of all so far: `length_` rows of caches that have room
/// for more.
Floats Model::Attention(Layer& layer, const Floats& x) {
  const int64_t each = width_ / heads_, room = context() * each;
  const Floats qkv = Product(x, layer.qkv);
  for (int64_t h = 0; h < heads_; ++h) {
    const int64_t row = h * room + (length_ - 1) * each;
    std::copy_n(&qkv[Size(width_ + h * each)], each, &layer.keys[Size(row)]);
    std::copy_n(&qkv[Size(2 * width_ + h * each)], each, &layer.values[Size(row)]);
  }
  const auto cache = [&](const Floats& all) {
    return kiln::Tensor<const float>(all.data(), {heads_, length_, each}, {room, each, 1});
  };
  Floats o(Size(width_));
  Check(kiln::attention({qkv.data(), {heads_, 1, each}}, cache(layer.keys), cache(layer.values),
                        {o.data(), {heads_, 1, each}}, context_));
  return Product(o, layer.out);
}

Floats Model::Mlp(const Layer& layer, const Floats& x) {
  Floats y(Size(layer.gate.columns));
  Check(kiln::gated(Row(x), layer.gate.matrix(), layer.up.matrix(), Row(y), context_));
  return Product(y, layer.down);
}
