// How one element of each dtype is stored: `Stored`, and `Wide`, the type that its family is read
// and written through.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "generator/data/dtype.h"

namespace kiln {

template <typename Storage>
struct IntegerCodec {
  using Stored = Storage;
  using Wide = int64_t;
  static int64_t Load(Storage x) { return x; }
  static Storage Store(int64_t x) { return static_cast<Storage>(x); }
};

/// Of integers of fewer bits than a byte, which is sign-extended as ml_dtypes has it.
template <typename Storage, DType kDType>
struct SmallCodec {
  using Stored = Storage;
  using Wide = int64_t;
  static int64_t Load(Storage x) { return Wrap(x, kDType); }
  static Storage Store(int64_t x) { return static_cast<Storage>(Wrap(x, kDType)); }
};

struct BoolCodec {
  using Stored = uint8_t;
  using Wide = int64_t;
  static int64_t Load(uint8_t x) { return x != 0; }
  static uint8_t Store(int64_t x) { return x != 0; }
};

/// Of floats that C++ has a type of.
template <typename Storage>
struct FloatCodec {
  using Stored = Storage;
  using Wide = double;
  static double Load(Storage x) { return x; }
  static Storage Store(double x) { return static_cast<Storage>(x); }
};

struct BF16Codec {
  using Stored = uint16_t;
  using Wide = double;
  static double Load(uint16_t x) { return BF16ToFloat(x); }
  static uint16_t Store(double x) { return FloatToBF16(x); }
};

struct F16Codec {
  using Stored = uint16_t;
  using Wide = double;
  static double Load(uint16_t x) { return F16ToFloat(x); }
  static uint16_t Store(double x) { return FloatToF16(x); }
};

/// Of the floats of 8 bits; rounds once, from double.
double F8ToFloat(uint8_t bits, DType dtype);
uint8_t FloatToF8(double value, DType dtype);

template <DType kDType>
struct F8Codec {
  using Stored = uint8_t;
  using Wide = double;
  static double Load(uint8_t x) { return F8ToFloat(x, kDType); }
  static uint8_t Store(double x) { return FloatToF8(x, kDType); }
};

/// Of powers of two, as ml_dtypes rounds them: by way of an f32, halves up; what is not positive
/// and what is too large is the NaN.
double PowerToFloat(uint8_t bits);
uint8_t FloatToPower(double value);

struct PowerCodec {
  using Stored = uint8_t;
  using Wide = double;
  static double Load(uint8_t x) { return PowerToFloat(x); }
  static uint8_t Store(double x) { return FloatToPower(x); }
};

/// Calls `use` with the codec of an integer type or bool. A float type here is a bug of the caller;
/// stopping is better than an array of zeros.
template <typename Use>
void WithIntegerCodec(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::kBool:
      return use(BoolCodec());
    case DType::kI4:
      return use(SmallCodec<int8_t, DType::kI4>());
    case DType::kU4:
      return use(SmallCodec<uint8_t, DType::kU4>());
    case DType::kI8:
      return use(IntegerCodec<int8_t>());
    case DType::kU8:
      return use(IntegerCodec<uint8_t>());
    case DType::kI16:
      return use(IntegerCodec<int16_t>());
    case DType::kU16:
      return use(IntegerCodec<uint16_t>());
    case DType::kI32:
      return use(IntegerCodec<int32_t>());
    case DType::kU32:
      return use(IntegerCodec<uint32_t>());
    case DType::kI64:
      return use(IntegerCodec<int64_t>());
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kF8E8M0FNU:
    case DType::kBF16:
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
    case DType::kIndex:
    case DType::kWeakInt:
    case DType::kWeakFloat:
      std::abort();
  }
}

/// The same with that of a float type; values without a type yet are held as f64.
template <typename Use>
void WithFloatCodec(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return use(F8Codec<DType::kF8E4M3FN>());
    case DType::kF8E5M2:
      return use(F8Codec<DType::kF8E5M2>());
    case DType::kF8E8M0FNU:
      return use(PowerCodec());
    case DType::kBF16:
      return use(BF16Codec());
    case DType::kF16:
      return use(F16Codec());
    case DType::kF32:
      return use(FloatCodec<float>());
    case DType::kF64:
    case DType::kWeakFloat:
      return use(FloatCodec<double>());
    case DType::kBool:
    case DType::kI4:
    case DType::kU4:
    case DType::kI8:
    case DType::kU8:
    case DType::kI16:
    case DType::kU16:
    case DType::kI32:
    case DType::kU32:
    case DType::kI64:
    case DType::kIndex:
    case DType::kWeakInt:
      std::abort();
  }
}

}  // namespace kiln
