#include "kiln/core/packed.h"

#include <cstring>

namespace kiln::inline KILN_ABI::internal {
namespace {

/// Where a run of elements that are side by side has whole bytes: `before` is 1 if its first one is
/// the high half of a byte.
struct WholeBytes {
  WholeBytes(uintptr_t place, int64_t count)
      : before(count > 0 && (place & 1) != 0 ? 1 : 0),
        bytes((count - before) / 2),
        after(count - before - 2 * bytes) {}
  int64_t before, bytes, after;
};

void CopyOneByOne(uintptr_t from, int64_t from_step, uintptr_t to, int64_t to_step, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    SetBitsAt(to + static_cast<uintptr_t>(i * to_step),
              BitsAt(from + static_cast<uintptr_t>(i * from_step)));
}

}  // namespace

void CopyPlaces(uintptr_t from, int64_t from_step, uintptr_t to, int64_t to_step, int64_t count) {
  if (from_step != 1 || to_step != 1 || ((from ^ to) & 1) != 0)
    return CopyOneByOne(from, from_step, to, to_step, count);
  const WholeBytes whole(to, count);
  const auto skip = static_cast<uintptr_t>(whole.before),
             bytes = static_cast<uintptr_t>(whole.bytes);
  CopyOneByOne(from, 1, to, 1, whole.before);
  std::memcpy(reinterpret_cast<char*>((to + skip) / 2),
              reinterpret_cast<const char*>((from + skip) / 2), bytes);
  CopyOneByOne(from + skip + 2 * bytes, 1, to + skip + 2 * bytes, 1, whole.after);
}

void FillPlaces(uintptr_t to, int64_t step, int64_t count, uint8_t bits) {
  const WholeBytes whole(to, step == 1 ? count : 0);
  if (whole.bytes == 0) {
    for (int64_t i = 0; i < count; ++i) SetBitsAt(to + static_cast<uintptr_t>(i * step), bits);
    return;
  }
  const auto skip = static_cast<uintptr_t>(whole.before),
             bytes = static_cast<uintptr_t>(whole.bytes);
  if (whole.before > 0) SetBitsAt(to, bits);
  std::memset(reinterpret_cast<char*>((to + skip) / 2), (bits & 15) * 0x11, bytes);
  if (whole.after > 0) SetBitsAt(to + skip + 2 * bytes, bits);
}

}  // namespace kiln::inline KILN_ABI::internal
