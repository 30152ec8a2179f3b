#pragma once

#include <memory>
#include <optional>

#include "generator/ir/kernel.h"

/// Concatenations whose parts need no memory of their own.
namespace kiln {

/// The kernel in which what is repeated along the last dimension a few times is a concatenation of
/// parts that are stored by turns. Null: there is none.
std::shared_ptr<const Kernel> WithRepeatsByTurns(const Kernel& kernel);

/// The kernel in which a concatenation, seen in another shape perhaps, is computed where all of it
/// is stored: a `let` of one that is read once, by the next statements, stands where it is read,
/// and what is done to its elements alone, such as a cast, is done to its parts. Null: there is
/// none.
std::shared_ptr<const Kernel> WithConcatsInPlace(const Kernel& kernel);

/// A concatenation that a reshape sees along one of its own dimensions: its parts are there one
/// after the other, or, if they have one element each, by turns.
struct Parts {
  const Node* concat = nullptr;
  size_t axis = 0;  // of the reshape
  bool by_turns = false;
  Size each = 1;  // how many elements of the axis one of a part makes
};
/// Of a concatenation itself, too; none: its parts are not so, or it is none.
std::optional<Parts> PartsAlong(const Node& node);

}  // namespace kiln
