#include "generator/planner/fuse/rows/chosen_rows.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// A block of an input as it is in its array, of whole bytes.
bool IsInput(const Plan& plan, BufferId buffer) {
  const Ref* const ref = plan.RefOf(buffer);
  return ref && ref->role == Role::kInput && ref->memory == Memory::kVmem && !ref->block.empty() &&
         plan.operands[plan[buffer].ref].layout == OperandPlan::Layout::kRows &&
         RowOf(ref->dtype).bits >= 8;
}

/// The element of an input that a variable is, be it as an index: the next turn of `row` has the
/// one beside it.
const Place* ChosenBy(const Plan& plan, const stage::Define& define, LoopId row) {
  const Element* value = define.value.get();
  while (const auto* cast = AsOp(*value, Op::kCast)) value = cast->args[0].get();
  const Place* const place = LoadedBy(*value);
  if (!place || place->at.empty() || !IsInput(plan, place->buffer)) return nullptr;
  const bool plain = std::all_of(place->at.begin(), place->at.end(),
                                 [](const Coordinate& c) { return c.loop && c.IsPlain(); });
  return plain && place->at.back().loop == row ? place : nullptr;
}

/// Whether the place is along lanes in a row of an input that nothing but the variable chooses.
bool IsInChosenRow(const Plan& plan, const Place& place, LoopId lanes, VariableId chosen) {
  if (!IsInput(plan, place.buffer) || place.at.size() < 2) return false;
  size_t chosen_by = 0, others = 0;
  for (const Coordinate& c : place.at) {
    const bool is_row = !c.loop && c.offset && IsNamed(*c.offset, chosen);
    chosen_by += is_row;
    others += !is_row && &c != &place.at.back() && (c.loop || c.offset);
  }
  return chosen_by == 1 && others == 0 && place.at.back().loop == lanes &&
         place.at.back().IsPlain();
}

/// The rows that lanes read and `define` chooses, each once.
Stages RequestsFor(const Plan& plan, const Stage& pass, const stage::Define& define,
                   const Place& by) {
  Stages requests;
  std::set<BufferId> known;
  ForEachPlace(pass, [&](const Place& place, bool writes) {
    if (writes || !IsInChosenRow(plan, place, LoopOf(pass), define.variable)) return;
    if (known.insert(place.buffer).second)
      requests.push_back({pass.span, stage::Request{place, LoopOf(pass), define.variable, by}});
  });
  return requests;
}

void Ask(const Plan& plan, Stages& list, LoopId row) {
  for (size_t at = 0; at < list.size(); ++at) {
    const auto* define = As<stage::Define>(list[at]);
    const Place* const by = define ? ChosenBy(plan, *define, row) : nullptr;
    if (!by) continue;
    Stages requests;
    for (size_t later = at + 1; later < list.size(); ++later) {
      if (IsPass(list[later])) Append(requests, RequestsFor(plan, list[later], *define, *by));
    }
    const auto behind = list.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    list.insert(behind, requests.begin(), requests.end());
    at += requests.size();
  }
}

/// Some rows at a time ask before any of their lanes.
void Ask(const Plan& plan, stage::Rows& rows) {
  if (rows.body.empty() || !Is<stage::Lanes>(rows.body.back())) return;
  const Stage& pass = rows.body.back();
  const stage::EachRow* each = nullptr;
  for (const Stage& stage : As<stage::Lanes>(pass)->body)
    if (const auto* of_rows = As<stage::EachRow>(stage)) each = of_rows;
  Stages requests;
  for (size_t at = 0; each && at < each->body.size(); ++at) {
    const auto* define = As<stage::Define>(each->body[at]);
    const Place* const by = define ? ChosenBy(plan, *define, rows.loop) : nullptr;
    if (by) Append(requests, RequestsFor(plan, pass, *define, *by));
  }
  if (requests.empty()) return;
  Stage before{pass.span, stage::EachRow{rows.loop, std::move(requests)}};
  rows.body.insert(rows.body.begin(), std::move(before));
}

}  // namespace

void AskForChosenRows(Plan& plan) {
  for (BodyPlan& body : plan.bodies) {
    ChangeStages(body.stages, [&](Stage& stage) {
      if (auto* loop = As<stage::Loop>(stage)) Ask(plan, loop->body, loop->loop);
      if (auto* rows = As<stage::Rows>(stage)) Ask(plan, *rows);
    });
  }
}

}  // namespace kiln
