#pragma once

#include <memory>

#include "generator/ir/kernel.h"

namespace kiln {

/// The kernel in which transposes that change what lanes run along stand where elements are stored,
/// and nothing that looks across a tile is in their way: a fold of a transpose is one along the
/// other dimension, and where something else (a scan, a flip, a window by steps) reads a transpose,
/// or a transpose reads it, what is read has a name, and so memory of its own. Null: there are
/// none.
std::shared_ptr<const Kernel> WithTransposesApart(const Kernel& kernel);

}  // namespace kiln
