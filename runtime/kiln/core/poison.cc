#include "kiln/core/poison.h"

#include <algorithm>

namespace kiln::inline KILN_ABI::internal {
namespace {

/// xorshift64*: any bits will do, as long as they are the same in every run.
uint64_t NextRandom(uint64_t& state) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545F4914F6CDD1Du;
}

template <class Next>
void Fill(void* data, size_t bytes, const Next& next) {
  auto* const to = static_cast<unsigned char*>(data);
  size_t i = 0;
  for (; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
    const uint64_t word = next();
    std::memcpy(to + i, &word, sizeof(word));
  }
  const uint64_t last = next();
  std::memcpy(to + i, &last, bytes - i);
}

/// The same word everywhere: what is written is copied, by the widest instructions there are, from
/// the L1.
void FillAlike(void* data, size_t bytes, uint64_t word) {
  constexpr size_t kFirst = 64, kMost = 16384;
  auto* const to = static_cast<unsigned char*>(data);
  size_t filled = std::min(bytes, kFirst);
  Fill(to, filled, [&] { return word; });
  while (filled < bytes) {
    const size_t more = std::min({filled, bytes - filled, kMost});
    std::memcpy(to + filled, to, more);
    filled += more;
  }
}

}  // namespace

void FillPoison(const Options& options, Hole hole, Poison64 poison, void* data, size_t bytes) {
  const Poison kind = PoisonIn(options, hole);
  if (kind == Poison::kZero) {
    std::memset(data, 0, bytes);
  } else if (kind == Poison::kRandom) {
    // Memories of other sizes are to hold other bits: the difference of two would be 0.
    uint64_t state = (options.seed * 2 + 1) ^ (uint64_t{bytes} << 32);
    Fill(data, bytes, [&] { return (NextRandom(state) & poison.may) | poison.are; });
  } else {
    FillAlike(data, bytes, poison.word);
  }
}

}  // namespace kiln::inline KILN_ABI::internal
