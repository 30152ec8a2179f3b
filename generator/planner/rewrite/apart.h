#pragma once

#include <memory>

#include "generator/ir/kernel.h"

namespace kiln {

/// The kernel in which what moves elements is apart from what else does, where vectors cannot do
/// both at once. Transposes that change what lanes run along stand where elements are stored: a
/// fold of a transpose is one along the other dimension, and where something else that looks across
/// a tile (a scan, a flip, a window by steps) reads a transpose, or a transpose reads it, or a flip
/// reads what runs around, what is read has a name, and so memory of its own. Null: there are none.
std::shared_ptr<const Kernel> WithMovesApart(const Kernel& kernel);

}  // namespace kiln
