#pragma once

#include <functional>
#include <optional>

#include "generator/plan/plan.h"

namespace kiln {

/// Accumulators: `sum + buffer` at a dot's end becomes a start from the buffer, and a start from a
/// buffer that was just zeroed becomes a start from 0. `dead`: scratch that nobody reads after
/// these stages, whose last stores are dropped.
void CarryAccumulators(Plan& plan, Stages& stages, RefId accumulator, bool dead);

/// Scratch that only dots touch is laid out as register tiles; other scratch has no use for extents
/// of 1.
void LayOutScratch(Plan& plan, RefId accumulator);

/// Whether the place is every element of its buffer, each in an iteration of its own.
bool IsWhole(const Plan& plan, const Place& place);
/// The stage that fills the whole of a buffer with a value that is wanted, among those before
/// `end`.
std::optional<size_t> FillBefore(const Plan& plan, const Stages& stages, size_t end,
                                 BufferId buffer,
                                 const std::function<bool(const Element&)>& is_wanted);
/// The same where that is 0.
std::optional<size_t> ZeroingBefore(const Plan& plan, const Stages& stages, size_t end,
                                    BufferId buffer);
/// Erases what stage `at` stores to a buffer, and the stage if nothing is left.
void EraseStoresOf(Stages& stages, size_t at, BufferId buffer);

}  // namespace kiln
