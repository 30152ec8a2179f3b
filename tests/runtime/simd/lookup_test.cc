// Entries of short tables, from registers, are those that are loaded one by one.
#include <memory>
#include <random>

#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/simd/lookup_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/simd/lanes-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing::of_tables {
namespace HWY_NAMESPACE {
using namespace kiln::HWY_NAMESPACE;  // NOLINT

constexpr size_t kIndices = 80;  // some vectors, and lanes that are left over

/// A table of memory of its own, behind which a sanitizer finds reads; of any bits.
template <typename T>
std::unique_ptr<T[]> TableOf(size_t entries, std::minstd_rand& random) {
  auto table = std::make_unique<T[]>(entries);
  for (size_t i = 0; i < entries; ++i) {
    const uint64_t bits = uint64_t{random()} << 32 | random();
    std::memcpy(&table[i], &bits, sizeof(T));
  }
  return table;
}

template <typename T, size_t kEntries>
HWY_NOINLINE void TestTable(const char* type) {
  std::minstd_rand random(kEntries);
  const std::unique_ptr<T[]> table = TableOf<T>(kEntries, random);
  for (const ptrdiff_t stride : {1, 2}) {
    const size_t within =
        (kEntries + static_cast<size_t>(stride) - 1) / static_cast<size_t>(stride);
    int32_t at_index[kIndices];
    for (int32_t& index : at_index) index = static_cast<int32_t>(random() % within);
    for (const size_t count : {size_t{1}, size_t{7}, size_t{16}, kIndices - 3, kIndices}) {
      T expected[kIndices] = {}, found[kIndices] = {};
      ForLanes(kFloats, count, [&](auto at, size_t i) HWY_ATTR {
        const auto indices = at.Load(at_index + i);
        at.Store(at.Gather(table.get(), stride, indices), expected + i);
        at.Store(at.Gather(table.get(), stride, indices, Entries<kEntries>()), found + i);
      });
      Expect(std::memcmp(expected, found, sizeof(found)) == 0,
             std::to_string(count) + " of " + std::to_string(kEntries) + " " + type + ", " +
                 std::to_string(stride) + " apart");
    }
  }
}

template <typename T>
void TestTables(const char* type) {
  TestTable<T, 1>(type);
  TestTable<T, 11>(type);
  TestTable<T, 32>(type);
  TestTable<T, 50>(type);
  TestTable<T, 130>(type);
  TestTable<T, 256>(type);
}

void TestAllTables() {
  TestTables<float>("f32");
  TestTables<int32_t>("i32");
  TestTables<bf16>("bf16");
  TestTables<f16>("f16");
  TestTables<int16_t>("i16");
  TestTables<uint8_t>("u8");
  TestTables<int8_t>("i8");
  TestTables<f8e4m3fn>("f8e4m3fn");
  TestTables<f8e8m0fnu>("f8e8m0fnu");
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_tables
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_tables {
HWY_EXPORT(TestAllTables);

TEST_CASE("Short tables that registers hold have the entries that memory has", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestAllTables)(); }) == "");
}

}  // namespace kiln::lanes_testing::of_tables
#endif
