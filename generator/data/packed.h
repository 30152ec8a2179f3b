// Arrays as the memory of a kernel has them. That differs for elements of 4 bits alone, of which an
// Array has one in each byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "generator/data/array.h"

namespace kiln {

/// Bytes in a kernel's memory; nullopt on overflow or a negative extent.
std::optional<int64_t> KernelBytes(DType dtype, const std::vector<int64_t>& shape);
/// To as many bytes, and back. Rows begin with whole bytes, and the first of two elements in one is
/// in its low half.
void ToKernel(const Array& array, std::byte* to);
Array FromKernel(DType dtype, std::vector<int64_t> shape, const std::byte* from);

}  // namespace kiln
