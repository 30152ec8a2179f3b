#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace kiln::soak {

/// Random numbers that are the same on every machine and for every standard library: SplitMix64,
/// and no distribution of <random>, whose results are not fixed.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}

  uint64_t Bits() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// From `low` to `high`, both included; `low` if there is nothing between them.
  int64_t Between(int64_t low, int64_t high) {
    if (high <= low) return low;
    return low + static_cast<int64_t>(Bits() % static_cast<uint64_t>(high - low + 1));
  }
  double Unit() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }
  bool Chance(double probability) { return Unit() < probability; }

  template <class T>
  const T& Pick(const std::vector<T>& of) {
    return of[static_cast<size_t>(Between(0, static_cast<int64_t>(of.size()) - 1))];
  }
  template <class T>
  T Pick(std::initializer_list<T> of) {
    return of.begin()[Between(0, static_cast<int64_t>(of.size()) - 1)];
  }
  /// The index of one of the weights, each as probable as it is heavy; their sum is not 0.
  size_t Weighted(const std::vector<double>& weights) {
    double sum = 0;
    for (const double weight : weights) sum += weight;
    double at = Unit() * sum;
    for (size_t i = 0; i < weights.size(); ++i) {
      at -= weights[i];
      if (at < 0) return i;
    }
    size_t last = weights.size() - 1;  // a rounding error away
    while (weights[last] == 0) --last;
    return last;
  }

 private:
  uint64_t state_;
};

}  // namespace kiln::soak
