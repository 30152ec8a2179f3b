#include "generator/planner/fuse/conflicts.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

struct Touched {
  Place place;
  bool writes;
};

std::vector<Touched> TouchedBy(const Stages& stages) {
  std::vector<Touched> all;
  ForEachPlace(stages, [&](const Place& place, bool writes) { all.push_back({place, writes}); });
  return all;
}

/// Whether two places are never the same element in different iterations of `loop`.
bool ApartBy(LoopId loop, const Place& a, const Place& b) {
  if (a.at.size() != b.at.size() || a.buffer != b.buffer) return false;
  for (size_t d = 0; d < a.at.size(); ++d) {
    const Coordinate &x = a.at[d], &y = b.at[d];
    if (x.loop == loop && y.loop == loop && !x.around && !y.around && x.stride == y.stride &&
        SameElement(x.offset, y.offset)) {
      return true;
    }
  }
  return false;
}

/// The constant that a coordinate adds to what its loop makes; nullopt: it is none.
std::optional<int64_t> ConstantOffset(const Coordinate& c) {
  if (c.around) return std::nullopt;
  if (!c.offset) return 0;
  const auto* offset = As<element::Constant>(c.offset);
  return offset ? std::optional(offset->int_value) : std::nullopt;
}

/// An offset as a size; nullopt: it is more than sums and products of extents.
std::optional<Size> SizeOfOffset(const Plan& plan, const ElementPtr& offset) {
  if (!offset) return Size(0);
  if (const auto* constant = As<element::Constant>(offset)) return Size(constant->int_value);
  if (const auto* extent = As<element::Extent>(offset)) {
    Node dim;
    dim.op = Op::kDim;
    dim.dtype = DType::kIndex;
    dim.index = extent->dim.number();
    return SizeOf(std::make_shared<const Node>(dim), *plan.kernel);
  }
  const auto* operation = As<element::Operation>(offset);
  if (!operation || operation->args.size() != 2) return std::nullopt;
  const std::optional<Size> x = SizeOfOffset(plan, operation->args[0]);
  const std::optional<Size> y = SizeOfOffset(plan, operation->args[1]);
  if (!x || !y) return std::nullopt;
  if (operation->op == Op::kAdd) return *x + *y;
  if (operation->op == Op::kSub) return *x - *y;
  if (operation->op == Op::kMul) return *x * *y;
  return std::nullopt;
}

/// Whether what `low` walks over in a dimension ends before `high` begins, in any call.
bool EndsBefore(const Plan& plan, const Coordinate& low, const Coordinate& high) {
  if (low.around || high.around || low.stride < 0 || high.stride < 0) return false;
  const std::optional<Size> begin = SizeOfOffset(plan, low.offset);
  const std::optional<Size> next = SizeOfOffset(plan, high.offset);
  if (!begin || !next) return false;
  const Size count = low.loop ? plan.SpaceOf(low.loop).extent : Size(1);
  const std::optional<int64_t> between =
      (*next - (*begin + Size(low.stride) * (count - Size(1)))).Constant();
  return between && *between > 0;
}

}  // namespace

bool AreApart(const Plan& plan, const Place& a, const Place& b) {
  if (a.buffer != b.buffer) return false;
  for (size_t d = 0; d < a.at.size(); ++d) {
    if (!a.at[d].offset && !b.at[d].offset) continue;  // both begin with 0
    if (EndsBefore(plan, a.at[d], b.at[d]) || EndsBefore(plan, b.at[d], a.at[d])) return true;
    const std::optional<int64_t> x = ConstantOffset(a.at[d]), y = ConstantOffset(b.at[d]);
    if (!x || !y) continue;
    const int64_t step =
        std::gcd(a.at[d].loop ? a.at[d].stride : 0, b.at[d].loop ? b.at[d].stride : 0);
    if (step == 0 ? *x != *y : (*x - *y) % step != 0) return true;
  }
  return false;
}

Conflicts ConflictsOf(const Plan& plan, const Stages& first, const Stages& second,
                      const std::vector<LoopId>& loops) {
  Conflicts found;
  const std::vector<Touched> a = TouchedBy(first), b = TouchedBy(second);
  for (const Touched& x : a) {
    for (const Touched& y : b) {
      if (!x.writes && !y.writes) continue;
      if (RootOf(plan, x.place.buffer) != RootOf(plan, y.place.buffer)) continue;
      if (AreApart(plan, x.place, y.place)) continue;
      found.any = true;
      for (const LoopId loop : loops) found.legal = found.legal && ApartBy(loop, x.place, y.place);
    }
  }
  return found;
}

bool UsesNamesOf(const Stage& user, const Stage& of) {
  bool uses = false;
  ForEachStage({of}, [&](const Stage& s) {
    for (const VariableId name : NamesOf(s))
      ForEachElement(user, [&](const Element& e) { uses = uses || IsNamed(e, name); });
  });
  return uses;
}

namespace {

std::set<PanelsId> PanelsOf(const Stage& of) {
  std::set<PanelsId> all;
  ForEachStage({of}, [&](const Stage& s) {
    ForEachPart(s, Overloaded{[&](PanelsId panels) { all.insert(panels); }, Ignore()});
  });
  all.erase(PanelsId());
  return all;
}

/// Whether one packs what the other multiplies.
bool SharePanels(const Stage& a, const Stage& b) {
  const std::set<PanelsId> of_a = PanelsOf(a), of_b = PanelsOf(b);
  return std::any_of(of_a.begin(), of_a.end(), [&](PanelsId panels) { return of_b.count(panels); });
}

}  // namespace

bool Independent(const Plan& plan, const Stage& a, const Stage& b) {
  return !ConflictsOf(plan, {a}, {b}).any && !UsesNamesOf(a, b) && !UsesNamesOf(b, a) &&
         !SharePanels(a, b);
}

bool MayBePassed(const Stage& stage) {
  return !AnyStage({stage}, [](const Stage& s) {
    return !Is<stage::Loop, stage::Lanes, stage::Reduce, stage::Define, stage::Assign, stage::Store,
               stage::Pack, stage::Dot, stage::Tap>(s);
  });
}

namespace {

/// `for row { …; for lane { … } }` of elements alone: names of a row, then its lanes.
bool IsOfElements(const stage::Loop& row) {
  if (row.body.empty()) return false;
  const auto defines = [](const Stage& s) { return Is<stage::Define>(s); };
  const auto* lanes = As<stage::Lanes>(row.body.back());
  return lanes && std::all_of(row.body.begin(), row.body.end() - 1, defines) &&
         std::all_of(lanes->body.begin(), lanes->body.end(),
                     [](const Stage& s) { return Is<stage::Define, stage::Store>(s); });
}

/// Whether lanes are in different rows of the buffer, and neighbours are in different turns of
/// `row`.
bool GoesAcross(const Place& place, LoopId row, LoopId lanes) {
  if (place.at.size() < 2 || place.at.back().loop != row || place.at.back().stride != 1)
    return false;
  return std::any_of(place.at.begin(), place.at.end() - 1,
                     [&](const Coordinate& c) { return c.loop == lanes; });
}

}  // namespace

bool RunsAcross(const Plan& plan, const stage::Loop& row) {
  if (!IsOfElements(row) || plan.kernel->HasAliases()) return false;
  const LoopId lanes = LoopOf(row.body.back());
  bool loads = false, stores = false;
  ForEachPlace(row.body.back(), [&](const Place& p, bool writes) {
    (writes ? stores : loads) |= GoesAcross(p, row.loop, lanes);
  });
  return loads && !stores && ConflictsOf(plan, row.body, row.body, {row.loop, lanes}).legal;
}

}  // namespace kiln
