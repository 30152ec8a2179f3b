// What a kernel is called with, as the program of kiln_add_runner needs to know it: written by the
// generator beside the kernel, read by libkiln_runner.
#pragma once

#include <cstdint>

#include "kiln/c.h"
#include "kiln/core/version.h"

/// Plain data, as the two may be compiled in different modes.
namespace kiln::inline KILN_ABI::runner {

enum class Role : int32_t { kInput, kOutput, kScalar };

/// The sizes of a call, of which some may not be known.
class Sizes {
 public:
  Sizes(const int64_t* values, int32_t count) : values_(values), count_(count) {}

  int64_t operator()(int32_t dim) const {
    if (dim < count_ && values_[dim] >= 0) return values_[dim];
    missing_ = dim;
    return 1;  // whatever it is divided by
  }
  /// One that was asked for and is not known; -1: there is none.
  int32_t missing() const { return missing_; }

 private:
  const int64_t* values_;
  int32_t count_;
  mutable int32_t missing_ = -1;
};

struct Dim {
  const char* name;
  int64_t min, multiple_of;
  int64_t max;    // -1: any
  int64_t fixed;  // -1: as the call says
};

struct Argument {
  const char* name;
  Role role;
  const char* dtype;
  const char* passed_as;  // of a scalar
  const char* shape;      // "[m, cdiv(n, 2)]"
  int32_t rank;
  const int32_t* dims;  // by dimension the size that it is, or -1: an expression
  void (*extents)(const Sizes& size, int64_t* to);
};

struct Kernel {
  const char* name;
  const char* doc;
  int32_t dim_count;
  const Dim* dims;
  int32_t argument_count;
  const Argument* arguments;
  int32_t (*call)(const DLTensor* const* arguments, kiln_context* context, kiln_status* status);
};

/// What the program does; its exit status.
int Main(const Kernel& kernel, int argc, char** argv);

}  // namespace kiln::inline KILN_ABI::runner
