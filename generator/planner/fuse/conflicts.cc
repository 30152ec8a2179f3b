#include "generator/planner/fuse/conflicts.h"

#include <numeric>
#include <optional>

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

}  // namespace

bool AreApart(const Place& a, const Place& b) {
  if (a.buffer != b.buffer) return false;
  for (size_t d = 0; d < a.at.size(); ++d) {
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
      if (AreApart(x.place, y.place)) continue;
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

bool Independent(const Plan& plan, const Stage& a, const Stage& b) {
  return !ConflictsOf(plan, {a}, {b}).any && !UsesNamesOf(a, b) && !UsesNamesOf(b, a);
}

bool MayBePassed(const Stage& stage) {
  return !AnyStage({stage}, [](const Stage& s) {
    return !Is<stage::Loop, stage::Lanes, stage::Reduce, stage::Define, stage::Assign, stage::Store,
               stage::Pack, stage::Dot, stage::Tap>(s);
  });
}

}  // namespace kiln
