// What tiles of AMX compute, by ordinary code: so that machines without them test how operands are
// laid out for them, and what becomes of sums.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "kiln/dot/amx.h"

namespace kiln::dot_test {

/// Adds the products of one k-group to a sum.
inline uint32_t AddKGroup(AmxElements elements, uint32_t a, uint32_t b, uint32_t sum) {
  if (elements == AmxElements::kBf16) {
    auto total = std::bit_cast<float>(sum);
    for (const uint32_t shift : {0u, 16u})
      total += std::bit_cast<float>(a >> shift << 16) * std::bit_cast<float>(b >> shift << 16);
    return std::bit_cast<uint32_t>(total);
  }
  const auto byte = [](uint32_t group, int i, bool is_signed) {
    const uint32_t bits = group >> (8 * i) & 0xff;
    return is_signed ? int32_t{static_cast<int8_t>(bits)} : static_cast<int32_t>(bits);
  };
  const bool a_signed = elements == AmxElements::kS8S8 || elements == AmxElements::kS8U8;
  const bool b_signed = elements == AmxElements::kS8S8 || elements == AmxElements::kU8S8;
  for (int i = 0; i < 4; ++i)
    sum += static_cast<uint32_t>(byte(a, i, a_signed) * byte(b, i, b_signed));
  return sum;
}

inline void MultiplyInSoftware(AmxElements elements, const AmxTile& tile, size_t rows,
                               size_t vectors) {
  const auto group = [](const char* at) {
    uint32_t bits;
    std::memcpy(&bits, at, sizeof(bits));
    return bits;
  };
  constexpr ptrdiff_t kColumns = 16, kGroup = 4;
  for (ptrdiff_t r = 0; r < static_cast<ptrdiff_t>(rows); ++r) {
    for (ptrdiff_t c = 0; c < static_cast<ptrdiff_t>(vectors) * kColumns; ++c) {
      char* const at = tile.sums + r * tile.sums_to_row + c / kColumns * tile.sums_to_vector +
                       c % kColumns * kGroup;
      uint32_t sum = tile.from_zero ? 0 : group(at);
      for (ptrdiff_t k = 0; k < static_cast<ptrdiff_t>(tile.depth); ++k) {
        sum = AddKGroup(elements, group(tile.a + r * tile.a_to_row + k * kGroup),
                        group(tile.b + k * tile.b_to_k + c * kGroup), sum);
      }
      std::memcpy(at, &sum, sizeof(sum));
    }
  }
}

}  // namespace kiln::dot_test
