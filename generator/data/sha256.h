#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kiln {

/// SHA-256 of what has been added; as `sha256sum` prints it.
class Sha256 {
 public:
  Sha256& Add(const void* data, size_t bytes);
  /// The text and its length, so that a sequence of texts has one reading.
  Sha256& AddField(std::string_view text);
  /// 64 hexadecimal digits; nothing can be added after it.
  std::string Hex();

 private:
  void Block(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_ = {};
  uint64_t bytes_ = 0;
};

}  // namespace kiln
