#include <cmath>
#include <cstring>

#include "generator/data/dtype.h"
#include "kiln/simd/one-inl.h"
#include "tests/catch.h"

namespace kiln {
namespace {

struct Unheard {
  template <typename... Words>
  void Fail(Words...) {
    FAIL("all of it is in range");
  }
};

template <typename T>
float ElementOf(uint16_t bits) {
  T element;
  std::memcpy(&element, &bits, sizeof bits);
  Tensor<const T> array;
  array.data = &element;
  array.rank = 1;
  array.shape[0] = 1;
  array.stride[0] = 1;
  return HostAt(Unheard(), array, "q", 0);
}

TEST_CASE("Elements of host arrays are read exactly, every bf16 and every f16") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    for (const auto& [got, want] : {std::pair(ElementOf<f16>(half), F16ToFloat(half)),
                                    std::pair(ElementOf<bf16>(half), BF16ToFloat(half))}) {
      const bool same =
          std::isnan(want) ? std::isnan(got) : std::memcmp(&got, &want, sizeof got) == 0;
      if (!same) FAIL_CHECK(bits << ": " << got << " instead of " << want);
    }
  }
}

template <typename T>
void CheckFloat8(DType dtype) {
  for (uint32_t bits = 0; bits < 0x100; ++bits) {
    const T element{static_cast<uint8_t>(bits)};
    Tensor<const T> array;
    array.data = &element;
    array.rank = 1;
    array.shape[0] = 1;
    array.stride[0] = 1;
    const double got = HostAt(Unheard(), array, "q", 0);
    const double want = FloatFromBits(bits, dtype);
    const bool same =
        std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
    if (!same) FAIL_CHECK(bits << ": " << got << " instead of " << want);
  }
}

TEST_CASE("Elements of host arrays are read exactly, every float of 8 bits") {
  CheckFloat8<f8e4m3fn>(DType::kF8E4M3FN);
  CheckFloat8<f8e5m2>(DType::kF8E5M2);
  CheckFloat8<f8e8m0fnu>(DType::kF8E8M0FNU);
}

/// What the rows of the generator and of the runtime say twice, since neither includes the other.
TEST_CASE("each dtype has a type in the runtime, of the same size, name and code") {
  struct Row {
    std::string_view enumerator, cpp, name;
    int code, bits, mantissa;
  };
  const Row runtime[] = {
#define KILN_DTYPE(dtype, type, name, code, bits, mantissa) \
  {#dtype, #type, name, code, bits, mantissa},
#include "kiln/core/dtypes.def"
  };
  REQUIRE(std::size(runtime) == ArrayTypes().size());
  for (size_t i = 0; i < std::size(runtime); ++i) {
    const DTypeRow& row = RowOf(ArrayTypes()[i]);
    INFO(row.name);
    CHECK(runtime[i].name == row.name);
    CHECK(runtime[i].cpp == row.cpp);
    CHECK(runtime[i].code == row.dlpack);
    CHECK(runtime[i].bits == row.bits);
    CHECK(runtime[i].mantissa == (row.kind == DTypeKind::kFloat ? row.mantissa : -1));
    CHECK(std::string_view(NameOf(static_cast<Dtype>(i))) == row.name);
  }
}

}  // namespace
}  // namespace kiln
