// Every generated kernel refuses every argument that is not what it should be, says which and why,
// and touches nothing.
#include <algorithm>
#include <cstring>

#include "generator/data/dtype.h"
#include "generator/data/passed_as.h"
#include "tests/catch.h"
#include "tests/records/kernels.h"

namespace kiln::testing {
namespace {

constexpr int32_t kCall = 1;
constexpr int32_t kAlias = 8;

/// Tensors that may be spoilt: each has as much memory as the largest.
struct Argument {
  const Ref* ref = nullptr;
  std::vector<std::byte> memory;
  std::vector<int64_t> shape, strides;
  DLTensor tensor{};

  bool is_scalar() const { return ref->role == Role::kScalar; }
  bool is_output() const { return ref->role == Role::kOutput; }
  int64_t size() const {
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    return size;
  }
};

DLDataType TypeOf(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * SizeOf(dtype));
  if (dtype == DType::kBool) return {kDLUInt, bits, 1};
  if (dtype == DType::kBF16) return {kDLBfloat, bits, 1};
  if (IsFloat(dtype)) return {kDLFloat, bits, 1};
  return {static_cast<uint8_t>(IsUnsigned(dtype) ? kDLUInt : kDLInt), bits, 1};
}

class Call {
 public:
  Call(const RecordCase& of, const Replay& replay) : kernel_(*KernelOf(of.name)) {
    const Kernel& kernel = *replay.binding->kernel;
    const std::vector<int> refs = CallArguments(kernel);
    size_t most = 64;
    arguments_.resize(refs.size());
    for (size_t i = 0; i < refs.size(); ++i) {
      Argument& argument = arguments_[i];
      argument.ref = &kernel.refs[static_cast<size_t>(refs[i])];
      argument.shape = replay.binding->arrays[static_cast<size_t>(refs[i])];
      const auto bytes = ByteSize(argument.ref->dtype, argument.shape).value();
      most = std::max(most, static_cast<size_t>(bytes) + 64);
    }
    for (Argument& argument : arguments_) {
      argument.memory.assign(most, std::byte{0});
      Restore(argument);
    }
  }

  std::vector<Argument>& arguments() { return arguments_; }

  static void Restore(Argument& argument) {
    int64_t stride = 1;
    argument.strides.assign(argument.shape.size(), 1);
    for (size_t d = argument.shape.size(); d-- > 0;
         stride *= std::max<int64_t>(argument.shape[d], 1))
      argument.strides[d] = stride;
    const DType dtype = argument.ref->dtype;
    argument.tensor = {argument.memory.data(),
                       {kDLCPU, 0},
                       static_cast<int>(argument.shape.size()),
                       TypeOf(argument.is_scalar() ? PassedAs(dtype) : dtype),
                       argument.shape.data(),
                       argument.strides.data(),
                       0};
  }

  /// The call with `null`, if it is not -1, left out.
  int32_t Run(int null = -1) {
    std::vector<const DLTensor*> tensors;
    for (const Argument& argument : arguments_) tensors.push_back(&argument.tensor);
    if (null >= 0) tensors[static_cast<size_t>(null)] = nullptr;
    status_ = {};
    const int32_t code = kernel_.call(tensors.data(), nullptr, &status_);
    CHECK(code == status_.code);
    CHECK(kernel_.call(tensors.data(), nullptr, nullptr) == code);
    return code;
  }

  std::string message() const { return status_.message; }

  bool IsUntouched() const {
    return std::all_of(arguments_.begin(), arguments_.end(), [](const Argument& argument) {
      return std::all_of(argument.memory.begin(), argument.memory.end(),
                         [](std::byte b) { return b == std::byte{0}; });
    });
  }

 private:
  const KernelInterface& kernel_;
  std::vector<Argument> arguments_;
  kiln_status status_{};
};

void Expect(Call& call, int32_t code, const std::string& name, int null = -1) {
  const int32_t got = call.Run(null);
  INFO(call.message());
  CHECK(got == code);
  CHECK(call.message().find(name) != std::string::npos);
}

void CheckTensor(Call& call, size_t at) {
  Argument& argument = call.arguments()[at];
  const std::string& name = argument.ref->name;
  const size_t rank = argument.shape.size();
  const std::vector<int64_t> shape = argument.shape;
  INFO("argument " << name);
  {
    INFO("null");
    Expect(call, kCall, name, static_cast<int>(at));
  }
  // What may name another argument, with which this one disagrees.
  for (const int more : {-1, 1}) {
    if (rank == 0 && more < 0) continue;
    INFO("of rank " << rank << " and " << more);
    argument.shape.resize(rank + static_cast<size_t>(more), 1);
    Call::Restore(argument);
    Expect(call, kCall, "");
    argument.shape = shape;
    Call::Restore(argument);
  }
  for (size_t d = 0; d < rank; ++d) {
    INFO("a negative extent in dimension " << d);
    argument.shape[d] = -1;
    Expect(call, kCall, "");
    argument.shape[d] = shape[d];
  }
  const auto spoilt = [&](const char* how, const auto& spoil) {
    INFO(how);
    spoil(argument.tensor);
    Expect(call, kCall, name);
    Call::Restore(argument);
  };
  spoilt("complex", [](DLTensor& tensor) { tensor.dtype = {kDLComplex, 64, 1}; });
  spoilt("of twice the width", [](DLTensor& tensor) { tensor.dtype.bits *= 2; });
  spoilt("of two lanes", [](DLTensor& tensor) { tensor.dtype.lanes = 2; });
  spoilt("on a GPU", [](DLTensor& tensor) { tensor.device.device_type = kDLCUDA; });
  spoilt("of negative rank", [](DLTensor& tensor) { tensor.ndim = -1; });
  spoilt("of rank 100", [](DLTensor& tensor) { tensor.ndim = 100; });
  if (argument.size() == 0) return;
  spoilt("without data", [](DLTensor& tensor) { tensor.data = nullptr; });
  if (SizeOf(argument.ref->dtype) > 1)
    spoilt("misaligned", [](DLTensor& tensor) { tensor.byte_offset = 1; });
  if (rank > 0 && shape[rank - 1] > 1)
    spoilt("with a stride of 2", [](DLTensor& tensor) { tensor.strides[tensor.ndim - 1] = 2; });
  if (rank > 1 && argument.is_output() && shape[rank - 1] > 1 && shape[rank - 2] > 1) {
    spoilt("with rows upon each other",
           [](DLTensor& tensor) { tensor.strides[tensor.ndim - 2] = 1; });
  }
}

/// Each output upon each other argument.
void CheckOverlaps(Call& call, size_t at) {
  Argument& output = call.arguments()[at];
  if (!output.is_output() || output.size() == 0 || output.ref->alias >= 0) return;
  for (Argument& other : call.arguments()) {
    if (&other == &output || other.is_scalar() || other.size() == 0) continue;
    INFO("output " << output.ref->name << " upon " << other.ref->name);
    output.tensor.data = other.memory.data();
    Expect(call, kAlias, "overlaps");
    Call::Restore(output);
  }
}

TEST_CASE("generated kernels refuse bad calls") {
  std::string last;
  for (const RecordCase& of : RecordCases()) {
    if (!KernelOf(of.name) || of.spec == last) continue;
    last = of.spec;
    DYNAMIC_SECTION(of.name) {
      const Replay replay(of);
      Call call(of, replay);
      for (size_t at = 0; at < call.arguments().size(); ++at) {
        if (call.arguments()[at].is_scalar()) continue;
        CheckTensor(call, at);
        CheckOverlaps(call, at);
      }
      CHECK(call.IsUntouched());
    }
  }
}

}  // namespace
}  // namespace kiln::testing
