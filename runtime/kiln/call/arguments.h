// Arguments of the C interface.
#pragma once

#include <type_traits>

#include "kiln/call/c.h"
#include "kiln/call/context.h"
#include "kiln/core/status.h"
#include "kiln/core/tensor.h"
#include "kiln/core/types.h"

namespace kiln {

/// Null: the default context.
Context& ContextOf(kiln_context* context);

/// Makes tensors of a C function's arguments and a code of its status. What it checks is what a
/// Tensor cannot say: dtype, device, rank. The first error is kept.
class TensorArguments {
 public:
  TensorArguments(const char* kernel, kiln_status* status) : kernel_(kernel), to_(status) {}

  template <typename T>
  Tensor<T> Get(const DLTensor* tensor, const char* name) {
    if (!Check(tensor, name, kDtypeOf<T>)) return {};
    using Bytes = std::conditional_t<std::is_const_v<T>, const char, char>;
    Bytes* const data = static_cast<Bytes*>(tensor->data);
    // Adding to a null pointer is undefined; an empty array may have one.
    Bytes* const first = data == nullptr ? nullptr : data + tensor->byte_offset;
    return Tensor<T>(reinterpret_cast<T*>(first), tensor->ndim, tensor->shape, tensor->strides);
  }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  /// Of a call that is not made.
  int32_t code() { return Return(status_); }
  int32_t Return(const Status& status);

 private:
  bool Check(const DLTensor* tensor, const char* name, Dtype dtype);

  const char* const kernel_;
  kiln_status* const to_;
  Status status_;
};

/// A tensor of other people's, with the same checks; `status` says what is wrong.
template <typename T>
Tensor<T> FromDLTensor(const DLTensor* tensor, const char* name, Status* status) {
  TensorArguments arguments("FromDLTensor", nullptr);
  const Tensor<T> made = arguments.Get<T>(tensor, name);
  *status = arguments.status();
  return made;
}

}  // namespace kiln
