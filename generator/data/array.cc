#include "generator/data/array.h"

#include <cstring>
#include <utility>

#include "generator/data/codec.h"

namespace kiln {
namespace {

// `bytes` is only byte-aligned as far as the language is concerned, hence memcpy, which compiles
// to a plain load and vectorises.
template <typename Codec>
void LoadMany(Codec, const std::byte* from, int64_t count, typename Codec::Wide* to) {
  using Stored = typename Codec::Stored;
  for (int64_t i = 0; i < count; ++i) {
    Stored x;
    std::memcpy(&x, from + static_cast<size_t>(i) * sizeof(Stored), sizeof(Stored));
    to[i] = Codec::Load(x);
  }
}

template <typename Codec>
void StoreMany(Codec, std::byte* to, int64_t count, const typename Codec::Wide* from) {
  using Stored = typename Codec::Stored;
  for (int64_t i = 0; i < count; ++i) {
    const Stored x = Codec::Store(from[i]);
    std::memcpy(to + static_cast<size_t>(i) * sizeof(Stored), &x, sizeof(Stored));
  }
}

const std::byte* ElementAt(const Array& array, int64_t i) {
  return array.bytes.data() + static_cast<size_t>(i) * SizeOf(array.dtype);
}

std::byte* ElementAt(Array& array, int64_t i) {
  return array.bytes.data() + static_cast<size_t>(i) * SizeOf(array.dtype);
}

// SplitMix64: one line, no state but a counter, and the same everywhere (the standard library's
// distributions are not).
uint64_t NextRandom(uint64_t& state) {
  uint64_t z = (state += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

double RandomFloat(DType dtype, uint64_t& state) {
  while (true) {
    const double value = static_cast<double>(NextRandom(state) >> 11) * 0x1p-52 - 1.0;
    const double rounded = RoundTo(value, dtype);
    if (rounded < 1) return rounded;  // a value just below 1 may round up to it
  }
}

int64_t RandomInt(DType dtype, uint64_t& state) {
  const int64_t bits = static_cast<int64_t>(NextRandom(state) >> 60);
  if (dtype == DType::kBool) return bits & 1;
  return IsUnsigned(dtype) ? bits : bits - 8;
}

}  // namespace

Array Array::Zeros(DType dtype, std::vector<int64_t> shape) {
  Array array{dtype, std::move(shape), {}};
  array.bytes.resize(static_cast<size_t>(array.size()) * SizeOf(dtype));
  return array;
}

int64_t Array::size() const {
  // Not a plain product: [2^62, 2^62, 0] is a legal shape with no elements.
  return ElementCount(shape).value_or(0);
}

double Array::GetFloat(int64_t i) const {
  double value = 0;
  LoadFloats(*this, i, 1, &value);
  return value;
}

int64_t Array::GetInt(int64_t i) const {
  int64_t value = 0;
  LoadInts(*this, i, 1, &value);
  return value;
}

void Array::SetFloat(int64_t i, double value) { StoreFloats(*this, i, 1, &value); }
void Array::SetInt(int64_t i, int64_t value) { StoreInts(*this, i, 1, &value); }

std::optional<int64_t> ElementCount(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  bool overflow = false;
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    empty = empty || extent == 0;
    overflow = overflow || __builtin_mul_overflow(count, extent, &count);
  }
  // An extent of 0 makes the product 0 whatever the others are.
  if (empty) return 0;
  if (overflow) return std::nullopt;
  return count;
}

std::optional<int64_t> ByteSize(DType dtype, const std::vector<int64_t>& shape) {
  const std::optional<int64_t> count = ElementCount(shape);
  if (!count) return std::nullopt;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(*count, static_cast<int64_t>(SizeOf(dtype)), &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

std::string ToString(DType dtype, const std::vector<int64_t>& shape) {
  std::string out(Name(dtype));
  out += '[';
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(shape[i]);
  }
  return out + ']';
}

void LoadFloats(const Array& array, int64_t begin, int64_t count, double* to) {
  WithFloatCodec(array.dtype,
                 [&](auto codec) { LoadMany(codec, ElementAt(array, begin), count, to); });
}

void LoadInts(const Array& array, int64_t begin, int64_t count, int64_t* to) {
  WithIntegerCodec(array.dtype,
                   [&](auto codec) { LoadMany(codec, ElementAt(array, begin), count, to); });
}

void StoreFloats(Array& array, int64_t begin, int64_t count, const double* from) {
  WithFloatCodec(array.dtype,
                 [&](auto codec) { StoreMany(codec, ElementAt(array, begin), count, from); });
}

void StoreInts(Array& array, int64_t begin, int64_t count, const int64_t* from) {
  WithIntegerCodec(array.dtype,
                   [&](auto codec) { StoreMany(codec, ElementAt(array, begin), count, from); });
}

Array RandomArray(DType dtype, std::vector<int64_t> shape, uint64_t seed) {
  Array array = Array::Zeros(dtype, std::move(shape));
  uint64_t state = seed;
  const int64_t count = array.size();
  for (int64_t i = 0; i < count; ++i) {
    if (IsFloat(dtype)) {
      array.SetFloat(i, RandomFloat(dtype, state));
    } else {
      array.SetInt(i, RandomInt(dtype, state));
    }
  }
  return array;
}

}  // namespace kiln
