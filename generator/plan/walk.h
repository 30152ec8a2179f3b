#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "generator/plan/plan.h"

/// Looking through stages and changing what they hold. A prefetch reads nothing: walks over what is
/// read and written leave it out, those that change things change it too.
namespace kiln {

/// The buffer of which this is another shape, or the buffer itself.
BufferId RootOf(const Plan& plan, BufferId buffer);
/// Whether it is no operand and no scratch of the spec.
inline bool IsTemp(const Plan& plan, BufferId buffer) { return !plan[buffer].ref; }

/// The loop that the stage is, one coordinate after the other or by vectors; none: it is no loop.
/// The tiles of a dot and the loops of a pack are theirs alone.
LoopId LoopOf(const Stage& stage);
/// The statements within a stage, but those of the other branch; null: it has none.
const Stages* BodyOf(const Stage& stage);
Stages* BodyOf(Stage& stage);

/// A loop, by vectors or not, and nothing else.
inline bool IsNest(const Stage& stage) { return Is<stage::Loop, stage::Lanes>(stage); }
/// One pass over a row, by vectors.
inline bool IsPass(const Stage& stage) { return Is<stage::Lanes, stage::Reduce>(stage); }

/// Whether two loops have the same iterations.
inline bool SameSpace(const Plan& plan, LoopId a, LoopId b) {
  return plan[a].space == plan[b].space;
}

/// Calls `use` with each list of statements within the stage.
template <typename Of, typename Use>
void ForEachList(Of& of, const Use& use) {
  ForEachPart(of, Overloaded{[&](ConstLike<Of, Stages>& list) { use(list); }, Ignore()});
}

void ForEachStage(const Stages& stages, const std::function<void(const Stage&)>& visit);
void ChangeStages(Stages& stages, const std::function<void(Stage&)>& change);
/// Whether `is` holds for one of the stages or of those within them.
bool AnyStage(const Stages& stages, const std::function<bool(const Stage&)>& is);
/// Calls `visit(place, writes)` for every place that a stage and those within it read or write.
using VisitPlace = std::function<void(const Place&, bool)>;
void ForEachPlace(const Stage& stage, const VisitPlace& visit);
void ForEachPlace(const Stages& stages, const VisitPlace& visit);
/// Those that an expression reads.
void ForEachLoad(const ElementPtr& e, const std::function<void(const Place&)>& visit);
/// Every element of an expression, offsets of places included.
using VisitElement = std::function<void(const Element&)>;
void ForEachElement(const ElementPtr& e, const VisitElement& visit);
void ForEachElement(const Stage& stage, const VisitElement& visit);

/// Replaces elements bottom up: `change` gives the new element, or null to keep it.
using Change = std::function<ElementPtr(const ElementPtr&)>;
ElementPtr Changed(const ElementPtr& e, const Change& change);
void ChangeElements(Stage& stage, const Change& change);
void ChangeElements(Stages& stages, const Change& change);
void Append(Stages& to, Stages from);
/// Puts other buffers, or other panels, in place of those that stages name.
void ChangeBuffers(Stages& stages, const std::function<BufferId(BufferId)>& change);
void ChangePanels(Stages& stages, const std::function<PanelsId(PanelsId)>& change);
/// Puts loop `to` in place of `from`.
void RenameLoop(Stage& stage, LoopId from, LoopId to);
void RenameLoop(Place& place, LoopId from, LoopId to);
ElementPtr WithLoop(const ElementPtr& e, LoopId from, LoopId to);

bool Uses(const ElementPtr& e, VariableId variable);

/// The variables to which the stage itself gives a value, and not those within it.
std::vector<VariableId> NamesOf(const Stage& stage);

/// How many turns a loop has, if that is known and not none.
std::optional<int64_t> TurnsOf(const stage::For& loop);

/// The buffers that stages read or write, and those of which they see another shape.
std::set<BufferId> UsedBuffers(const Plan& plan);

/// Whether a value is surely the same in all iterations of whatever loops: a scalar, of which lanes
/// get a copy each.
bool IsUniform(const ElementPtr& e);

/// Whether a statement works on lanes of 64 bits, of which a vector holds half as many.
bool HasWide(const Plan& plan, const Stage& stage);
/// The loop over rows that are taken some at a time, with which the lanes end, if they do.
const stage::EachRow* EachRowOf(const stage::Lanes& lanes);
/// Whether lanes of the loop are neighbours in memory: it runs over the last dimension that the
/// buffer keeps. -1: backwards.
bool AreNeighbours(const Plan& plan, const Place& place, LoopId lanes, int64_t stride = 1);
/// Whether panels are made on some machine: not of an A whose elements are k-groups, which tiles
/// read where it is.
bool NeedsMemory(const Plan& plan, const stage::Pack& pack);

/// The loop along which vectors are computed that are packed out of registers.
LoopId LanesOf(const stage::Pack& pack);
/// Whether a store leaves the sums of a dot in its accumulators.
bool KeepsSums(const Plan& plan, const stage::Dot& dot, const stage::Store& store);

}  // namespace kiln
