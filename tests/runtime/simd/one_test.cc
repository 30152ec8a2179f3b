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

}  // namespace
}  // namespace kiln
