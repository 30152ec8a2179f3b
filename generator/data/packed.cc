#include "generator/data/packed.h"

#include <algorithm>
#include <utility>

namespace kiln {
namespace {

/// Calls fn(element, byte, shift) for each element of a packed array, in order.
template <class Fn>
void ForEachHalf(const std::vector<int64_t>& shape, const Fn& fn) {
  const auto count = static_cast<size_t>(ElementCount(shape).value_or(0));
  const auto columns = shape.empty() ? size_t{1} : static_cast<size_t>(shape.back());
  const size_t row_bytes = columns / 2 + columns % 2;
  for (size_t i = 0; i < count; ++i) {
    const size_t column = i % columns;
    fn(i, i / columns * row_bytes + column / 2, 4 * static_cast<int>(column % 2));
  }
}

}  // namespace

std::optional<int64_t> KernelBytes(DType dtype, const std::vector<int64_t>& shape) {
  if (!IsPacked(dtype)) return ByteSize(dtype, shape);
  std::vector<int64_t> bytes = shape;
  if (!bytes.empty()) bytes.back() = RowBytes(dtype, bytes.back());
  return ElementCount(bytes);
}

void ToKernel(const Array& array, std::byte* to) {
  if (!IsPacked(array.dtype)) {
    std::copy(array.bytes.begin(), array.bytes.end(), to);
    return;
  }
  std::fill_n(to, KernelBytes(array.dtype, array.shape).value_or(0), std::byte{0});
  ForEachHalf(array.shape, [&](size_t element, size_t byte, int shift) {
    to[byte] |= (array.bytes[element] & std::byte{15}) << shift;
  });
}

Array FromKernel(DType dtype, std::vector<int64_t> shape, const std::byte* from) {
  Array array = Array::Zeros(dtype, std::move(shape));
  if (!IsPacked(dtype)) {
    std::copy_n(from, array.bytes.size(), array.bytes.begin());
    return array;
  }
  ForEachHalf(array.shape, [&](size_t element, size_t byte, int shift) {
    const auto bits = std::to_integer<int64_t>(from[byte] >> shift);
    array.bytes[element] = static_cast<std::byte>(Wrap(bits, dtype));
  });
  return array;
}

}  // namespace kiln
