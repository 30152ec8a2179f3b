#include "kiln/call/call.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "kiln/call/verbose.h"

namespace kiln::inline KILN_ABI {
namespace {

/// "[3, 4]"
struct ShapeText {
  char text[180] = "[";

  ShapeText(const int64_t* extents, int rank) {
    size_t size = 1;
    for (int d = 0; d < std::min(rank, kMaxRank); ++d) {
      const int written = std::snprintf(text + size, sizeof(text) - size, "%s%" PRId64,
                                        d == 0 ? "" : ", ", extents[d]);
      size += static_cast<size_t>(written);
    }
    std::snprintf(text + size, sizeof(text) - size, rank > kMaxRank ? ", …]" : "]");
  }
};

}  // namespace

bool CallCheck::Fail(Code code, const char* format, ...) {
  if (!ok()) return false;
  char text[sizeof(status_.message)];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  status_.Fail(code, "%s: %s", how_.kernel, text);
  if (internal::IsVerbose()) {
    RunOptions how = how_;
    how.check = this;
    internal::PrintRefused(how, status_);
  }
  return false;
}

int64_t CallCheck::DimOf(const char* size, const Argument& array, int dimension) {
  if (dimension < array.rank && array.rank <= kMaxRank) {
    const int64_t extent = array.shape[dimension];
    if (size_count_ < kMaxArguments) sizes_[size_count_++] = {size, extent};
    return extent;
  }
  Fail(kCall, "%s has shape %s, which has no dimension %d", array.name,
       ShapeText(array.shape.data(), array.rank).text, dimension);
  return 0;
}

void CallCheck::CheckArray(Argument array, Extents expected, const char* alias) {
  if (!ok()) return;
  if (!CheckShape(array, expected)) return;
  const bool empty = std::find(expected.begin(), expected.end(), 0) != expected.end();
  if (!empty) {
    const auto address = reinterpret_cast<uintptr_t>(array.data);
    if (address == 0) {
      Fail(kCall, "%s has no data", array.name);
      return;
    }
    const size_t bytes = BytesOf(1, array.bits);
    if (address % bytes != 0) {
      Fail(kCall, "%s is not aligned to its elements of %zu bytes", array.name, bytes);
      return;
    }
    if (!CheckStrides(array) || !CheckBytes(array)) return;
    CheckOverlaps(array, alias);
  }
  if (count_ < kMaxArguments) arguments_[count_++] = array;
}

int64_t CallCheck::bytes() const {
  int64_t sum = 0;
  for (int i = 0; i < count_; ++i) {
    const Argument& array = arguments_[i];
    const bool is_new = std::none_of(arguments_, arguments_ + i, [&](const Argument& other) {
      return array.begin == other.begin && array.end == other.end;
    });
    if (is_new) sum += static_cast<int64_t>(array.end - array.begin);
  }
  return sum;
}

bool CallCheck::CheckShape(const Argument& array, Extents expected) {
  if (array.rank < 0) {
    return Fail(kCall, "%s has not as many strides as dimensions", array.name);
  }
  for (int d = 0; d < std::min(array.rank, kMaxRank); ++d) {
    if (array.shape[d] < 0) {
      return Fail(kCall, "%s has a negative extent: %s", array.name,
                  ShapeText(array.shape.data(), array.rank).text);
    }
  }
  const bool same = array.rank == static_cast<int>(expected.size()) &&
                    std::equal(expected.begin(), expected.end(), array.shape.begin());
  if (same) return true;
  return Fail(kCall, "%s has shape %s, expected %s", array.name,
              ShapeText(array.shape.data(), array.rank).text,
              ShapeText(expected.begin(), static_cast<int>(expected.size())).text);
}

bool CallCheck::CheckStrides(const Argument& array) {
  const int last = array.rank - 1;
  if (last >= 0 && array.shape[last] > 1 && array.stride[last] != 1) {
    return Fail(kCall, "%s has stride %" PRId64 " in its last dimension, expected 1", array.name,
                array.stride[last]);
  }
  for (int d = 0; d < last && array.bits < 8; ++d) {
    if (array.shape[d] > 1 && array.stride[d] % 2 != 0) {
      return Fail(kCall,
                  "%s has stride %" PRId64 " in dimension %d: rows of %s begin with whole bytes",
                  array.name, array.stride[d], d, NameOf(array.dtype));
    }
  }
  return !array.is_output || CheckOutputStrides(array);
}

/// Two steps might write one element.
bool CallCheck::CheckOutputStrides(const Argument& array) {
  // By stride. Not std::sort: GCC 12 warns of the part of it that eight dimensions never reach.
  std::array<int, kMaxRank> order{};
  for (int d = 0; d < array.rank; ++d) {
    int at = d;
    for (; at > 0 && array.stride[order[at - 1]] > array.stride[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  int64_t span = 1;  // elements from the first to the last, of the dimensions so far
  for (int i = 0; i < array.rank; ++i) {
    const int d = order[i];
    const int64_t extent = array.shape[d];
    const int64_t stride = array.stride[d];
    if (extent <= 1) continue;
    if (stride < span) {
      const char* const why =
          stride > 0 ? "elements that overlap" : "an output needs positive ones";
      return Fail(kCall, "%s has stride %" PRId64 " in dimension %d: %s", array.name, stride, d,
                  why);
    }
    int64_t reach = 0;
    if (__builtin_mul_overflow(stride, extent - 1, &reach) ||
        __builtin_add_overflow(span, reach, &span)) {
      return Fail(kCall, "%s is larger than any memory", array.name);
    }
  }
  return true;
}

/// Finds the bytes from the first element to the last.
bool CallCheck::CheckBytes(Argument& array) {
  const auto bits = static_cast<int64_t>(array.bits);
  int64_t low = 0, high = bits;
  int64_t elements = bits;
  bool overflow = false;
  for (int d = 0; d < array.rank; ++d) {
    int64_t reach = 0;
    overflow |= __builtin_mul_overflow(elements, array.shape[d], &elements);
    overflow |= __builtin_mul_overflow(array.stride[d], bits, &reach);
    overflow |= __builtin_mul_overflow(reach, array.shape[d] - 1, &reach);
    overflow |= __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high);
  }
  low = -DivUp(-low, 8);
  high = DivUp(high, 8);
  const auto address = reinterpret_cast<uintptr_t>(array.data);
  overflow |= __builtin_add_overflow(address, high, &array.end);
  overflow |= __builtin_add_overflow(address, low, &array.begin);
  if (overflow) return Fail(kCall, "%s is larger than any memory", array.name);
  return true;
}

void CallCheck::CheckOverlaps(const Argument& array, const char* alias) {
  for (int a = 0; a < count_; ++a) {
    const Argument& other = arguments_[a];
    if (!array.is_output && !other.is_output) continue;
    if (!Overlap(array, other)) continue;
    const bool is_alias = alias != nullptr && std::strcmp(alias, other.name) == 0;
    if (is_alias && IsSame(array, other)) continue;
    Fail(kAlias, "%s overlaps %s in memory", array.name, other.name);
    return;
  }
}

/// Whether their bytes interleave. Columns of one matrix do not, although their ranges do.
bool CallCheck::Overlap(const Argument& a, const Argument& b) {
  if (a.begin == a.end || b.begin == b.end) return false;
  if (a.end <= b.begin || b.end <= a.begin) return false;
  if (a.rank != 2 || b.rank != 2 || a.stride[0] != b.stride[0] || a.bits != b.bits) {
    return true;
  }
  const int64_t pitch = a.stride[0];
  if (pitch <= 0 || a.shape[1] > pitch || b.shape[1] > pitch) return true;
  // In bytes, so that arrays which are not aligned to each other count as well.
  const auto in_bytes = [&](int64_t elements) {
    return Signed(BytesOf(Unsigned(elements), a.bits));
  };
  const int64_t row = in_bytes(pitch);
  const int64_t offset = static_cast<int64_t>(b.begin - a.begin) % row;
  const int64_t between = offset < 0 ? offset + row : offset;  // from a row of a to one of b
  return between < in_bytes(a.shape[1]) || between + in_bytes(b.shape[1]) > row;
}

bool CallCheck::IsSame(const Argument& a, const Argument& b) {
  if (a.data != b.data || a.bits != b.bits || a.rank != b.rank) return false;
  for (int d = 0; d < a.rank; ++d) {
    if (a.shape[d] != b.shape[d]) return false;
    if (a.shape[d] > 1 && a.stride[d] != b.stride[d]) return false;
  }
  return true;
}

void CallCheck::MultipleOf(const char* name, int64_t value, int64_t factor) {
  if (factor > 0 && value % factor == 0) return;
  Fail(kCall, "%s is %" PRId64 ", expected a multiple of %" PRId64, name, value, factor);
}

void CallCheck::Min(const char* name, int64_t value, int64_t least) {
  if (value >= least) return;
  Fail(kCall, "%s is %" PRId64 ", expected at least %" PRId64, name, value, least);
}

void CallCheck::Max(const char* name, int64_t value, int64_t most) {
  if (value <= most) return;
  Fail(kCall, "%s is %" PRId64 ", expected at most %" PRId64, name, value, most);
}

void CallCheck::Require(bool holds, const char* condition,
                        std::initializer_list<NamedValue> values) {
  if (holds) return;
  char text[sizeof(status_.message)] = "";
  size_t size = 0;
  for (const NamedValue& v : values) {
    const char* before = &v == values.begin() ? ", but " : &v + 1 < values.end() ? ", " : " and ";
    // Not by printf, whose decimal point is the locale's.
    char value[32];
    *std::to_chars(value, std::end(value), v.value, std::chars_format::general, 15).ptr = '\0';
    const int written =
        std::snprintf(text + size, sizeof(text) - size, "%s%s is %s", before, v.name, value);
    size = std::min(size + static_cast<size_t>(written), sizeof(text) - 1);
  }
  Fail(kCall, "`%s` must hold%s", condition, text);
}

void CallCheck::Expect(bool holds, const char* message) {
  if (!holds) Fail(kCall, "%s", message);
}

void CallCheck::Steps(const char* axis, int64_t steps) {
  if (steps < 0) Fail(kCall, "the grid has %" PRId64 " steps along %s", steps, axis);
}

void CallCheck::Take(const Status& status) {
  if (!status.ok()) Fail(status.code, "%s", status.message);
}

}  // namespace kiln::inline KILN_ABI
