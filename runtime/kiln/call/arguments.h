// Arguments of the C interface.
#pragma once

#include <type_traits>

#include "kiln/call/c.h"
#include "kiln/call/context.h"
#include "kiln/core/status.h"
#include "kiln/core/tensor.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

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

namespace internal {

/// What the C function of a kernel does, in the order of its arguments.
class CallByC {
 public:
  CallByC(const char* kernel, kiln_status* status, const char* const* names)
      : arguments_(kernel, status), name_(names) {}

  /// An argument of the kernel.
  template <typename P, typename V>
  decltype(auto) Make(V value) {
    const char* const name = *name_++;
    return Made(static_cast<std::type_identity<P>*>(nullptr), value, name);
  }
  /// The function is called in braces, so that the first argument is made first.
  struct Result {
    template <class F, class... A>
    Result(CallByC& call, F function, A&&... made)
        : code(call.arguments_.ok() ? call.arguments_.Return(function(made...))
                                    : call.arguments_.code()) {}
    int32_t code;
  };

 private:
  template <typename P>
  P Made(std::type_identity<P>*, P value, const char*) {
    return value;
  }
  template <typename T>
  Tensor<T> Made(std::type_identity<const Tensor<T>&>*, const DLTensor* tensor, const char* name) {
    return arguments_.Get<T>(tensor, name);
  }
  Context& Made(std::type_identity<Context&>*, kiln_context* context, const char*) {
    return ContextOf(context);
  }

  TensorArguments arguments_;
  const char* const* name_;
};

}  // namespace internal

/// What the C function of a kernel does: calls it with arguments of these names, the context last.
template <class... P, class... V>
int32_t CallFromC(const char* kernel, Status (*function)(P...), kiln_status* status,
                  const char* const (&names)[sizeof...(P)], V... values) {
  internal::CallByC call(kernel, status, names);
  return internal::CallByC::Result{call, function, call.Make<P>(values)...}.code;
}

/// A tensor of other people's, with the same checks; `status` says what is wrong.
template <typename T>
Tensor<T> FromDLTensor(const DLTensor* tensor, const char* name, Status* status) {
  TensorArguments arguments("FromDLTensor", nullptr);
  const Tensor<T> made = arguments.Get<T>(tensor, name);
  *status = arguments.status();
  return made;
}

}  // namespace kiln::inline KILN_ABI
