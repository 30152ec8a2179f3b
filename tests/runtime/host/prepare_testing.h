// Random arguments of host functions, and what they answer.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kiln/host/prepare.h"

namespace kiln::prepare_test {

using Values = std::vector<int32_t>;
using Random = std::mt19937;

inline int64_t Draw(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

template <typename T>
Tensor<const T> Vector(const std::vector<T>& values) {
  return {values.data(), {static_cast<int64_t>(values.size())}};
}

inline std::string MessageOf(const Status& status) {
  return status.ok() ? "" : std::string(NameOf(status.code)) + ": " + status.message;
}

}  // namespace kiln::prepare_test
