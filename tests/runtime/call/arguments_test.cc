#include "kiln/call/arguments.h"

#include <cstdio>
#include <string>

#include "tests/runtime/runtime_testing.h"

namespace kiln {
namespace {

/// An array as other libraries pass it.
struct Foreign {
  float data[24] = {};
  int64_t shape[9] = {2, 3, 1, 1, 1, 1, 1, 1, 1};
  int64_t strides[2] = {5, 1};
  DLTensor tensor{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
};

template <typename T>
std::string MessageOf(const DLTensor* tensor) {
  kiln_status status{77, "old"};
  TensorArguments arguments("kernel", &status);
  arguments.Get<T>(tensor, "x");
  CHECK(arguments.code() == status.code);
  CHECK(arguments.ok() == (status.code == 0));
  return status.message;
}

TEST_CASE("Arrays without strides are contiguous") {
  Foreign foreign;
  TensorArguments arguments("kernel", nullptr);
  const auto x = arguments.Get<const float>(&foreign.tensor, "x");
  CHECK(arguments.ok());
  CHECK(x.data == foreign.data);
  CHECK(x.rank == 2);
  CHECK(x.stride[0] == 3);
  CHECK(x.stride[1] == 1);
}

TEST_CASE("Rows of 4 bits an element begin with whole bytes") {
  Foreign foreign;
  foreign.tensor.dtype = {kDLInt, 4, 1};
  Status status;
  const auto x = FromDLTensor<const i4>(&foreign.tensor, "x", &status);
  CHECK(status.ok());
  CHECK(x.stride[0] == 4);
  CHECK(MessageOf<u4>(&foreign.tensor) == "kernel: x is i4, expected u4");
  CHECK(MessageOf<int8_t>(&foreign.tensor) == "kernel: x is i4, expected i8");
}

TEST_CASE("Strides and offsets") {
  Foreign foreign;
  foreign.tensor.strides = foreign.strides;
  foreign.tensor.byte_offset = 8;
  Status status;
  const auto x = FromDLTensor<float>(&foreign.tensor, "x", &status);
  CHECK(status.ok());
  CHECK(x.data == foreign.data + 2);
  CHECK(x.stride[0] == 5);
}

TEST_CASE("Scalars have no shape") {
  Foreign foreign;
  foreign.tensor.ndim = 0;
  foreign.tensor.shape = nullptr;
  CHECK(MessageOf<float>(&foreign.tensor) == "");
  foreign.tensor.ndim = 1;
  CHECK(MessageOf<float>(&foreign.tensor) == "kernel: x has no shape");
}

TEST_CASE("What a tensor cannot be") {
  CHECK(MessageOf<float>(nullptr) == "kernel: x is null");
  Foreign foreign;
  foreign.tensor.ndim = 9;
  CHECK(MessageOf<float>(&foreign.tensor) == "kernel: x has 9 dimensions, expected at most 8");
  foreign.tensor.device.device_type = kDLCUDA;
  CHECK(MessageOf<float>(&foreign.tensor) ==
        "kernel: x is on a device of type 2, expected the CPU (1)");
}

TEST_CASE("Element types are what they have to be") {
  Foreign foreign;
  const auto set = [&](int code, int bits, int lanes) {
    foreign.tensor.dtype = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits),
                            static_cast<uint16_t>(lanes)};
    return &foreign.tensor;
  };
  CHECK(MessageOf<float>(set(kDLFloat, 64, 1)) == "kernel: x is f64, expected f32");
  CHECK(MessageOf<bf16>(set(kDLFloat, 16, 1)) == "kernel: x is f16, expected bf16");
  CHECK(MessageOf<int32_t>(set(kDLUInt, 32, 1)) == "kernel: x is u32, expected i32");
  CHECK(MessageOf<float>(set(kDLFloat, 32, 4)) == "kernel: x is f32x4, expected f32");
  CHECK(MessageOf<float>(set(kDLComplex, 64, 1)) == "kernel: x is c64, expected f32");
  CHECK(MessageOf<float>(set(17, 8, 1)) == "kernel: x is an unknown type of 8 bits, expected f32");
  CHECK(MessageOf<bf16>(set(kDLBfloat, 16, 1)) == "");
  CHECK(MessageOf<f16>(set(kDLFloat, 16, 1)) == "");
  CHECK(MessageOf<int64_t>(set(kDLInt, 64, 1)) == "");
  CHECK(MessageOf<uint8_t>(set(kDLUInt, 8, 1)) == "");
}

TEST_CASE("Bools come as bools or as bytes") {
  Foreign foreign;
  foreign.tensor.dtype = {kDLUInt, 8, 1};
  CHECK(MessageOf<bool>(&foreign.tensor) == "");
  foreign.tensor.dtype = {6, 8, 1};
  CHECK(MessageOf<bool>(&foreign.tensor) == "");
  CHECK(MessageOf<uint8_t>(&foreign.tensor) == "kernel: x is bool, expected u8");
  foreign.tensor.dtype = {kDLInt, 8, 1};
  CHECK(MessageOf<bool>(&foreign.tensor) == "kernel: x is i8, expected bool");
}

TEST_CASE("The status crosses the C interface") {
  kiln_status to{77, "old"};
  TensorArguments arguments("kernel", &to);
  CHECK(arguments.Return(Status()) == 0);
  CHECK(to.code == 0);
  CHECK(std::string(to.message) == "");
  Status failure;
  failure.Fail(kTier, "of %d", 3);
  CHECK(arguments.Return(failure) == kTier);
  CHECK(std::string(to.message) == "of 3");
  CHECK(std::string(kiln_code_name(to.code)) == "tier");
  CHECK(std::string(kiln_code_name(-1)) == "unknown");
  int major = -1, minor = -1, patch = -1;
  CHECK(std::sscanf(kiln_version(), "%d.%d.%d", &major, &minor, &patch) == 3);
  CHECK(major >= 0);
}

TEST_CASE("Contexts of the C interface") {
  kiln_options options;
  kiln_options_init(&options);
  CHECK(options.vmem_bytes == 16 << 20);
  options.mode = KILN_EMULATED;
  options.cores = 2;
  kiln_context* const context = kiln_context_new(&options);
  REQUIRE(context != nullptr);
  CHECK(ContextOf(context).options().mode == Mode::kEmulated);
  options.cores = 3;
  kiln_context_configure(context, &options);
  CHECK(ContextOf(context).options().cores == 3);
  CHECK(kiln_context_operands(context, 0, nullptr) == 0);
  kiln_context_trim(context);
  kiln_context_free(context);
  kiln_context_free(nullptr);
  CHECK(&ContextOf(nullptr) == &DefaultContext());
}

}  // namespace
}  // namespace kiln
