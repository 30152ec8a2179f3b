#include "kiln/direct/direct.h"

#include <algorithm>

#include "kiln/core/shared.h"
#include "kiln/format/edges.h"
#include "tests/runtime/runtime_testing.h"

namespace kiln {
namespace {

template <class Format>
using DirectIn = Direct::In<Format, 2>;

TEST_CASE("What needs no rearranging is read in place, and takes no memory") {
  const Sample<float, 2> sample({8, 16});
  LoneCore lone;
  DirectIn<Rows<float, 2>> in(lone.core, {"x", 0, 0}, sample.tensor, {Blocked(4), Blocked(8)},
                              NoPad(), 2, 100);
  CHECK(in.WaitIn({1, 1}).data == sample.tensor.At<2>({4, 8}));
  CHECK(lone.core.records().empty());
}

TEST_CASE("A block at an edge is read in place if no loop passes the edge") {
  const Sample<float, 2> sample({7, 16});
  LoneCore lone;
  DirectIn<Rows<float, 2>> clipped(lone.core, {"x", 0, 0}, sample.tensor,
                                   {Blocked(4, Clip::kYes), Blocked(8)}, NoPad(), 2, 1);
  CHECK(clipped.WaitIn({1, 0}).data == sample.tensor.At<2>({4, 0}));
  CHECK(lone.core.records().empty());
  DirectIn<Rows<float, 2>> copied(lone.core, {"y", 1, 0}, sample.tensor, {Blocked(4), Blocked(8)},
                                  Pad<float>(0), 2, 1);
  CHECK(copied.WaitIn({0, 0}).data == sample.tensor.data);
  const auto edge = copied.WaitIn({1, 0});
  CHECK(edge.data != sample.tensor.At<2>({4, 0}));
  CHECK(*edge.At(3, 0) == 0);
  CHECK(lone.core.records()[1]->copies == 1);
  CHECK(lone.core.records()[1]->bytes == 3 * 8 * 4);
}

TEST_CASE("A block beyond the edges of its array is read in place, with a row of what is outside") {
  const Sample<float, 2> sample({8, 15});
  LoneCore lone;
  DirectIn<EdgedRows<float, 2>> in(lone.core, {"x", 0, 0}, sample.tensor,
                                   {Element(4, 1, 1), All(15)}, Pad<float>(7));
  CHECK(in.WaitIn({2, 0}).pad == nullptr);
  const auto edge = in.WaitIn({6, 0});
  CHECK(edge.data == sample.tensor.At<2>({5, 0}));
  CHECK(edge.low[0] == 0);
  CHECK(edge.high[0] == 3);
  REQUIRE(edge.pad != nullptr);
  CHECK(std::all_of(edge.pad, edge.pad + 15, [](float value) { return value == 7; }));
  CHECK(lone.core.records().empty());
}

TEST_CASE("Outputs go past a last cache that cannot hold them, or what else the call uses") {
  Sample<float, 2> sample({64, 64});  // some 16 KiB
  const auto streams = [&](int64_t cache_bytes, int64_t call_bytes) {
    Options options;
    options.cpu = {int64_t{1} << 10, int64_t{4} << 10, cache_bytes};
    LoneCore lone(options, 0, 1, call_bytes);
    Direct::Out<Rows<float, 2>, 2> out(lone.core, {"z", 0, 0}, sample.tensor, {All(64), All(64)});
    const bool stream = out.Open({0, 0}, 0).stream;
    out.CopyOut();
    out.WaitOut();
    return stream;
  };
  constexpr int64_t kKiB = 1024;
  CHECK(streams(16 * kKiB, 0));
  CHECK(!streams(17 * kKiB, 0));
  CHECK(streams(48 * kKiB, 48 * kKiB));
  CHECK(!streams(48 * kKiB, 48 * kKiB - 1));
  CHECK(streams(64 * kKiB, 1000 * kKiB));
  CHECK(!streams(65 * kKiB, 1000 * kKiB));  // a small part of what the call uses
}

TEST_CASE("Packed blocks are kept while their window lasts") {
  const Sample<float, 2> sample({4, 64});
  LoneCore lone;
  DirectIn<CopiedRows<float, 2>> in(lone.core, {"x", 0, 0}, sample.tensor, {Blocked(4), Blocked(8)},
                                    NoPad(), 2, /*window=*/4);
  const OperandRecord& record = lone.core.RecordOf({"x", 0, 0});
  CHECK(record.buffers == 4);
  for (int pass = 0; pass < 3; ++pass) {
    for (int64_t l = 0; l < 4; ++l) in.WaitIn({0, l});
  }
  CHECK(record.copies == 4);
  in.WaitIn({0, 4});  // takes the slot of block 0, the oldest
  CHECK(record.copies == 5);
  for (int64_t l = 1; l < 4; ++l) in.WaitIn({0, l});
  CHECK(record.copies == 5);
  CHECK(*in.WaitIn({0, 0}).At(0, 0) == 1);
  CHECK(record.copies == 6);
}

TEST_CASE("Blocks of a window do not compete for a slot, whatever their numbers") {
  const Sample<float, 2> sample({8, 16});
  LoneCore lone;
  DirectIn<CopiedRows<float, 2>> in(lone.core, {"x", 0, 0}, sample.tensor, {Blocked(4), Blocked(8)},
                                    NoPad(), 2, /*window=*/2);
  for (int pass = 0; pass < 3; ++pass) {
    for (int64_t l = 0; l < 2; ++l) in.WaitIn({l, 0});  // 0 and 2 in row-major order
  }
  CHECK(lone.core.RecordOf({"x", 0, 0}).copies == 2);
}

TEST_CASE("No more slots than there are blocks") {
  const Sample<float, 2> sample({4, 16});
  LoneCore lone;
  DirectIn<CopiedRows<float, 2>> in(lone.core, {"x", 0, 0}, sample.tensor, {Blocked(4), Blocked(8)},
                                    NoPad(), 2, INT64_MAX);
  CHECK(lone.core.records()[0]->buffers == 2);
}

TEST_CASE(
    "Blocks that come back are packed once for all cores, if they do not take too much memory") {
  const Sample<float, 2> sample({8, 16});
  const int64_t n = int64_t{1} << 14;
  float element = 1;  // never read
  const Tensor<const float> huge(&element, {n, n});
  SharedMemory shared;
  shared.Reset();
  Core cores[2];
  for (int c = 0; c < 2; ++c) {
    Core& core = cores[c];
    core.Reset(c, 2, {}, {}, {nullptr, nullptr, nullptr, &shared});
    const auto blocks_of = [&](int32_t number, const Tensor<const float>& from, int64_t size,
                               int64_t window) {
      DirectIn<CopiedRows<float, 2>> in(core, {"x", number, 0}, from,
                                        {Blocked(size), Blocked(2 * size)}, NoPad(), 2, window);
      if (number < 2) CHECK(*in.WaitIn({1, 1}).At(0, 0) == *sample.tensor.At<2>({4, 8}));
      return *core.records()[static_cast<size_t>(number)];
    };
    const OperandRecord back = blocks_of(0, sample.tensor, 4, /*window=*/1);
    CHECK(back.buffers == 4);
    CHECK(back.copies == (c == 0 ? 1 : 0));
    const OperandRecord once = blocks_of(1, sample.tensor, 4, /*window=*/0);
    CHECK(once.buffers == 1);
    CHECK(once.copies == 1);
    CHECK(blocks_of(2, huge, 256, /*window=*/2).buffers == 2);
    CHECK(blocks_of(3, huge, 256, /*window=*/64 * 32).buffers == 64 * 32);
  }
}

TEST_CASE("A cache of huge blocks stays small") {
  const int64_t n = 1 << 14;
  float element = 1;  // never read
  const Tensor<const float> huge(&element, {n, n});
  LoneCore lone;
  DirectIn<CopiedRows<float, 2>> in(lone.core, {"x", 0, 0}, huge, {Blocked(n / 2), Blocked(n / 2)},
                                    NoPad(), 2, 4);
  CHECK(lone.core.records()[0]->memory_bytes <= internal::kMostCached);
  CHECK(lone.core.ok());
}

TEST_CASE("Without memory a core fails, and does not begin") {
  const int64_t n = int64_t{1} << 29;
  float element = 1;
  const Tensor<const float> huge(&element, {n, n});
  LoneCore lone;
  DirectIn<CopiedRows<float, 2>> in(lone.core, {"x", 0, 0}, huge, {All(n), All(n)}, NoPad(), 2, 1);
  CHECK(lone.core.status().code == kMemory);
  CHECK(lone.message() == "kernel: [memory] no memory for a buffer of 1152921504606846976 bytes");
  CHECK(in.WaitIn({0, 0}).data == nullptr);
}

TEST_CASE("Buffers begin on cache lines and are the same in the next call") {
  LoneCore lone;
  std::vector<void*> first;
  for (const size_t bytes : {size_t{1}, size_t{1000}, size_t{100000}, size_t{5} << 20}) {
    first.push_back(lone.core.Allocate(bytes));
    CHECK(reinterpret_cast<uintptr_t>(first.back()) % 64 == 0);
  }
  CHECK(reinterpret_cast<uintptr_t>(first.back()) % (2 << 20) == 0);
  lone.core.Reset(0, 1, {}, {}, {});
  for (const size_t bytes : {size_t{1}, size_t{900}, size_t{100000}, size_t{5} << 20}) {
    CHECK(lone.core.Allocate(bytes) == first.front());
    first.erase(first.begin());
  }
}

TEST_CASE("Scratch has the layout that tiles of it have") {
  LoneCore lone;
  float* const data = Direct::Scratch<float>(lone.core, {"acc", 0, 0}, TileSize<float>(3, 17));
  const auto tile = MakeTile(data, 3, 17);
  CHECK(TileSize<float>(3, 17) == 3 * 32);
  CHECK(tile.At(2, 1) == data + 2 * 32 + 1);
  CHECK(tile.high == std::array<size_t, 2>{3, 17});
  CHECK(TileSize<bf16>(2, 3, 33) == 2 * 3 * 64);
  CHECK(TileSize<double>(5) == 16);
  CHECK(MakeTile(data).At() == data);
  CHECK(TileSize<float>() == 16);
}

}  // namespace
}  // namespace kiln
