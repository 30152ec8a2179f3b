// The checks of a call's arguments.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "kiln/call/context.h"
#include "kiln/core/status.h"
#include "kiln/core/tensor.h"

namespace kiln {

/// "m is 3"
struct NamedValue {
  template <typename T>
  NamedValue(const char* name_, T value_) : name(name_), value(static_cast<double>(value_)) {}
  const char* name;
  double value;
};

/// Checks arguments one after another; the first error is kept. Messages name kernel and argument:
///   "matmul_bf16: y has shape [3, 4], expected [5, 4]"
class CallCheck {
 public:
  explicit CallCheck(const char* kernel) : kernel_(kernel) {}

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

  /// The extent of a dimension, as a size of the call; 0 if there is none.
  template <typename T>
  int64_t Dim(const Tensor<T>& tensor, const char* name, int dimension) {
    return DimOf(Array(tensor, name), dimension);
  }

  using Extents = std::initializer_list<int64_t>;

  /// An array that is read.
  template <typename T>
  void Input(const Tensor<T>& tensor, const char* name, Extents expected) {
    CheckArray(Array(tensor, name), expected, nullptr);
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
  /// Runs the call, unless an argument is wrong. `axes` are those of the grid: "i, j".
  template <class Call>
  Status Run(Context& context, void (*run)(const Call&, Core&), const Call& call,
             const char* axes) const {
    if (!ok()) return status_;
    return context.Run(run, call, {.kernel = kernel_, .axes = axes, .bytes = bytes()});
  }
  /// Returns false.
  bool Fail(Code code, const char* format, ...) __attribute__((format(printf, 3, 4)));

 private:
  /// Of all arrays that were checked, gaps between their elements included.
  int64_t bytes() const;

  /// A tensor of whatever element type.
  struct Argument {
    const char* name = nullptr;
    const void* data = nullptr;
    int rank = 0;
    std::array<int64_t, kMaxRank> shape{};
    std::array<int64_t, kMaxRank> stride{};
    int64_t element = 1;
    bool is_output = false;
    uintptr_t begin = 0, end = 0;  // of its bytes, once it is checked
  };
  /// More are checked, but not for overlaps.
  static constexpr int kMaxArguments = 32;

  template <typename T>
  static Argument Array(const Tensor<T>& tensor, const char* name) {
    return {name, tensor.data, tensor.rank, tensor.shape, tensor.stride, sizeof(T), false, 0, 0};
  }

  int64_t DimOf(const Argument& array, int dimension);
  void CheckArray(Argument array, Extents expected, const char* alias);
  bool CheckShape(const Argument& array, Extents expected);
  bool CheckStrides(const Argument& array);
  bool CheckOutputStrides(const Argument& array);
  bool CheckBytes(Argument& array);
  void CheckOverlaps(const Argument& array, const char* alias);

  static bool Overlap(const Argument& a, const Argument& b);
  static bool IsSame(const Argument& a, const Argument& b);

  const char* const kernel_;
  Status status_;
  Argument arguments_[kMaxArguments];  // those checked so far
  int count_ = 0;
};

}  // namespace kiln
