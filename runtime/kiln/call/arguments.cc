#include "kiln/call/arguments.h"

#include <cstdio>
#include <cstring>

#include "kiln/call/verbose.h"

namespace kiln::inline KILN_ABI {
namespace {

constexpr uint8_t kDlBool = 6;  // of later versions than the one that is included

DLDataType TypeOf(Dtype dtype) {
  constexpr DLDataType kTypes[] = {
#define KILN_DTYPE(dtype, type, name, code, bits, mantissa) {code, bits, 1},
#include "kiln/core/dtypes.def"
  };
  return kTypes[static_cast<size_t>(dtype)];
}

bool IsType(const DLDataType& type, Dtype dtype) {
  const DLDataType wanted = TypeOf(dtype);
  if (type.lanes != 1 || type.bits != wanted.bits) return false;
  // Whoever has no bools passes bytes.
  return type.code == wanted.code || (dtype == Dtype::kBool && type.code == kDLUInt);
}

/// Of the types that are known; null of others.
const char* NameOfType(const DLDataType& type) {
#define KILN_DTYPE(dtype, cpp, name, dl_code, dl_bits, mantissa) \
  if (type.code == dl_code && type.bits == dl_bits) return name;
#include "kiln/core/dtypes.def"
  return nullptr;
}

/// "f64", or "c64" of a complex number, or "type 9 of 8 bits".
struct TypeText {
  char text[48];
  explicit TypeText(const DLDataType& type) {
    if (const char* name = NameOfType(type); name != nullptr && type.lanes == 1) {
      std::snprintf(text, sizeof(text), "%s", name);
      return;
    }
    constexpr const char* kKinds[] = {"i", "u", "f", "handle", "bf", "c", "bool"};
    const bool known = type.code < sizeof(kKinds) / sizeof(kKinds[0]);
    int size = type.code == kDlBool
                   ? std::snprintf(text, sizeof(text), "bool")
                   : std::snprintf(text, sizeof(text), known ? "%s%d" : "%s%d bits",
                                   known ? kKinds[type.code] : "an unknown type of ", type.bits);
    if (type.lanes == 1) return;
    std::snprintf(text + size, sizeof(text) - static_cast<size_t>(size), "x%d", type.lanes);
  }
};

bool IsReadable(const DLDevice& device) {
  return device.device_type == kDLCPU || device.device_type == kDLCUDAHost ||
         device.device_type == kDLROCMHost;
}

}  // namespace

bool TensorArguments::Check(const DLTensor* tensor, const char* name, Dtype dtype) {
  if (!ok()) return false;
  if (tensor == nullptr) {
    status_.Fail(kCall, "%s: %s is null", kernel_, name);
  } else if (!IsReadable(tensor->device)) {
    status_.Fail(kCall, "%s: %s is on a device of type %d, expected the CPU (%d)", kernel_, name,
                 static_cast<int>(tensor->device.device_type), static_cast<int>(kDLCPU));
  } else if (!IsType(tensor->dtype, dtype)) {
    status_.Fail(kCall, "%s: %s is %s, expected %s", kernel_, name, TypeText(tensor->dtype).text,
                 NameOf(dtype));
  } else if (tensor->ndim < 0 || tensor->ndim > kMaxRank) {
    status_.Fail(kCall, "%s: %s has %d dimensions, expected at most %d", kernel_, name,
                 tensor->ndim, kMaxRank);
  } else if (tensor->ndim > 0 && tensor->shape == nullptr) {
    status_.Fail(kCall, "%s: %s has no shape", kernel_, name);
  }
  if (!ok() && internal::IsVerbose()) internal::PrintRefused({.kernel = kernel_}, status_);
  return ok();
}

int32_t TensorArguments::Return(const Status& status) {
  if (to_ != nullptr) {
    to_->code = status.code;
    if (status.ok())
      to_->message[0] = '\0';
    else
      std::memcpy(to_->message, status.message, sizeof(status.message));
  }
  return status.code;
}

}  // namespace kiln::inline KILN_ABI
