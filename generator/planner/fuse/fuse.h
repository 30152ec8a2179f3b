#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/planner/lower/lower.h"

namespace kiln {

/// Joins neighbouring nests that walk the same spaces, moves what follows a dot into its tiles, and
/// hands a stored value on to the statements that follow in the same loops.
void Fuse(Plan& plan, Stages& stages);
/// The same without a look at what is stored and read again.
void JoinNests(Plan& plan, Stages& stages);
/// Drops each store in a list that another one follows, if nobody reads what it stores in between.
void EraseOverwritten(const Plan& plan, Stages& body, bool temps_only);
/// Hands what lanes with turns in them store on to their later statements, if it is not temporary,
/// too, and drops a store that another one follows.
void ForwardAroundTurns(Plan& plan, Stages& stages);
/// Turns buffers that never leave their loops into scalars or single rows.
void Contract(Plan& plan, Stages& stages);

/// Accumulators: `sum + buffer` at a dot's end becomes a start from the buffer, and a start from a
/// buffer that was just zeroed becomes a start from 0. `dead`: scratch that nobody reads after
/// these stages, whose last stores are dropped.
void CarryAccumulators(Plan& plan, Stages& stages, RefId accumulator, bool dead);

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
