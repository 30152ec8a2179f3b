#include "generator/planner/fuse/rows/one_pass.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"

namespace kiln {
namespace {

/// Each fold has four vectors of its own, and a CPU 16 or 32 of them.
constexpr size_t kMostFolds = 4;

/// Joins what may be joined, and says how many elements of each row are loaded once less.
int Join(const Plan& plan, Stages& list);

/// Two stages of a list as one.
struct Joined {
  Stage stage;
  int shared = 0;
};

/// The elements that both passes have at hand, of those along their loop that the second reads.
int SharedReads(const Stage& first, const Stage& second, LoopId loop) {
  std::vector<Place> shared;
  ForEachPlace(second, [&](const Place& place, bool writes) {
    const auto is_place = [&](const Place& other) { return SamePlace(place, other); };
    const bool walks = std::any_of(place.at.begin(), place.at.end(),
                                   [&](const Coordinate& c) { return c.loop == loop; });
    if (writes || !walks || std::any_of(shared.begin(), shared.end(), is_place)) return;
    bool touched = false;
    ForEachPlace(first, [&](const Place& other, bool) { touched = touched || is_place(other); });
    if (touched) shared.push_back(place);
  });
  return static_cast<int>(shared.size());
}

/// Whether a fold's value is other than before once statements come first that came after it.
bool Changes(const Plan& plan, const Fold& fold, const Stages& statements) {
  const Stage value{fold.span, stage::Assign{fold.variable, fold.value}};
  return ConflictsOf(plan, {value}, statements).any;
}

std::optional<Joined> JoinPasses(const Plan& plan, Stage first, Stage second) {
  auto& into = *As<stage::Reduce>(first);
  auto& from = *As<stage::Reduce>(second);
  const auto is_alone = [](const Fold& fold) { return RowOf(fold.op).lane_fold.empty(); };
  for (const stage::Reduce* pass : {&into, &from}) {
    if (std::any_of(pass->folds.begin(), pass->folds.end(), is_alone)) return {};
  }
  // Lanes of 64 bits are half as many, which is another order of a sum.
  if (HasWide(plan, first) != HasWide(plan, second)) return {};
  if (into.folds.size() + from.folds.size() > kMostFolds) return {};
  if (std::any_of(into.folds.begin(), into.folds.end(),
                  [&](const Fold& fold) { return Changes(plan, fold, from.body); }))
    return {};
  const int shared = SharedReads(first, second, into.loop);
  if (shared == 0) return {};
  Append(into.body, std::move(from.body));
  into.folds.insert(into.folds.end(), from.folds.begin(), from.folds.end());
  return Joined{std::move(first), shared};
}

/// Worth it only for passes within them.
std::optional<Joined> JoinLoops(const Plan& plan, Stage first, Stage second) {
  Stages& body = As<stage::Loop>(first)->body;
  Append(body, std::move(As<stage::Loop>(second)->body));
  const int shared = Join(plan, body);
  return shared == 0 ? std::nullopt : std::optional(Joined{std::move(first), shared});
}

/// One stage in place of both; none: one of them needs what the other one has found, or nothing is
/// gained.
std::optional<Joined> JoinBoth(const Plan& plan, const Stage& first, const Stage& second) {
  const bool passes = Is<stage::Reduce>(first) && Is<stage::Reduce>(second);
  const bool loops = Is<stage::Loop>(first) && Is<stage::Loop>(second);
  if (!(passes || loops) || !SameSpace(plan, LoopOf(first), LoopOf(second))) return {};
  const LoopId loop = LoopOf(first);
  Stage renamed = second;
  RenameLoop(renamed, LoopOf(second), loop);
  if (UsesNamesOf(renamed, first) || UsesNamesOf(first, renamed)) return {};
  if (!ConflictsOf(plan, {first}, {renamed}, {loop}).legal) return {};
  return passes ? JoinPasses(plan, first, std::move(renamed))
                : JoinLoops(plan, first, std::move(renamed));
}

/// What has to go in front of the stage at `first` before the one at `second` may go there: all
/// between them that it needs. None: some of that needs the stage at `first`.
std::optional<std::vector<size_t>> NeededBetween(const Plan& plan, const Stages& list, size_t first,
                                                 size_t second) {
  std::vector<size_t> needed;
  for (size_t k = second; k-- > first + 1;) {
    const auto needs_it = [&](size_t later) { return !Independent(plan, list[k], list[later]); };
    if (!needs_it(second) && std::none_of(needed.begin(), needed.end(), needs_it)) continue;
    if (!Independent(plan, list[first], list[k])) return {};
    needed.insert(needed.begin(), k);
  }
  return needed;
}

/// Two stages that may become one, and how.
struct Pair {
  size_t first, second;
  std::vector<size_t> needed;
  Joined joined;
};

/// The pair with the most elements in common, and of those the one that is closest together.
std::optional<Pair> BestPair(const Plan& plan, const Stages& list) {
  std::optional<Pair> best;
  for (size_t second = 1; second < list.size(); ++second) {
    if (!MayBePassed(list[second])) continue;
    for (size_t first = second; first-- > 0 && MayBePassed(list[first]);) {
      std::optional<Joined> joined = JoinBoth(plan, list[first], list[second]);
      if (!joined || (best && joined->shared <= best->joined.shared)) continue;
      auto needed = NeededBetween(plan, list, first, second);
      if (needed) best = Pair{first, second, std::move(*needed), std::move(*joined)};
    }
  }
  return best;
}

int Join(const Plan& plan, Stages& list) {
  int shared = 0;
  for (Stage& stage : list) ForEachList(stage, [&](Stages& inner) { shared += Join(plan, inner); });
  while (const std::optional<Pair> pair = BestPair(plan, list)) {
    shared += pair->joined.shared;
    list[pair->first] = pair->joined.stage;
    Stages moved;
    for (const size_t k : pair->needed) moved.push_back(list[k]);
    std::vector<size_t> gone = pair->needed;
    gone.push_back(pair->second);
    for (; !gone.empty(); gone.pop_back())
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(gone.back()));
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(pair->first), moved.begin(),
                moved.end());
  }
  return shared;
}

}  // namespace

void ReduceInOnePass(const Plan& plan, Stages& stages) { Join(plan, stages); }

}  // namespace kiln
