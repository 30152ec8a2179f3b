// The checks of a call's arguments.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "kiln/call/context.h"
#include "kiln/call/mode.h"
#include "kiln/core/status.h"
#include "kiln/core/tensor.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// "m is 3"
struct NamedValue {
  template <typename T>
  NamedValue(const char* name_, T value_) : name(name_), value(static_cast<double>(value_)) {}
  const char* name;
  double value;
};

namespace internal {
/// A part of an array.
template <typename T>
struct Span {
  const T* first;
  int count;
  const T* begin() const { return first; }
  const T* end() const { return first + count; }
};
}  // namespace internal

/// Checks arguments one after another; the first error is kept. Messages name kernel and argument:
///   "matmul_bf16: y has shape [3, 4], expected [5, 4]"
class CallCheck {
 public:
  explicit CallCheck(const RunOptions& how) : how_(how) {}
  explicit CallCheck(const char* kernel) : CallCheck(RunOptions{.kernel = kernel}) {}

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

  /// A size of the call: the extent of a dimension, 0 if there is none.
  template <typename T>
  int64_t Dim(const char* size, const Tensor<T>& tensor, const char* name, int dimension) {
    return DimOf(size, Array(tensor, name), dimension);
  }

  using Extents = std::initializer_list<int64_t>;

  /// An array that is read.
  template <typename T>
  void Input(const Tensor<T>& tensor, const char* name, Extents expected) {
    CheckArray(Array(tensor, name), expected, nullptr);
  }
  /// An array that is read, and whose elements decide what the call does.
  template <typename T>
  void Values(const Tensor<T>& tensor, const char* name, Extents expected) {
    Argument array = Array(tensor, name);
    array.is_values = true;
    CheckArray(array, expected, nullptr);
  }
  /// A number that is passed by value.
  template <typename T>
  void Scalar(T value, const char* name) {
    if (scalar_count_ == kMaxArguments) return;
    if constexpr (kIsFloating<T>)
      scalars_[scalar_count_++] = {name, true, 0, static_cast<double>(value)};
    else
      scalars_[scalar_count_++] = {name, false, static_cast<int64_t>(value), 0};
  }
  /// An array that is written. It overlaps neither itself nor any other argument.
  template <typename T>
  void Output(const Tensor<T>& tensor, const char* name, Extents expected) {
    Argument array = Array(tensor, name);
    array.is_output = true;
    CheckArray(array, expected, nullptr);
  }
  /// An output that takes over an input's memory, if the caller passes the same array twice.
  template <typename T>
  void Output(const Tensor<T>& tensor, const char* name, Extents expected, const char* alias) {
    Argument array = Array(tensor, name);
    array.is_output = true;
    CheckArray(array, expected, alias);
  }

  // Constraints of sizes, and what the spec requires.
  void MultipleOf(const char* name, int64_t value, int64_t factor);
  void Min(const char* name, int64_t value, int64_t least);
  void Max(const char* name, int64_t value, int64_t most);
  /// `values` are what the condition is made of.
  void Require(bool holds, const char* condition, std::initializer_list<NamedValue> values = {});
  void Expect(bool holds, const char* message);
  /// The steps of an axis that arguments decide.
  void Steps(const char* axis, int64_t steps);
  /// What host code says.
  void Take(const Status& status);
  /// Runs the call, unless an argument is wrong. `specialization`: 0: the base.
  template <class Call>
  Status Run(Context& context, const Grids<Call>& grids, const Call& call,
             int specialization = 0) const {
    if (!ok()) return status_;
    RunOptions how = how_;
    how.specialization = specialization;
    how.bytes = bytes();
    how.check = this;
    using OfGrids = internal::CallOfGrids<Call>;
    return context.Run(&OfGrids::Run, OfGrids{grids, call}, how);
  }
  /// Returns false.
  bool Fail(Code code, const char* format, ...) __attribute__((format(printf, 3, 4)));

  /// A tensor of whatever element type.
  struct Argument {
    const char* name;
    const void* data;
    int rank;
    std::array<int64_t, kMaxRank> shape;
    std::array<int64_t, kMaxRank> stride;
    Dtype dtype;
    size_t bits;  // of an element
    bool is_output, is_values;
    uintptr_t begin, end;  // of its bytes, once it is checked
  };
  struct Size {
    const char* name;
    int64_t value;
  };
  struct ScalarArgument {
    const char* name;
    bool is_float;
    int64_t integer;
    double number;
  };
  /// What has been checked so far, for who describes the call.
  internal::Span<Argument> arguments() const { return {arguments_, count_}; }
  internal::Span<Size> sizes() const { return {sizes_, size_count_}; }
  internal::Span<ScalarArgument> scalars() const { return {scalars_, scalar_count_}; }

 private:
  /// Of all arrays that were checked, gaps between their elements included.
  int64_t bytes() const;

  /// More are checked, but not for overlaps.
  static constexpr int kMaxArguments = 32;

  template <typename T>
  static Argument Array(const Tensor<T>& tensor, const char* name) {
    return {name,
            tensor.data,
            tensor.rank,
            tensor.shape,
            tensor.stride,
            kDtypeOf<T>,
            kBitsOf<T>,
            false,
            false,
            0,
            0};
  }

  int64_t DimOf(const char* size, const Argument& array, int dimension);
  void CheckArray(Argument array, Extents expected, const char* alias);
  bool CheckShape(const Argument& array, Extents expected);
  bool CheckStrides(const Argument& array);
  bool CheckOutputStrides(const Argument& array);
  bool CheckBytes(Argument& array);
  void CheckOverlaps(const Argument& array, const char* alias);

  static bool Overlap(const Argument& a, const Argument& b);
  static bool IsSame(const Argument& a, const Argument& b);

  const RunOptions how_;
  Status status_;
  // Those so far; what is behind them is not initialised, as that would take longer than to check.
  Argument arguments_[kMaxArguments];
  Size sizes_[kMaxArguments];
  ScalarArgument scalars_[kMaxArguments];
  int count_ = 0, size_count_ = 0, scalar_count_ = 0;
};

}  // namespace kiln::inline KILN_ABI
