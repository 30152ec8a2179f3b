#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/data/dtype.h"

namespace kiln {

/// A dense row-major array in its storage type. Shape [] is a scalar.
struct Array {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  /// Zero-filled. The caller has checked that the byte size fits (see ByteSize).
  static Array Zeros(DType dtype, std::vector<int64_t> shape);

  int64_t size() const;  ///< number of elements

  /// Element access by linear index, through the widest type of its family.
  double GetFloat(int64_t i) const;
  int64_t GetInt(int64_t i) const;
  void SetFloat(int64_t i, double value);  ///< rounds to the dtype
  void SetInt(int64_t i, int64_t value);   ///< wraps to the dtype
};

/// Product of extents; nullopt on overflow or a negative extent.
std::optional<int64_t> ElementCount(const std::vector<int64_t>& shape);
std::optional<int64_t> ByteSize(DType dtype, const std::vector<int64_t>& shape);

/// "f32[3, 4]"; "i32[]" for a scalar.
std::string ToString(DType dtype, const std::vector<int64_t>& shape);

/// Bulk conversion between storage and the widest type of its family, `count` elements from
/// linear index `begin`. Float dtypes use the double form, the others the int64 form.
void LoadFloats(const Array& array, int64_t begin, int64_t count, double* to);
void LoadInts(const Array& array, int64_t begin, int64_t count, int64_t* to);
void StoreFloats(Array& array, int64_t begin, int64_t count, const double* from);
void StoreInts(Array& array, int64_t begin, int64_t count, const int64_t* from);

/// Seeded values for tests and demos, the same on every machine: floats uniform in [-1, 1),
/// integers small ([-8, 8), unsigned [0, 16)), bools fair.
Array RandomArray(DType dtype, std::vector<int64_t> shape, uint64_t seed);

}  // namespace kiln
