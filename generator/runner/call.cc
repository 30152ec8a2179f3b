#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <sstream>

#include "generator/data/packed.h"
#include "generator/data/summary.h"
#include "generator/runner/program.h"

namespace kiln::inline KILN_ABI::runner {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

constexpr size_t kAlignment = 4096;

}  // namespace

struct Call::Memory {
  std::unique_ptr<void, Free> data;
  DLTensor tensor{};
};

Call::Call(const Kernel& kernel, const Command& command, std::vector<Array> arrays)
    : kernel_(kernel), arrays_(std::move(arrays)) {
  kiln_options options;
  kiln_options_init(&options);
  options.cores = command.cores;
  options.mode = command.emulate ? KILN_EMULATED : KILN_DIRECT;
  context_ = kiln_context_new(&options);
  if (context_ == nullptr) throw std::bad_alloc();
  for (Array& array : arrays_) {
    const auto bytes = static_cast<size_t>(KernelBytes(array.dtype, array.shape).value());
    Memory& memory = memory_.emplace_back();
    memory.data.reset(std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment));
    if (memory.data == nullptr) throw std::bad_alloc();
    ToKernel(array, static_cast<std::byte*>(memory.data.get()));
    const DTypeRow& row = RowOf(array.dtype);
    memory.tensor.data = memory.data.get();
    memory.tensor.device = {kDLCPU, 0};
    memory.tensor.ndim = static_cast<int32_t>(array.shape.size());
    memory.tensor.dtype = {static_cast<uint8_t>(row.dlpack), static_cast<uint8_t>(row.bits), 1};
    memory.tensor.shape = array.shape.data();
  }
  for (const Memory& memory : memory_) tensors_.push_back(&memory.tensor);
}

Call::~Call() { kiln_context_free(context_); }

double Call::Run() {
  const auto start = std::chrono::steady_clock::now();
  kernel_.call(tensors_.data(), context_, &status_);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int32_t Call::cores() const { return kiln_context_vmem_high(context_, 0, nullptr); }

const Array& Call::Read(size_t argument) {
  Array& array = arrays_[argument];
  const auto* const bytes = static_cast<const std::byte*>(memory_[argument].data.get());
  array = FromKernel(array.dtype, std::move(array.shape), bytes);
  return array;
}

std::string Benchmark(Call& call, double seconds, int64_t bytes) {
  std::vector<double> times;
  double sum = 0;
  while (call.status().code == 0 && (sum < seconds || times.size() < 3)) {
    times.push_back(call.Run());
    sum += times.back();
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
  };
  const auto milliseconds = [](double time) { return Number(time * 1e3) + " ms"; };
  std::ostringstream text;
  text << times.size() << " calls in " << Duration(sum) << ":\n"
       << "  best      " << milliseconds(at(0)) << "\n"
       << "  median    " << milliseconds(at(0.5)) << "\n"
       << "  90 %      " << milliseconds(at(0.9)) << "\n"
       << "  arguments " << Bytes(bytes) << ", "
       << Number(static_cast<double>(bytes) / at(0) * 1e-9) << " GB/s in the best\n";
  return text.str();
}

}  // namespace kiln::inline KILN_ABI::runner
