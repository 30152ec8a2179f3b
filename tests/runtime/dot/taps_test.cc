// Products over taps, on every target of this machine: rows within rows, windows that overlap, and
// sums in rows of a block or in tiles, windows in place and gathered. Values are small integers, so
// every answer is exact.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/dot/taps_test.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
// Once per target.
#include "hwy/aligned_allocator.h"
#include "kiln/dot/stacks-inl.h"
#include "kiln/dot/taps-inl.h"
#include "tests/runtime/dot/matrices.h"

#ifndef KILN_TESTS_TAPS_TEST_ONCE
#define KILN_TESTS_TAPS_TEST_ONCE
namespace kiln::taps_test {

/// A convolution of an image [height, width, channels] by taps [3, 2, channels, outputs].
struct Sizes {
  int64_t height, width, channels, outputs, step;

  int64_t rows() const { return (height - 3) / step + 1; }
  int64_t columns() const { return (width - 2) / step + 1; }
};

template <typename T, typename Acc>
struct Data {
  std::vector<T> image, taps;
  std::vector<Acc> starts, expected;  // of sums
};

template <typename T, typename Acc>
Data<T, Acc> MakeData(const Sizes& s) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> any(-8, 8);
  std::vector<int> image, taps;
  Data<T, Acc> data;
  const auto fill = [&](int64_t count, std::vector<int>* values, std::vector<T>* elements) {
    for (int64_t i = 0; i < count; ++i) {
      values->push_back(any(random));
      elements->push_back(dot_test::MakeElement<T>(values->back()));
    }
  };
  fill(s.height * s.width * s.channels, &image, &data.image);
  fill(6 * s.channels * s.outputs, &taps, &data.taps);
  for (int64_t o = 0; o < s.outputs; ++o) data.starts.push_back(static_cast<Acc>(any(random)));
  for (int64_t i = 0; i < s.rows() * s.columns(); ++i) {
    const int64_t y = i / s.columns() * s.step, x = i % s.columns() * s.step;
    for (int64_t o = 0; o < s.outputs; ++o) {
      int sum = 0;
      for (int64_t k = 0; k < 6 * s.channels; ++k) {
        const int64_t tap = k / s.channels, c = k % s.channels;
        const int64_t at = ((y + tap / 2) * s.width + x + tap % 2) * s.channels + c;
        sum += image[static_cast<size_t>(at)] * taps[static_cast<size_t>(k * s.outputs + o)];
      }
      data.expected.push_back(static_cast<Acc>(sum));
    }
  }
  return data;
}

}  // namespace kiln::taps_test
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::taps_test {
namespace HWY_NAMESPACE {
using namespace kiln::HWY_NAMESPACE;  // NOLINT

template <typename T>
std::string CheckSizes(const Sizes& s) {
  using Acc = typename Dot<T>::Acc;
  const Data<T, Acc> data = MakeData<T, Acc>(s);
  // The taps as a block of a stack of matrices.
  using Format = StackOf<PackedB<T>, 2>;
  Tensor<const T> taps;
  taps.data = data.taps.data();
  taps.rank = 4;
  const int64_t shape[] = {3, 2, s.channels, s.outputs};
  int64_t stride = 1;
  for (int d = 4; d-- > 0; stride *= shape[d]) taps.shape[d] = shape[d], taps.stride[d] = stride;
  const Blocks<4> blocks{{3, 2, s.channels, s.outputs},
                         {All(3), All(2), All(s.channels), All(s.outputs)}};
  const Box<4> box = blocks.BoxAt({0, 0, 0, 0});
  const auto memory = hwy::AllocateAligned<uint8_t>(Format::Bytes(blocks.shape()));
  Format::Copy(taps, box, Pad<T>(NoPad()), memory.get());
  const auto stack = Format::ViewOf(memory.get(), box);

  const auto add = [&](auto& list) {
    for (int64_t dy = 0; dy < 3; ++dy) {
      for (int64_t dx = 0; dx < 2; ++dx)
        list.Add(data.image.data() + (dy * s.width + dx) * s.channels, stack.At(dy, dx));
    }
  };
  const auto gathered =
      hwy::AllocateAligned<uint8_t>(GatheredBytes<Dot<T>>(6, static_cast<size_t>(s.channels)) + 1);
  const auto list_of = [&] {
    TapList<Dot<T>, 6> list({{static_cast<size_t>(s.rows()), s.step * s.width * s.channels},
                             {static_cast<size_t>(s.columns()), s.step * s.channels}},
                            static_cast<size_t>(s.channels), gathered.get());
    add(list);
    return list;
  };
  const int64_t to_row = s.outputs + 3;
  const auto rows = static_cast<size_t>(s.rows() * s.columns());
  const auto cols = static_cast<size_t>(s.outputs);
  std::vector<Acc> in_rows(rows * static_cast<size_t>(to_row), Acc{7}), in_tiles(rows * cols);
  for (const bool zero : {true, false}) {
    auto list = list_of();
    MultiplyTaps<Dot<T>>(rows, list, SumsInRows<Acc>(in_rows.data(), to_row, zero));
  }
  auto list = list_of();
  const auto start = [&](auto at, size_t, size_t c)
                         HWY_ATTR { return at.Load(data.starts.data() + c); };
  const auto finish = [&](auto at, auto sum, size_t r, size_t c)
                          HWY_ATTR { at.Store(sum, &in_tiles[r * cols + c]); };
  MultiplyTaps<Dot<T>>(rows, list, TileSums(), start, finish);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < static_cast<size_t>(to_row); ++c) {
      const std::string where = " of " + std::to_string(s.channels) + " channels at (" +
                                std::to_string(r) + ", " + std::to_string(c) + ")";
      const Acc in_row = in_rows[r * static_cast<size_t>(to_row) + c];
      if (c >= cols) {
        if (in_row != Acc{7}) return "stored between rows" + where;
        continue;
      }
      const Acc sum = data.expected[r * cols + c];
      if (in_row != 2 * sum) return "sums in rows" + where;
      if (in_tiles[r * cols + c] != sum + data.starts[c]) return "sums in tiles" + where;
    }
  }
  return "";
}

template <typename T>
std::string CheckAll() {
  for (const Sizes& s : {Sizes{3, 2, 1, 1, 1}, Sizes{5, 9, 3, 5, 1}, Sizes{9, 10, 8, 64, 2},
                         Sizes{4, 13, 17, 48, 1}, Sizes{6, 7, 4, 131, 1}, Sizes{12, 5, 33, 16, 3},
                         Sizes{5, 4, 700, 100, 1}, Sizes{34, 12, 130, 20, 1}}) {
    const std::string error = CheckSizes<T>(s);
    if (!error.empty()) return error + " on " + hwy::TargetName(HWY_TARGET);
  }
  return "";
}

std::string CheckFloats() { return CheckAll<float>(); }
std::string CheckDoubles() { return CheckAll<double>(); }
std::string CheckBf16() { return CheckAll<bf16>(); }
std::string CheckBytes() { return CheckAll<int8_t>(); }

}  // namespace HWY_NAMESPACE
}  // namespace kiln::taps_test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tests/catch.h"
#include "tests/runtime/dot/each_target.h"

namespace kiln::taps_test {
HWY_EXPORT(CheckFloats);
HWY_EXPORT(CheckDoubles);
HWY_EXPORT(CheckBf16);
HWY_EXPORT(CheckBytes);

TEST_CASE("taps add up as a convolution does") {
  dot_test::ForEachTargetAndAmx([&] {
    CHECK(KILN_DISPATCH(CheckFloats)() == "");
    CHECK(KILN_DISPATCH(CheckDoubles)() == "");
    CHECK(KILN_DISPATCH(CheckBf16)() == "");
    CHECK(KILN_DISPATCH(CheckBytes)() == "");
  });
}

}  // namespace kiln::taps_test
#endif
