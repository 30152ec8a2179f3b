#include "generator/planner/fuse/rows/four_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"
#include "generator/planner/fuse/loops/turn_inside.h"
#include "generator/planner/fuse/rows/shared_windows.h"

namespace kiln {
namespace {

/// What has another value in another row.
class OwnOfRows {
 public:
  OwnOfRows(LoopId row, const Stages& stages) : row_(row) {
    ForEachStage(stages, [&](const Stage& s) {
      if (const auto* assign = As<stage::Assign>(s)) variables_.insert(assign->variable);
    });
    ForEachStage(stages, [&](const Stage& s) {
      const auto* define = As<stage::Define>(s);
      if (define && Has(define->value)) variables_.insert(define->variable);
    });
  }

  bool Has(const ElementPtr& e) const {
    if (!e) return false;
    bool has = DependsOn(*e, row_);
    ForEachElement(e, [&](const Element& x) {
      const auto* named = As<element::Named>(x);
      has = has || (named && variables_.count(named->variable));
    });
    return has;
  }
  bool Has(const Stage& stage) const {
    const auto* define = As<stage::Define>(stage);
    return !define || variables_.count(define->variable);
  }

 private:
  const LoopId row_;
  std::set<VariableId> variables_;
};

/// Whether all rows take as many turns.
bool AreTurnsAlike(const OwnOfRows& own, const Stages& stages) {
  return !AnyStage(stages, [&](const Stage& s) {
    const auto* loop = As<stage::For>(s);
    return loop && (own.Has(loop->low) || own.Has(loop->high));
  });
}

/// Whether a loop is over rows of lanes that go through turns or share windows, and rows may be
/// computed in any order.
bool MayBeFour(const Plan& plan, const stage::Loop& row) {
  if (row.body.size() != 1 || plan.kernel->HasAliases()) return false;
  const auto* lanes = As<stage::Lanes>(row.body.front());
  if (!lanes || plan.SpaceOf(row.loop).extent.Constant().value_or(kFourRows) < kFourRows)
    return false;
  bool turns = false;
  for (const Stage& s : lanes->body) {
    const auto* loop = As<stage::For>(s);
    turns = turns || loop;
    if (loop ? !IsShortTurn(*loop) : !Is<stage::Define, stage::Assign, stage::Store>(s))
      return false;
  }
  if (turns ? !AreTurnsAlike(OwnOfRows(row.loop, lanes->body), lanes->body) : !ShareWindows(row))
    return false;
  return ConflictsOf(plan, row.body, row.body, {row.loop, lanes->loop}).legal;
}

/// The statements of four rows, which share their turns.
class FourRows {
 public:
  FourRows(Plan& plan, LoopId row, const Stages& stages)
      : plan_(plan), row_(row), own_(row, stages) {
    for (int64_t k = 1; k < kFourRows; ++k)
      others_.push_back({plan.loops.Add({plan[row].space}), {}});
  }

  std::vector<LoopId> others() const {
    std::vector<LoopId> loops;
    for (const Other& other : others_) loops.push_back(other.loop);
    return loops;
  }

  Stages Of(const Stages& stages) {
    Stages all;
    for (size_t at = 0; at < stages.size();) {
      if (const auto* loop = As<stage::For>(stages[at])) {
        stage::For together = *loop;
        together.body = Of(loop->body);
        all.push_back({stages[at++].span, std::move(together)});
        continue;
      }
      size_t end = at;
      while (end < stages.size() && !Is<stage::For>(stages[end])) ++end;
      const Stages run(stages.begin() + static_cast<std::ptrdiff_t>(at),
                       stages.begin() + static_cast<std::ptrdiff_t>(end));
      Append(all, ReadOnce(SharesWindows(run) ? Skewed(run) : OneByOne(run)));
      at = end;
    }
    return all;
  }

 private:
  struct Other {
    LoopId loop;
    std::map<VariableId, VariableId> variables;
  };

  /// Whether a row reads what is read for another row as well.
  bool SharesWindows(const Stages& run) const {
    std::vector<Place> places;
    bool shares = false;
    for (const Stage& s : run) {
      ForEachPlace(s, [&](const Place& place, bool writes) {
        if (writes || !DependsOn(*LoadOf(place, DType::kF32), row_)) return;
        for (size_t k = 0; k < others_.size(); ++k) {
          Place other = place;
          RenameLoop(other, row_, others_[k].loop);
          const Place behind = OfFirstRow(other);
          shares = shares || std::any_of(places.begin(), places.end(),
                                         [&](const Place& p) { return SamePlace(p, behind); });
        }
        places.push_back(place);
      });
    }
    return shares;
  }

  Stages OneByOne(const Stages& run) {
    Stages all;
    for (const Stage& stage : run) {
      all.push_back(stage);
      if (!own_.Has(stage)) continue;
      for (Other& other : others_) all.push_back(InOther(other, stage));
    }
    return all;
  }

  /// Each row is one statement behind the one before, so that rows that share a window read the
  /// same element one after the other.
  Stages Skewed(const Stages& run) {
    Stages all;
    for (size_t turn = 0; turn < run.size() + others_.size(); ++turn) {
      if (turn < run.size()) all.push_back(run[turn]);
      for (size_t behind = 1; behind <= others_.size() && behind <= turn; ++behind) {
        const size_t at = turn - behind;
        if (at < run.size() && own_.Has(run[at]))
          all.push_back(InOther(others_[behind - 1], run[at]));
      }
    }
    return all;
  }

  Stage InOther(Other& other, Stage stage) {
    RenameLoop(stage, row_, other.loop);
    if (auto* define = As<stage::Define>(stage)) {
      const Variable copy = plan_[define->variable];
      define->variable = other.variables[define->variable] = plan_.variables.Add(copy);
    }
    if (auto* assign = As<stage::Assign>(stage))
      assign->variable = other.variables.at(assign->variable);
    ChangeElements(stage, [&](const ElementPtr& e) -> ElementPtr {
      const auto* named = As<element::Named>(e);
      const auto found = named ? other.variables.find(named->variable) : other.variables.end();
      return found == other.variables.end() ? nullptr : NamedElement(plan_, found->second);
    });
    return stage;
  }

  /// What several statements read gets a name, and a register: compilers would read it from memory
  /// for each of them.
  Stages ReadOnce(const Stages& run) {
    struct Read {
      Place place;
      int times = 0;
      VariableId name;
    };
    std::vector<Read> reads;
    const auto find = [&](const Place& place) {
      return std::find_if(reads.begin(), reads.end(), [&](const Read& read) {
        return SamePlace(read.place, OfFirstRow(place));
      });
    };
    for (const Stage& s : run) {
      ForEachPlace(s, [&](const Place& place, bool writes) {
        if (writes || Changes(place, run)) return;
        if (find(place) == reads.end()) reads.push_back({OfFirstRow(place), 0, {}});
        ++find(place)->times;
      });
    }
    Stages all;
    for (Stage s : run) {
      ChangeElements(s, [&](const ElementPtr& e) -> ElementPtr {
        const Place* const place = LoadedBy(*e);
        const auto read = place ? find(*place) : reads.end();
        if (read == reads.end() || read->times == 1) return nullptr;
        if (!read->name) {
          read->name = plan_.variables.Add({plan_[place->buffer].name, e->dtype, false});
          all.push_back({s.span, stage::Define{read->name, e, /*held=*/true}});
        }
        return NamedElement(plan_, read->name);
      });
      all.push_back(std::move(s));
    }
    return all;
  }

  /// Whether a statement may store something else there, or changes a variable by which it is
  /// found.
  bool Changes(const Place& place, const Stages& run) const {
    return std::any_of(run.begin(), run.end(), [&](const Stage& s) {
      const auto* store = As<stage::Store>(s);
      if (store) return RootOf(plan_, store->place.buffer) == RootOf(plan_, place.buffer);
      const auto* assign = As<stage::Assign>(s);
      return assign && std::any_of(place.at.begin(), place.at.end(), [&](const Coordinate& c) {
               return Uses(c.offset, assign->variable);
             });
    });
  }

  /// The place as the first row sees it, behind which the others are.
  Place OfFirstRow(Place place) const {
    for (size_t k = 0; k < others_.size(); ++k) {
      place = BehindBy(std::move(place), others_[k].loop, static_cast<int64_t>(k) + 1);
      for (Coordinate& c : place.at) {
        if (c.loop == others_[k].loop) c.loop = row_;
      }
    }
    return place;
  }

  Plan& plan_;
  const LoopId row_;
  const OwnOfRows own_;
  std::vector<Other> others_;
};

/// Whether the elements that a nest stores are no others that it reads, so that rows may be
/// computed again.
bool OnlyWrites(const Plan& plan, const Stages& stages) {
  std::set<BufferId> written, read;
  ForEachPlace(stages, [&](const Place& p, bool writes) {
    (writes ? written : read).insert(RootOf(plan, p.buffer));
  });
  return std::none_of(written.begin(), written.end(),
                      [&](BufferId buffer) { return read.count(buffer) > 0; });
}

/// Whether no rows are left over in any call.
bool AreFours(const Space& rows, bool again) {
  const std::optional<int64_t> extent = rows.extent.Constant();
  return !rows.clipped && extent && (again || *extent % kFourRows == 0);
}

void TakeFour(Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    ForEachList(stage, [&](Stages& list) { TakeFour(plan, list); });
    const auto* row = As<stage::Loop>(stage);
    if (!row || !MayBeFour(plan, *row)) continue;
    Stage nest = row->body.front();
    auto& lanes = *As<stage::Lanes>(nest);
    lanes.prefetches.clear();
    FourRows rows(plan, row->loop, lanes.body);
    lanes.body = rows.Of(lanes.body);
    const bool again = OnlyWrites(plan, row->body);
    Stages rest;
    if (!AreFours(plan.SpaceOf(row->loop), again)) rest = row->body;
    stage.what = stage::Rows{row->loop,     {std::move(nest)}, /*as_lanes=*/false,
                             rows.others(), std::move(rest),   again};
  }
}

}  // namespace

void TakeFourRows(Plan& plan) {
  for (BodyPlan& body : plan.bodies) TakeFour(plan, body.stages);
}

}  // namespace kiln
