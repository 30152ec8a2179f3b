#include "generator/planner/fuse/rows/split_rows.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/rows/halves.h"

namespace kiln {
namespace {

/// Longer rows have more to do than to wait.
constexpr int64_t kMostLanes = 1024;
/// Of an input, which may come from memory, at most so many: memory, too, would rest between the
/// halves, and of f32 it has more to do than the core has.
constexpr int64_t kMostLanesOfInput = 256;

bool UsesAny(const Stage& stage, const std::set<VariableId>& names) {
  bool uses = false;
  ForEachElement(stage, [&](const Element& e) {
    const auto* named = As<element::Named>(e);
    uses = uses || (named && names.count(named->variable));
  });
  return uses;
}

/// Whether to read a row of so many lanes in two loops takes less than to wait for its reduction:
/// one that a product has left in memory, or a short one of a narrow input.
bool MayReadAgain(const Plan& plan, const Place& place, int64_t lanes) {
  const bool is_short = lanes <= kMostLanesOfInput && RowOf(plan[place.buffer].dtype).bits <= 16;
  return IsTemp(plan, place.buffer) || is_short;
}

/// A reduction of rows that may be read again, of which there are few between the halves: a known
/// number, or those within what is a row itself.
bool ReducesRows(const Plan& plan, const Stage& stage, LoopId row, bool within) {
  const auto* reduce = As<stage::Reduce>(stage);
  if (!reduce || !std::all_of(reduce->body.begin(), reduce->body.end(),
                              [](const Stage& s) { return Is<stage::Define>(s); }))
    return false;
  const std::optional<int64_t> rows = plan.SpaceOf(row).extent.Constant();
  const std::optional<int64_t> lanes = plan.SpaceOf(reduce->loop).extent.Constant();
  if (!(rows || within) || !lanes || *lanes > kMostLanes) return false;
  if (rows && *rows * *lanes > kMostInBothHalves) return false;
  bool may = true;
  ForEachPlace({stage}, [&](const Place& p, bool) { may = may && MayReadAgain(plan, p, *lanes); });
  return may;
}

/// The first pass that goes on with what the reduction at `from` has found.
std::optional<size_t> PassAfter(const Stages& body, size_t from) {
  const std::vector<VariableId> found = NamesOf(body[from]);
  std::set<VariableId> names(found.begin(), found.end());
  for (size_t i = from + 1; i < body.size(); ++i) {
    if (!UsesAny(body[i], names)) continue;
    if (IsPass(body[i])) return i;
    for (const VariableId name : NamesOf(body[i])) names.insert(name);
  }
  return std::nullopt;
}

/// Where the first half ends; 0: nowhere. `within`: the loop is within another one.
size_t FindCut(const Plan& plan, const stage::Loop& loop, bool within) {
  for (size_t i = 0; IsOfRows(loop) && i < loop.body.size(); ++i) {
    if (!ReducesRows(plan, loop.body[i], loop.loop, within)) continue;
    const std::optional<size_t> cut = PassAfter(loop.body, i);
    if (cut && MayCut(plan, loop, *cut)) return *cut;
  }
  return 0;
}

void SplitRows(Plan& plan, Stages& stages, bool within) {
  for (size_t i = 0; i < stages.size(); ++i) {
    ForEachList(stages[i],
                [&](Stages& list) { SplitRows(plan, list, within || Is<stage::Loop>(stages[i])); });
    auto* loop = As<stage::Loop>(stages[i]);
    if (!loop) continue;
    const size_t cut = FindCut(plan, *loop, within);
    if (cut == 0) continue;
    Stage half = CutOff(plan, *loop, cut, stages[i].span);
    stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(i + 1), std::move(half));
  }
}

}  // namespace

void SplitRows(Plan& plan, Stages& stages) { SplitRows(plan, stages, /*within=*/false); }

}  // namespace kiln
