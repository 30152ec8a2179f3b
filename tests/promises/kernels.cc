#include "tests/promises/kernels.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "dense.h"
#include "double_buffer.h"
#include "gmm_f32.h"
#include "matmul_bf16.h"
#include "matmul_int8.h"
#include "softmax.h"
#include "sum_rows.h"

namespace kiln::test {
namespace {

/// SplitMix64, as the standard library's distributions are not the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t operator()() {
    uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

 private:
  uint64_t state_;
};

constexpr DLDataType kF32 = {kDLFloat, 32, 1}, kBf16 = {kDLBfloat, 16, 1}, kI8 = {kDLInt, 8, 1},
                     kI32 = {kDLInt, 32, 1};

int64_t Count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

template <typename T, class Make>
Argument Made(std::vector<int64_t> shape, DLDataType type, const Make& make) {
  Argument argument{{}, std::move(shape), type};
  argument.memory.resize(static_cast<size_t>(Count(argument.shape)) * sizeof(T));
  for (size_t at = 0; at < argument.memory.size(); at += sizeof(T)) {
    const T value = make();
    std::memcpy(&argument.memory[at], &value, sizeof(T));
  }
  return argument;
}

/// In [-1, 1).
Argument Floats(std::vector<int64_t> shape, uint64_t seed) {
  Random random(seed);
  return Made<float>(std::move(shape), kF32, [&] {
    return static_cast<float>(static_cast<int64_t>(random() >> 40) - (1 << 23)) / (1 << 23);
  });
}
Argument Bf16s(std::vector<int64_t> shape, uint64_t seed) {
  Argument floats = Floats(shape, seed);
  size_t at = 0;
  return Made<uint16_t>(std::move(shape), kBf16, [&] {
    uint16_t upper_half;
    std::memcpy(&upper_half, &floats.memory[4 * at++ + 2], 2);
    return upper_half;
  });
}
Argument Bytes(std::vector<int64_t> shape, uint64_t seed) {
  Random random(seed);
  return Made<int8_t>(std::move(shape), kI8, [&] { return static_cast<int8_t>(random()); });
}
Argument Output(std::vector<int64_t> shape, DLDataType type) {
  Argument argument{{}, std::move(shape), type, true};
  argument.memory.resize(static_cast<size_t>(Count(argument.shape) * type.bits / 8));
  return argument;
}

/// Rows of four groups, of which one is empty.
Argument GroupSizes(int64_t m) {
  const int64_t sizes[] = {m / 3, 0, m / 2, m - m / 3 - m / 2};
  size_t at = 0;
  return Made<int32_t>({4}, kI32, [&] { return static_cast<int32_t>(sizes[at++]); });
}

}  // namespace

KernelCall::KernelCall(std::string name, Function function, std::vector<Argument> arguments)
    : name_(std::move(name)), function_(function), arguments_(std::move(arguments)) {
  for (Argument& argument : arguments_) {
    tensors_.push_back({argument.memory.data(),
                        {kDLCPU, 0},
                        static_cast<int32_t>(argument.shape.size()),
                        argument.type,
                        argument.shape.data(),
                        nullptr,
                        0});
  }
  Spoil();
}

uint64_t KernelCall::Hash() const {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const Argument& argument : arguments_) {
    if (!argument.is_output) continue;
    for (const std::byte byte : argument.memory)
      hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001B3u;
  }
  return hash;
}

void KernelCall::Spoil() {
  for (Argument& argument : arguments_) {
    if (argument.is_output) std::memset(argument.memory.data(), 0xAB, argument.memory.size());
  }
}

std::vector<KernelCall> KernelCalls(int64_t size) {
  const int64_t m = 17 * size, n = 17 * size, k = 11 * size;
  std::vector<KernelCall> calls;
  const auto add = [&](const char* name, KernelCall::Function function, auto... arguments) {
    std::vector<Argument> all;
    (all.push_back(std::move(arguments)), ...);
    calls.emplace_back(name, function, std::move(all));
  };
  using A = const DLTensor*;
  add(
      "dense", [](A a, auto c, auto s) { return kiln_dense(a, a + 1, a + 2, a + 3, c, s); },
      Floats({m, k}, 1), Floats({k, n}, 2), Floats({n}, 3), Output({m, n}, kF32));
  add(
      "matmul_bf16",
      [](A a, auto c, auto s) { return kiln_matmul_bf16(a, a + 1, a + 2, a + 3, c, s); },
      Bf16s({m, k}, 4), Bf16s({k, n}, 5), Floats({n}, 6), Output({m, n}, kBf16));
  add(
      "matmul_int8", [](A a, auto c, auto s) { return kiln_matmul_int8(a, a + 1, a + 2, c, s); },
      Bytes({m, k}, 7), Bytes({k, n}, 8), Output({m, n}, kI32));
  add(
      "gmm_f32", [](A a, auto c, auto s) { return kiln_gmm_f32(a, 0, a + 1, a + 2, a + 3, c, s); },
      GroupSizes(m), Floats({m, k}, 9), Floats({4, k, n}, 10), Output({m, n}, kF32));
  add(
      "sum_rows", [](A a, auto c, auto s) { return kiln_sum_rows(a, a + 1, c, s); },
      Floats({k, 3 * k}, 11), Output({k}, kF32));
  add(
      "softmax", [](A a, auto c, auto s) { return kiln_softmax(a, a + 1, c, s); },
      Floats({m, k}, 12), Output({m, k}, kF32));
  add(
      "double_buffer",
      [](A a, auto c, auto s) { return kiln_double_buffer(a, a + 1, a + 2, c, s); },
      Floats({8 * size, n}, 13), Output({n}, kF32), Output({n}, kF32));
  return calls;
}

kiln_options Setting::options() const {
  kiln_options options;
  kiln_options_init(&options);
  options.mode = mode;
  options.cores = cores;
  options.shuffle = shuffle;
  options.seed = 7;
  if (reversed) {
    options.parallel_for = [](void*, int32_t count, void (*task)(void*, int32_t), void* argument) {
      while (count-- > 0) task(argument, count);
    };
  }
  return options;
}

std::string NameOf(const Setting& setting) {
  return std::string(setting.mode == KILN_EMULATED ? "emulated" : "direct") + ", " +
         std::to_string(setting.cores) + " cores" + (setting.shuffle ? ", shuffled" : "") +
         (setting.reversed ? ", reversed" : "");
}

}  // namespace kiln::test
