#include <algorithm>
#include <numeric>

#include "tests/random/coverage.h"

namespace kiln::soak {
namespace {

/// What a pipeline has must be there before the spec is written as one.
void AddMeant(const std::string& entry, Focus& focus) {
  for (const auto& [written, meant] : {std::pair("key pipeline.", "key spec."),
                                       {"key over.", "key operand."},
                                       {"word over.", "word operand."}}) {
    if (!entry.starts_with(written)) continue;
    const std::string also = meant + entry.substr(std::string(written).size());
    if (std::binary_search(Entries().begin(), Entries().end(), also)) focus.insert(also);
  }
}

}  // namespace

Focus FocusOf(uint64_t number) {
  constexpr uint64_t kAtOnce = 8;
  const std::vector<std::string>& entries = Entries();
  Focus focus;
  // A stride that shares no factor with their number, so that neighbours are of different kinds.
  uint64_t stride = 97;
  while (std::gcd(stride, entries.size()) != 1) ++stride;
  for (uint64_t i = 0; i < kAtOnce; ++i) {
    const std::string& entry =
        entries[static_cast<size_t>((number * kAtOnce + i) * stride % entries.size())];
    focus.insert(entry);
    AddMeant(entry, focus);
  }
  return focus;
}

}  // namespace kiln::soak
