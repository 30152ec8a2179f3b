#pragma once

#include <functional>
#include <vector>

#include "generator/plan/plan.h"

/// Looking through stages and changing what they hold.
namespace kiln {

/// The buffer of which this is another shape, or the buffer itself.
int RootOf(const Plan& plan, int buffer);
/// Whether it is no operand and no scratch of the spec.
inline bool IsTemp(const Plan& plan, int buffer) {
  return plan.buffers[static_cast<size_t>(buffer)].ref < 0;
}

/// One pass over a row, by vectors.
inline bool IsPass(const Stage& stage) {
  return stage.kind == Stage::Kind::kLanes || stage.kind == Stage::Kind::kReduce;
}

/// Whether two loops have the same iterations.
inline bool SameSpace(const Plan& plan, int a, int b) {
  return plan.loops[static_cast<size_t>(a)] == plan.loops[static_cast<size_t>(b)];
}

void ForEachStage(const Stages& stages, const std::function<void(const Stage&)>& visit);
void ChangeStages(Stages& stages, const std::function<void(Stage&)>& change);
/// Calls `visit(place, writes)` for every place that a stage and those within it read or write.
void ForEachPlace(const Stage& stage, const std::function<void(const Place&, bool)>& visit);
void ForEachPlace(const Stages& stages, const std::function<void(const Place&, bool)>& visit);
/// Those that an expression reads.
void ForEachLoad(const ElementPtr& e, const std::function<void(const Place&)>& visit);
/// Every element of an expression, offsets of places included.
void ForEachElement(const ElementPtr& e, const std::function<void(const Element&)>& visit);
void ForEachElement(const Stage& stage, const std::function<void(const Element&)>& visit);

/// Replaces elements bottom up: `change` gives the new element, or null to keep it.
using Change = std::function<ElementPtr(const ElementPtr&)>;
ElementPtr Changed(const ElementPtr& e, const Change& change);
void ChangeElements(Stage& stage, const Change& change);
void ChangeElements(Stages& stages, const Change& change);
void Append(Stages& to, Stages from);
/// Puts other buffers, or other panels, in place of those that stages name.
using Renumber = std::function<int(int)>;
void ChangeBuffers(Stages& stages, const Renumber& change);
void ChangePanels(Stages& stages, const Renumber& change);
/// Puts loop `to` in place of `from`.
void RenameLoop(Stage& stage, int from, int to);

bool Uses(const ElementPtr& e, int variable);

}  // namespace kiln
