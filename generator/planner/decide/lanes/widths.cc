#include "generator/planner/decide/lanes/widths.h"

#include <algorithm>
#include <set>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// Whether a pass may take the even lanes of a line and then its odd ones, and whether it gains.
class EvenOdd {
 public:
  EvenOdd(const Plan& plan, LoopId lanes) : plan_(plan), lanes_(lanes) {}

  void Take(const Stages& stages) {
    for (const Stage& s : stages) {
      for (const VariableId v : NamesOf(s)) made_.insert(v);
      if (const auto* turns = As<stage::For>(s)) {
        TakeTurns(turns->body);
      } else if (const auto* each = As<stage::EachRow>(s)) {
        may_ = may_ && each->columns.empty();
        TakeTurns(each->body);
      } else {
        const auto* store = As<stage::Store>(s);
        may_ = may_ && Is<stage::Define, stage::Assign, stage::Store>(s) &&
               !(store && (store->mask || !store->row.empty()));
        ForEachPlace(s, [&](const Place& place, bool writes) { Take(place, writes); });
      }
    }
  }

  void Take(const Fold& fold) {
    may_ = may_ && ClassOf(fold.op) != OpClass::kLocation && fold.op != Op::kAny &&
           fold.op != Op::kAll;
    ForEachLoad(fold.value, [&](const Place& place) { Take(place, false); });
  }

  bool IsWorthIt() const { return may_ && left_ <= kMostLeft && gain_ > 0; }

 private:
  static constexpr int kMostLeft = 8;  // LeftForOdd::kMost

  /// What the even lanes of one turn leave would be for the odd lanes of the same turn. (A row of
  /// some that are added up counts once: from memory they are taken one by one.)
  void TakeTurns(const Stages& body) {
    const int left = left_;
    Take(body);
    may_ = may_ && left_ == left;
  }

  bool Varies(const Place& place) const {
    return std::any_of(place.at.begin(), place.at.end(), [&](const Coordinate& c) {
      return c.loop == lanes_ || (c.offset && IsChosen(c.offset));
    });
  }
  bool IsChosen(const ElementPtr& offset) const {
    bool chosen = DependsOn(*offset, lanes_);
    for (const VariableId v : made_) chosen = chosen || Uses(offset, v);
    return chosen;
  }

  /// Of what all lanes have in common a load is a scalar.
  void Take(const Place& place, bool writes) {
    if (!Varies(place)) {
      may_ = may_ && !writes;
      return;
    }
    const DType dtype = plan_[place.buffer].dtype;
    const int bits = RowOf(dtype).bits;
    const BufferId root = RootOf(plan_, place.buffer);
    may_ = may_ && AreNeighbours(plan_, place, lanes_) && !plan_.IsAccumulator(place.buffer) &&
           dtype != DType::kBool && bits >= 8 && bits <= 32 && !(written_.count(root) && !writes);
    for (const Coordinate& c : place.at)
      may_ = may_ && !(c.around && c.loop == lanes_) && !(c.offset && IsChosen(c.offset));
    if (writes) {
      written_.insert(root);
    } else {
      for (const Place& other : read_) {
        if (SamePlace(other, place)) return;
      }
      read_.push_back(place);
    }
    // As measured (docs/notes/performance.md): a load of bf16 gains more than a store, others lose.
    const bool narrow = dtype == DType::kBF16;
    left_ += writes || !narrow;
    gain_ += narrow ? (writes ? 2 : 3) : (writes ? -3 : -2);
  }

  const Plan& plan_;
  const LoopId lanes_;
  std::set<VariableId> made_;
  std::set<BufferId> written_;
  std::vector<Place> read_;
  int gain_ = 0, left_ = 0;
  bool may_ = true;
};

Vectors VectorsOf(const Plan& plan, const Stage& pass, const std::vector<Fold>& folds) {
  if (HasWide(plan, pass)) return Vectors::kDoubles;
  EvenOdd halves(plan, LoopOf(pass));
  halves.Take(*BodyOf(pass));
  for (const Fold& fold : folds) halves.Take(fold);
  return halves.IsWorthIt() ? Vectors::kEvenOdd : Vectors::kFloats;
}

}  // namespace

void FindVectors(Plan& plan) {
  for (BodyPlan& body : plan.bodies) {
    ChangeStages(body.stages, [&](Stage& stage) {
      if (auto* lanes = As<stage::Lanes>(stage)) lanes->by = VectorsOf(plan, stage, {});
      if (auto* reduce = As<stage::Reduce>(stage))
        reduce->by = VectorsOf(plan, stage, reduce->folds);
    });
  }
}

}  // namespace kiln
