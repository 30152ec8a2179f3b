#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/data/array.h"
#include "generator/ir/evaluate.h"

namespace kiln {

/// What a caller passes: arrays and scalars by name (scalars as 0-d or one-element arrays of any
/// type whose value fits), and dims by name. A scalar may come as a number among the dims, a dim as
/// a one-element array. An output may be given too: only its shape and type are looked at.
struct Inputs {
  std::map<std::string, Array> arrays;
  std::map<std::string, int64_t> dims;
};

/// A kernel with sizes: everything that is known before the grid starts. It points into the
/// kernel and the inputs, which must outlive it; it may be copied and moved.
struct Binding : Environment {
  std::vector<std::vector<int64_t>> arrays;  // by ref: extents of the array; -1: not known
  std::vector<std::vector<int64_t>> views;   // by ref: extents of the body's view; -1: not known
  std::vector<std::shared_ptr<const Array>> made;  // storage: what `prepare` made, scalars

  /// Saturates at the largest int64. -1: not known.
  int64_t StepCount() const;
};

/// Binds dims from the arrays' shapes and the given dims, runs `prepare`, evaluates steps, checks
/// shapes, dtypes, constraints, `require` and obligations ([call], [shape], [index-range], …).
/// With `partial`, arrays may be missing: what cannot be known stays unknown and is not an error.
/// Nullopt when a diagnostic makes the binding useless; a `require` or an obligation that does not
/// hold is an error that leaves it usable.
std::optional<Binding> Bind(const Kernel& kernel, const Inputs& inputs, bool partial,
                            Diagnostics& diagnostics);

/// The index of the first variant whose condition holds for these inputs, or -1.
int ChooseVariant(const Kernel& kernel, const Inputs& inputs);

}  // namespace kiln
