// A random order of many things, without a list of them.
#pragma once

#include <cstdint>

#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// A permutation of 0 … count - 1 that a seed decides. It walks a permutation of the next power of
/// two until it is below `count` again, so nothing is kept.
class Shuffle {
 public:
  Shuffle() = default;
  Shuffle(uint64_t count, uint64_t seed) : count_(count), seed_(seed) {
    while (bits_ < 63 && (uint64_t{1} << bits_) < count) ++bits_;
  }

  uint64_t operator[](uint64_t i) const {
    do {
      i = Mixed(i);
    } while (i >= count_);
    return i;
  }

 private:
  /// Each line can be undone, so no two numbers become one.
  uint64_t Mixed(uint64_t i) const {
    const uint64_t mask = (uint64_t{1} << bits_) - 1;
    const int half = (bits_ + 1) / 2;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t key = Key(4 * seed_ + round);
      i = (i + key) & mask;
      i ^= i >> half;
      i = (i * ((key >> 32) | 1)) & mask;
      i ^= i >> half;
    }
    return i;
  }
  /// SplitMix64: all bits depend on all of `x`.
  static uint64_t Key(uint64_t x) {
    x = (x + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

  uint64_t count_ = 0;
  uint64_t seed_ = 0;
  int bits_ = 1;
};

}  // namespace kiln::inline KILN_ABI
