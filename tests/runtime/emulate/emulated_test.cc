#include "kiln/emulate/emulated.h"

#include <bit>
#include <cmath>
#include <string>

#include "generator/data/dtype.h"
#include "kiln/simd/nan_bits.h"
#include "tests/runtime/runtime_testing.h"

namespace kiln {
namespace {

using In1 = Emulated::In<Rows<float, 1>, 1>;
using Out1 = Emulated::Out<Rows<float, 1>, 1>;

TEST_CASE("Bytes are counted in native tiles") {
  const auto native = [](size_t bits, std::vector<int64_t> extents) {
    return NativeBytes(bits, extents.data(), static_cast<int>(extents.size()));
  };
  CHECK(native(32, {8, 1}) == 4096);
  CHECK(native(32, {8, 128}) == 4096);
  CHECK(native(32, {9, 129}) == 4 * 4096);
  CHECK(native(16, {16, 128}) == 4096);
  CHECK(native(8, {32, 128}) == 4096);
  CHECK(native(4, {64, 128}) == 4096);
  CHECK(native(4, {65, 128}) == 8192);
  CHECK(native(64, {8, 128}) == 8192);
  CHECK(native(32, {1024}) == 4096);
  CHECK(native(32, {}) == 4096);
  CHECK(native(32, {3, 8, 128}) == 3 * 4096);
  CHECK(native(32, {0, 128}) == 0);
  CHECK(native(32, {INT64_MAX, INT64_MAX}) == INT64_MAX);
  const int64_t flags[] = {5};
  CHECK(WordBytes(8, flags, 1) == 20);
  CHECK(WordBytes(4, flags, 1) == 20);
}

TEST_CASE("What does not fit into VMEM is a diagnostic that names all users") {
  const Sample<float, 1> sample({4096});
  Options options = EmulatedOptions();
  options.vmem_bytes = 16 << 10;
  LoneCore lone(options);
  In1 x(lone.core, {"x", 0, 3}, sample.tensor, {Blocked(1024)}, NoPad(), 2, 1);
  CHECK(lone.core.ok());
  CHECK(lone.core.used(Memory::kVmem) == 8192);
  In1 y(lone.core, {"y", 1, 4}, sample.tensor, {Blocked(2048)}, NoPad(), 2, 1);
  CHECK(lone.core.status().code == kTier);
  CHECK(lone.message() ==
        "kernel: [tier] the kernel needs at least 24.0 KiB of VMEM with y (line 4) on core 0, "
        "which has 16.0 KiB: "
        "x 2 x 4.0 KiB, y 2 x 8.0 KiB");
}

TEST_CASE("SMEM has a budget of its own") {
  Options options = EmulatedOptions();
  options.smem_bytes = 100;
  LoneCore lone(options);
  Emulated::Hold<int32_t>(lone.core, {"ids", 0, 3, Memory::kSmem}, {20});
  CHECK(lone.core.used(Memory::kSmem) == 80);
  CHECK(lone.core.used(Memory::kVmem) == 0);
  CHECK(Emulated::Scratch<bool>(lone.core, {"flags", 1, 4, Memory::kSmem}, 6) == nullptr);
  CHECK(lone.message() ==
        "kernel: [tier] the kernel needs at least 104 B of SMEM with flags (line 4) on core 0, "
        "which has 100 B: "
        "ids 1 x 80 B, flags 1 x 24 B");
}

TEST_CASE("What the spec does not know has no budget") {
  Options options = EmulatedOptions();
  options.vmem_bytes = 1;
  LoneCore lone(options);
  CHECK(Emulated::Scratch<float>(lone.core, {"value", 0}, 5000) != nullptr);
  CHECK(lone.core.used(Memory::kVmem) == 0);
}

TEST_CASE("A copy arrives at the wait") {
  Sample<float, 1> sample({8});
  LoneCore lone(EmulatedOptions());
  In1 x(lone.core, {"x", 0, 3}, sample.tensor, {Blocked(4)}, NoPad(), 2, 1);
  x.CopyIn({0});
  sample.data[0] = 50;
  CHECK(*x.WaitIn({0}).At(0) == 50);
  sample.data[0] = 60;
  CHECK(*x.WaitIn({0}).At(0) == 50);
}

TEST_CASE("An eager copy arrives at once") {
  Sample<float, 1> sample({8});
  Options options = EmulatedOptions();
  options.dma = Dma::kEager;
  LoneCore lone(options);
  In1 x(lone.core, {"x", 0, 3}, sample.tensor, {Blocked(4)}, NoPad(), 2, 1);
  x.CopyIn({0});
  sample.data[0] = 50;
  CHECK(*x.WaitIn({0}).At(0) == 1);
}

TEST_CASE("A block that is held is not copied again") {
  const Sample<float, 1> sample({8});
  LoneCore lone(EmulatedOptions());
  In1 x(lone.core, {"x", 0, 3}, sample.tensor, {Blocked(4)}, NoPad(), 2, 1);
  for (const int64_t i : {0, 0, 1, 1, 0}) {
    x.CopyIn({i});
    x.WaitIn({i});
  }
  const OperandRecord& record = *lone.core.records()[0];
  CHECK(record.copies == 3);
  CHECK(record.skipped == 2);
  CHECK(record.bytes == 3 * 16);
}

TEST_CASE("A wait without a copy, and a copy without a wait") {
  const Sample<float, 1> sample({16});
  LoneCore lone(EmulatedOptions());
  In1 x(lone.core, {"x", 0, 3}, sample.tensor, {Blocked(4)}, NoPad(), 2, 1);
  x.CopyIn({0});
  CHECK(x.WaitIn({1}).data == nullptr);
  CHECK(lone.message() ==
        "kernel: [sync] block (1) of x (line 3) on core 0: a wait for a block that no copy brings");

  LoneCore other(EmulatedOptions());
  In1 y(other.core, {"y", 0, 3}, sample.tensor, {Blocked(4)}, NoPad(), 2, 1);
  for (const int64_t i : {0, 1, 2}) y.CopyIn({i});
  CHECK(other.message() ==
        "kernel: [sync] block (0) of y (line 3) on core 0: its copy is never waited for");
}

TEST_CASE("Elements outside are poison unless there is a pad") {
  const Sample<float, 1> sample({6});
  LoneCore lone(EmulatedOptions());
  In1 x(lone.core, {"x", 0, 3}, sample.tensor, {Blocked(4)}, NoPad(), 2, 1);
  x.CopyIn({1});
  CHECK(*x.WaitIn({1}).At(1) == 6);
  CHECK(std::isnan(*x.WaitIn({1}).At(2)));
}

TEST_CASE("An output block is written when its slot is needed, or at the end") {
  Sample<float, 1> sample({12});
  Fill(sample.tensor, 0.0f);
  LoneCore lone(EmulatedOptions());
  Out1 z(lone.core, {"z", 0, 3}, sample.tensor, {Blocked(4)}, NoInit(), 2);
  const auto write = [&](int64_t i) {
    const auto tile = z.Open({i}, 0);
    for (int e = 0; e < 4; ++e) *tile.At(e) = static_cast<float>(i + 1);
    z.CopyOut();
  };
  write(0);
  write(1);
  CHECK(sample.data[0] == 0);
  write(2);
  CHECK(sample.data[0] == 1);
  CHECK(sample.data[4] == 0);
  z.WaitOut();
  CHECK(sample.data[4] == 2);
  CHECK(sample.data[8] == 3);
  CHECK(lone.core.records()[0]->copies == 3);
  CHECK(lone.core.records()[0]->is_output);
}

template <typename T>
std::string WritePart(const Options& options, Init<T> init) {
  Sample<T, 2> sample({3, 20});
  LoneCore lone(options);
  Emulated::Out<Rows<T, 2>, 2> z(lone.core, {"z", 0, 28}, sample.tensor, {Blocked(2), Blocked(16)},
                                 init, 2);
  const auto tile = z.Open({1, 1}, 0);
  *tile.At(0, 0) = T(1);
  *tile.At(0, 1) = T(1);
  z.CopyOut();
  z.WaitOut();
  CHECK(lone.message() == "");
  return lone.core.late().message;
}

TEST_CASE("Undefined elements of an output are a diagnostic, at the end of the call") {
  const std::string expected =
      "kernel: [coverage] block (1, 1) of z (line 28) is copied out on core 0 with elements that "
      "no "
      "step stores; the first is z[2, 18]";
  CHECK(WritePart<float>(EmulatedOptions(), NoInit()) == expected);
  CHECK(WritePart<double>(EmulatedOptions(), NoInit()) == expected);
  CHECK(WritePart<float>(EmulatedOptions(), UndefinedInit()) == "");
  CHECK(WritePart<float>(EmulatedOptions(), Init<float>(0)) == "");
  CHECK(WritePart<int32_t>(EmulatedOptions(), NoInit()) == "");
  Options zero = EmulatedOptions();
  zero.poison = Poison::kZero;
  CHECK(WritePart<float>(zero, NoInit()) == "");
}

TEST_CASE("What a block lacks is reported after what a later step does to it") {
  Sample<float, 1> sample({8});
  LoneCore lone(EmulatedOptions());
  Out1 z(lone.core, {"z", 0, 3}, sample.tensor, {Blocked(4)}, NoInit(), 1);
  for (const int64_t i : {0, 1, 0}) {
    z.Open({i}, 0);
    z.CopyOut();
  }
  CHECK(lone.core.late().code == kCoverage);
  CHECK(lone.core.status().code == kRevisit);
}

TEST_CASE("A slot that waits for a whole block holds poison in every sixteenth line") {
  const Sample<float, 1> sample({4096});
  LoneCore lone(EmulatedOptions());
  In1 x(lone.core, {"x", 0, 3}, sample.tensor, {Blocked(1024)}, NoPad(), 2, 1);
  x.CopyIn({0});
  const float* const first = x.WaitIn({0}).data;
  x.CopyIn({1});
  x.WaitIn({1});
  x.CopyIn({2});  // into the first slot
  for (int e = 0; e < 1024; ++e) CHECK(std::isnan(first[e]) == (e % 256 < 16));
}

TEST_CASE("Zeros past edges alone") {
  using internal::Hole;
  Options options = EmulatedOptions();
  options.poison = Poison::kZeroEdges;
  CHECK(internal::UndefinedEdge<float>(options) == 0);
  CHECK(internal::UndefinedEdge<int8_t>(options) == 0);
  CHECK(internal::HasPoison(options));
  CHECK(internal::PoisonIn(options, Hole::kUnset) == Poison::kNan);
  CHECK(internal::UndefinedEdge<int8_t>(EmulatedOptions()) == -1);
}

TEST_CASE("What arithmetic makes of a NaN is asked of the machine") {
#if defined(__x86_64__) || defined(__aarch64__)
  CHECK(internal::KeepsNanBits());
#elif defined(__riscv)
  CHECK_FALSE(internal::KeepsNanBits());
#endif
}

/// As memory is: the compiler computes nothing with it.
template <typename T>
T Poisoned(internal::Hole hole) {
  volatile uint64_t memory = internal::PoisonOf<T>(hole).word;
  const uint64_t word = memory;
  T value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

double One(float value) { return value; }
double One(bf16 value) { return BF16ToFloat(std::bit_cast<uint16_t>(value)); }
double One(f16 value) { return F16ToFloat(std::bit_cast<uint16_t>(value)); }

template <typename T>
void CheckRandom() {
  Options options = EmulatedOptions();
  options.poison = Poison::kRandom;
  T values[64];
  internal::FillPoison(options, internal::Hole::kUnset,
                       internal::PoisonOf<T>(internal::Hole::kUnset), values, sizeof(values));
  for (const T value : values) {
    const double magnitude = std::fabs(One(value));
    CHECK(magnitude >= 2);
    CHECK(magnitude <= std::ldexp(1, 65));
  }
}

TEST_CASE("Random poison changes what it is added to") {
  CheckRandom<float>();
  CheckRandom<bf16>();
  CheckRandom<f16>();
}

TEST_CASE("Poison says why memory is undefined") {
  using internal::Hole;
  for (const Hole hole : {Hole::kUnset, Hole::kUnstored, Hole::kEdge}) {
    CHECK(internal::HoleOf(Poisoned<float>(hole)) == hole);
    CHECK(internal::HoleOf(Poisoned<double>(hole)) == hole);
    CHECK(internal::HoleOf(Poisoned<bf16>(hole)) == hole);
    CHECK(internal::HoleOf(Poisoned<f16>(hole)) == hole);
    CHECK(internal::IsPoison(Poisoned<bf16>(hole)));
    CHECK(internal::IsPoison(Poisoned<f16>(hole)));
    // Whatever was computed from what is not stored is stored; what keeps no bits makes the NaN
    // that operations without a value do.
    const Hole computed = hole == Hole::kUnstored ? Hole::kUnset : hole;
    for (const float value : {Poisoned<float>(hole) + 1, -Poisoned<float>(hole) * 2,
                              static_cast<float>(Poisoned<double>(hole))}) {
      CHECK(std::isnan(value));
      CHECK(internal::IsPoison(value) == internal::KeepsNanBits());
      if (internal::KeepsNanBits()) CHECK(internal::HoleOf(value) == computed);
    }
  }
}

TEST_CASE("Poison survives arithmetic and conversions if NaN does; other NaNs are values") {
  const float poison = Poisoned<float>(internal::Hole::kUnset);
  const bool survives = internal::KeepsNanBits();
  CHECK(internal::IsPoison(poison));
  CHECK(internal::IsPoison(poison * 2 + 1) == survives);
  volatile double wide = poison;  // a compiler takes a conversion and its inverse for nothing
  CHECK(internal::IsPoison(double{wide}) == survives);
  CHECK(internal::IsPoison(static_cast<float>(wide)) == survives);
  CHECK_FALSE(internal::IsPoison(std::bit_cast<bf16>(uint16_t{0xFFFF})));
  CHECK_FALSE(internal::IsPoison(std::bit_cast<bf16>(uint16_t{0x7FFF})));
  CHECK_FALSE(internal::IsPoison(std::bit_cast<float>(~uint32_t{0})));
  CHECK_FALSE(internal::IsPoison(std::bit_cast<double>(~uint64_t{0})));
  CHECK_FALSE(internal::IsPoison(std::nanf("")));
  CHECK_FALSE(internal::IsPoison(-std::nanf("")));
  CHECK_FALSE(internal::IsPoison(-1));
}

TEST_CASE("A block that is left and come back to") {
  Sample<float, 1> sample({8});
  LoneCore lone(EmulatedOptions());
  Out1 z(lone.core, {"z", 0, 3}, sample.tensor, {Blocked(4)}, Init<float>(0), 2);
  for (const int64_t i : {0, 1, 0}) {
    z.Open({i}, 7);
    z.CopyOut();
  }
  CHECK(lone.core.status().code == kRevisit);
  CHECK(lone.message() ==
        "kernel: [revisit] block (0) of z (line 3) is left and come back to on core 0; what the "
        "first visit wrote is lost");
}

TEST_CASE("A block that two runs write, on whatever core") {
  Sample<float, 1> sample({8});
  LoneCore lone(EmulatedOptions(), 0, 2);
  Core second;
  second.Reset(1, 2, EmulatedOptions(), {"kernel", nullptr}, {&lone.visits, &lone.touches});
  Out1 z(lone.core, {"z", 0, 3}, sample.tensor, {Blocked(4)}, Init<float>(0), 2);
  Out1 other(second, {"z", 0, 3}, sample.tensor, {Blocked(4)}, Init<float>(0), 2);
  z.Open({1}, 0);
  other.Open({1}, 1);
  CHECK(lone.core.ok());
  CHECK(second.status().code == kRace);
  CHECK(std::string(second.status().message) ==
        "kernel: [race] block (1) of z (line 3) is written by steps that differ along a parallel "
        "axis, on cores 0 and 1");
}

TEST_CASE("Thousands of blocks are distinguished") {
  Visits visits;
  int other = 0;
  for (int call = 0; call < 2; ++call) {
    visits.Clear();
    for (int64_t block = 0; block < 5000; ++block) {
      CHECK(visits.Begin({1, 0, block, 0}, &other) == kOk);
      CHECK(visits.Begin({2, 0, block, 0}, &other) == kOk);
    }
    CHECK(visits.Begin({2, 3, 4999, 0}, &other) == kRevisit);
    CHECK(visits.Begin({1, 3, 0, 1}, &other) == kRace);
  }
}

TEST_CASE("Scratch is undefined, and becomes so again") {
  LoneCore lone(EmulatedOptions());
  float* const acc = Emulated::Scratch<float>(lone.core, {"acc", 0, 3}, 100, {10, 10});
  CHECK(lone.core.used(Memory::kVmem) == 2 * 4096);
  CHECK(std::isnan(acc[99]));
  acc[99] = 0;
  Emulated::Forget(lone.core, acc, 100);
  CHECK(std::isnan(acc[99]));
}

}  // namespace
}  // namespace kiln
