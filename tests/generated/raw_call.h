#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/generated/linked/linked_kernels.h"

/// Generated kernels by their C interface, without anything in front that would find mistakes
/// first.
namespace kiln::test {

inline std::vector<float> Ones(int64_t count) {
  return std::vector<float>(static_cast<size_t>(count), 1.0f);
}

template <typename T>
constexpr DLDataType kTypeOf = {kDLInt, 8 * sizeof(T), 1};
template <>
inline constexpr DLDataType kTypeOf<float> = {kDLFloat, 32, 1};
template <>
inline constexpr DLDataType kTypeOf<uint16_t> = {kDLBfloat, 16, 1};  // the bits of bf16

/// How a call runs.
struct Machine {
  const char* name;
  int32_t mode;
  int32_t cores;
};
constexpr Machine kMachines[] = {{"direct", KILN_DIRECT, 1},
                                 {"direct, 2 cores", KILN_DIRECT, 2},
                                 {"emulated", KILN_EMULATED, 1},
                                 {"emulated, 2 cores", KILN_EMULATED, 2}};
constexpr Machine kEmulatedCore = kMachines[2];

struct RawResult {
  std::string code;  // "ok"
  std::string message;
  std::map<std::string, kiln_operand_record> traffic;
};

/// The arguments of one kernel, in their order; they may be spoilt between calls.
class RawCall {
 public:
  struct Argument {
    std::vector<std::byte> memory;
    std::vector<int64_t> shape;
    DLDataType type;
    std::vector<int64_t> strides{};  // in elements; empty: no gaps

    template <typename T>
    std::vector<T> Values() const {
      std::vector<T> values(memory.size() / sizeof(T));
      if (!values.empty()) std::memcpy(values.data(), memory.data(), memory.size());
      return values;
    }
  };

  explicit RawCall(const std::string& kernel) {
    int32_t count = 0;
    const LinkedKernel* const kernels = kiln_linked_kernels(&count);
    for (int32_t i = 0; i < count; ++i) {
      if (kernel == kernels[i].name) kernel_ = &kernels[i];
    }
    INFO("there is no kernel " << kernel);
    REQUIRE(kernel_ != nullptr);
  }

  /// A scalar has no extents.
  template <typename T>
  RawCall& Pass(const std::vector<T>& values, std::vector<int64_t> shape) {
    Argument& argument = arguments_.emplace_back();
    argument.memory.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(argument.memory.data(), values.data(), argument.memory.size());
    argument.shape = std::move(shape);
    argument.type = kTypeOf<T>;
    return *this;
  }
  RawCall& Pass(int32_t scalar) { return Pass(std::vector<int32_t>{scalar}, {}); }

  Argument& operator[](size_t i) { return arguments_[i]; }

  RawResult Run(const Machine& machine) {
    const LinkedRuntime& runtime = *kiln_linked_runtime();
    kiln_options options;
    runtime.options_init(&options);
    options.mode = machine.mode;
    options.cores = machine.cores;
    kiln_context* const context = runtime.context_new(&options);
    std::vector<DLTensor> tensors;
    for (Argument& argument : arguments_) {
      tensors.push_back({argument.memory.data(),
                         {kDLCPU, 0},
                         static_cast<int32_t>(argument.shape.size()),
                         argument.type,
                         argument.shape.data(),
                         argument.strides.empty() ? nullptr : argument.strides.data(),
                         0});
    }
    std::vector<const DLTensor*> pointers;
    for (const DLTensor& tensor : tensors) pointers.push_back(&tensor);
    kiln_status status{};
    const int32_t code = kernel_->call(pointers.data(), context, &status);
    CHECK(code == status.code);
    RawResult result{runtime.code_name(code), status.message, {}};
    std::vector<kiln_operand_record> records(
        static_cast<size_t>(runtime.operands(context, 0, nullptr)));
    runtime.operands(context, static_cast<int32_t>(records.size()), records.data());
    for (const kiln_operand_record& record : records) result.traffic[record.name] = record;
    runtime.context_free(context);
    return result;
  }

 private:
  const LinkedKernel* kernel_ = nullptr;
  std::vector<Argument> arguments_;
};

}  // namespace kiln::test
