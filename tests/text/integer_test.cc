// Arithmetic of sizes at the ends of 64 bits.
#include "generator/text/integer.h"

#include "tests/catch.h"

namespace kiln {
namespace {

constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;

TEST_CASE("checked operations have no value where the true one does not fit") {
  CHECK(CheckedAdd(kMax, 0) == kMax);
  CHECK(!CheckedAdd(kMax, 1));
  CHECK(CheckedMultiply(kMin, 1) == kMin);
  CHECK(!CheckedMultiply(kMin, -1));
  CHECK(CheckedLcm(4, 6) == 12);
  CHECK(!CheckedLcm(kMax, kMax - 1));
  CHECK(CheckedRoundUp(13, 4) == 16);
  CHECK(!CheckedRoundUp(kMax, 4));
}

TEST_CASE("saturating operations end at the nearest number") {
  CHECK(SaturatingAdd(kMax, 1) == kMax);
  CHECK(SaturatingAdd(kMin, -1) == kMin);
  CHECK(SaturatingAdd(kMin, 1) == kMin + 1);
  CHECK(SaturatingMultiply(kMax, 2) == kMax);
  CHECK(SaturatingMultiply(kMax, -2) == kMin);
  CHECK(SaturatingMultiply(kMin, -1) == kMax);
  CHECK(SaturatingMultiply(-3, 5) == -15);
}

}  // namespace
}  // namespace kiln
