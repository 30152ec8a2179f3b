#include "generator/planner/decide/live_rows.h"

#include <algorithm>
#include <optional>

#include "generator/plan/walk.h"
#include "generator/planner/decide/mask_bounds.h"

namespace kiln {
namespace {

class LiveRows {
 public:
  explicit LiveRows(const Plan& plan) : plan_(plan) {}

  /// Of a body's only dot; empty where there is another, or where nothing bounds its rows.
  MaskBounds Of(const BodyPlan& body) const {
    const stage::Dot* dot = nullptr;
    for (const Stage& s : body.stages) {
      const auto* own = As<stage::Dot>(s);
      if (own && (dot || !own->taps.empty())) return {};
      if (own) dot = own;
    }
    if (dot == nullptr || dot->body.empty()) return {};
    std::optional<MaskBounds> rows;
    for (const Stage& s : dot->body) {
      if (Is<stage::Define>(s)) continue;
      const auto* store = As<stage::Store>(s);
      if (!store || !store->mask) return {};
      const MaskBounds own = BoundsOf(plan_, Resolved(store->mask, dot->body), dot->row);
      const bool same =
          !rows || (SameElement(rows->low, own.low) && SameElement(rows->high, own.high));
      if (!same) return {};
      rows = own;
    }
    return rows.value_or(MaskBounds{});
  }

 private:
  /// The value of a variable that the dot's own statements define.
  static ElementPtr Resolved(const ElementPtr& e, const Stages& stages) {
    for (const Stage& s : stages) {
      const auto* define = As<stage::Define>(s);
      if (define && IsNamed(*e, define->variable)) return define->value;
    }
    return e;
  }

  const Plan& plan_;
};

}  // namespace

void FindLiveRows(Plan& plan) {
  // Of the steps of a stay nothing says that they have the same rows.
  if (!plan.accumulator || plan.reduction_stay) return;
  const LiveRows live(plan);
  // Sums that no mask guards are needed for all rows: the others' rows go by those that finish.
  std::optional<MaskBounds> rows;
  for (const BodyPlan& body : plan.bodies) {
    if (body.name != "SingleStep" && body.name != "Last") continue;
    const MaskBounds own = live.Of(body);
    if (rows && !(SameElement(rows->low, own.low) && SameElement(rows->high, own.high))) return;
    rows = own;
  }
  if (!rows || (!rows->low && !rows->high)) return;
  for (BodyPlan& body : plan.bodies) {
    for (Stage& s : body.stages) {
      auto* dot = As<stage::Dot>(s);
      if (!dot) continue;
      dot->low = rows->low;
      dot->high = rows->high;
    }
  }
}

}  // namespace kiln
