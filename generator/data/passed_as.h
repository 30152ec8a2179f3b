#pragma once

#include "generator/data/dtype.h"

namespace kiln {

/// The type of a C function's parameter for a scalar: types narrower than 32 bits have no vectors
/// of their own, and no parameters either.
constexpr DType PassedAs(DType dtype) { return dtype == DType::kBool ? dtype : ComputeType(dtype); }

}  // namespace kiln
