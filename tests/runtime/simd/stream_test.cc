// Streaming stores to some outputs at a time are what other stores are, and nothing beside them
// changes.
#include <cstring>
#include <random>

#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/simd/stream_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/simd/convert-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing::of_streams {
namespace HWY_NAMESPACE {
using namespace kiln::HWY_NAMESPACE;  // NOLINT

constexpr size_t kMost = 140, kRoom = 192;

/// Four outputs, and what stays in the caches.
template <typename T>
struct Outputs {
  alignas(64) T to[4][kRoom];
  T cached[kRoom];

  Outputs() { std::memset(static_cast<void*>(this), 0x5A, sizeof(*this)); }
  bool operator==(const Outputs& other) const {
    return std::memcmp(this, &other, sizeof(*this)) == 0;
  }
};

/// The first kStreams outputs from element `begin` on, of which the last is a copy.
template <size_t kStreams, typename T>
auto Write(const T* x, size_t begin, Outputs<T>& outputs) {
  return [x, begin, &outputs](auto at, size_t i) HWY_ATTR {
    const auto value = at.Load(x + i);
    for (size_t k = 0; k + 1 < kStreams; ++k) {
      const auto times = hn::Mul(value, at.Splat(static_cast<float>(k + 2)));
      at.Store(times, outputs.to[k] + begin + i);
      if (k == 0) at.Cached().Store(times, outputs.cached + i);
    }
    at.Copy(x + i, outputs.to[kStreams - 1] + begin + i);
  };
}

template <size_t kStreams, typename T>
void TestStreams(const char* type) {
  T x[kRoom];
  std::minstd_rand random(kStreams);
  for (T& element : x) element = Element<T>(static_cast<double>(random() % 255) / 2 - 60);
  for (size_t begin = 0; begin <= 64 / sizeof(T); ++begin) {
    for (size_t count = 0; count <= kMost; ++count) {
      Outputs<T> expected, found;
      ForLanes(kFloats, count, Write<kStreams>(x, begin, expected));
      StreamLanes<kStreams>(kFloats, count, true, found.to[0] + begin,
                            Write<kStreams>(x, begin, found));
      Expect(found == expected, std::to_string(kStreams) + " outputs of " + std::to_string(count) +
                                    " " + type + " from element " + std::to_string(begin));
    }
  }
}

void TestAll() {
  TestStreams<1, float>("f32");
  TestStreams<2, float>("f32");
  TestStreams<3, float>("f32");
  TestStreams<4, float>("f32");
  TestStreams<3, bf16>("bf16");
  TestStreams<4, bf16>("bf16");
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_streams
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_streams {
HWY_EXPORT(TestAll);

TEST_CASE("Outputs that are streamed together are what others are", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestAll)(); }) == "");
}

}  // namespace kiln::lanes_testing::of_streams
#endif  // HWY_ONCE
