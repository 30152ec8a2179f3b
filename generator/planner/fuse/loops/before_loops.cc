#include "generator/planner/fuse/loops/before_loops.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"

namespace kiln {
namespace {

/// Nothing that waits, or writes where only running it shows.
bool IsPlainLoop(const stage::For& loop) {
  return !AnyStage(loop.body, [](const Stage& s) {
    return !Is<stage::Loop, stage::Lanes, stage::Reduce, stage::Define, stage::Assign, stage::Store,
               stage::Pack, stage::Dot, stage::Tap, stage::Along, stage::If, stage::For,
               stage::Range, stage::Assert, stage::Touch>(s);
  });
}

/// Whether the stage does nothing but compute a value of the body's own, element by element, or
/// pack one, of which nothing is to be checked.
bool IsValue(const Plan& plan, const Stage& stage) {
  const auto* pack = As<stage::Pack>(stage);
  if (pack ? pack->value || pack->low || pack->high || pack->live : !IsNest(stage)) return false;
  bool value = !AnyStage({stage}, [](const Stage& s) {
    const auto* store = As<stage::Store>(s);
    return !Is<stage::Loop, stage::Lanes, stage::Define, stage::Store, stage::Pack>(s) ||
           (store && store->mask);
  });
  ForEachPlace(stage, [&](const Place& place, bool writes) {
    value = value && (!writes || IsTemp(plan, place.buffer)) &&
            std::all_of(place.at.begin(), place.at.end(),
                        [](const Coordinate& c) { return !c.offset && !c.around; });
  });
  return value;
}

/// The memory that stages read and write.
struct Memory {
  Memory(const Plan& plan, const Stage& stage) {
    ForEachPlace(stage, [&](const Place& place, bool is_written) {
      (is_written ? writes : reads).insert(RootOf(plan, place.buffer));
    });
  }
  std::set<BufferId> reads, writes;
};

bool Meet(const std::set<BufferId>& a, const std::set<BufferId>& b) {
  return std::any_of(a.begin(), a.end(), [&](BufferId buffer) { return b.count(buffer) > 0; });
}

class Values {
 public:
  explicit Values(const Plan& plan) : plan_(plan) {}

  /// `turns`: of all loops around the stages.
  void List(Stages& stages, int64_t turns) {
    for (size_t i = 0; i < stages.size(); ++i) {
      auto* loop = As<stage::For>(stages[i]);
      const std::optional<int64_t> own = loop ? TurnsOf(*loop) : std::nullopt;
      ForEachList(stages[i], [&](Stages& list) { List(list, turns * own.value_or(1)); });
      if (!own || *own == 1 || !IsPlainLoop(*loop)) continue;
      Stages before = TakenFrom(*loop, turns * *own);
      const auto count = static_cast<std::ptrdiff_t>(before.size());
      stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(i),
                    std::make_move_iterator(before.begin()), std::make_move_iterator(before.end()));
      i += static_cast<size_t>(count);
    }
  }

 private:
  Stages TakenFrom(stage::For& loop, int64_t turns) const {
    Stages taken;
    for (size_t j = 0; j < loop.body.size();) {
      if (!IsSameInAllTurns(loop, j) || IsForFew(loop, loop.body[j], turns)) {
        ++j;
        continue;
      }
      const auto at = loop.body.begin() + static_cast<std::ptrdiff_t>(j);
      taken.push_back(std::move(*at));
      loop.body.erase(at);
    }
    return taken;
  }

  bool IsSameInAllTurns(const stage::For& loop, size_t j) const {
    const Stage& stage = loop.body[j];
    if (!IsValue(plan_, stage)) return false;
    bool same = true;
    ForEachElement(stage, [&](const Element& e) { same = same && !IsNamed(e, loop.variable); });
    const Memory own(plan_, stage);
    same = same && !Meet(own.reads, own.writes);
    for (size_t k = 0; same && k < loop.body.size(); ++k) {
      if (k == j) continue;
      const Memory other(plan_, loop.body[k]);
      same = !UsesNamesOf(stage, loop.body[k]) && !Meet(own.reads, other.writes) &&
             !Meet(own.writes, other.writes) && (k > j || !Meet(own.writes, other.reads));
    }
    return same;
  }

  /// Whether it is a B of which so few rows may be multiplied in all turns that they rather read it
  /// where it is, or as it is computed, in each.
  bool IsForFew(const stage::For& loop, const Stage& stage, int64_t turns) const {
    constexpr int64_t kFewRows = 64, kEnoughTurns = 8;  // of a row or more
    const auto* pack = As<stage::Pack>(stage);
    if (!pack || plan_[pack->panels].side == Side::kA) return false;
    return AnyStage(loop.body, [&](const Stage& s) {
      const auto* dot = As<stage::Dot>(s);
      if (!dot || dot->b.panels != pack->panels) return false;
      const std::optional<int64_t> rows = plan_.SpaceOf(dot->row).extent.Constant();
      return rows ? *rows * turns <= kFewRows : turns < kEnoughTurns;
    });
  }

  const Plan& plan_;
};

}  // namespace

void ComputeBeforeLoops(Plan& plan, Stages& stages) {
  if (!plan.kernel->HasAliases()) Values(plan).List(stages, 1);
}

}  // namespace kiln
