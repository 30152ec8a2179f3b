#pragma once

#include <functional>

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

/// A load of what a statement of the same iteration has stored is the value that it stored.
void ForwardAll(Plan& plan, Stages& stages, bool temps_only);
/// Erases such stores, and what holds nothing else.
void EraseStores(const std::function<bool(const stage::Store&)>& unwanted, Stages& stages);

}  // namespace kiln
