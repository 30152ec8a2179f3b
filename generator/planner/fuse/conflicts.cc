#include "generator/planner/fuse/conflicts.h"

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

}  // namespace

Conflicts ConflictsOf(const Plan& plan, const Stages& first, const Stages& second,
                      const std::vector<LoopId>& loops) {
  Conflicts found;
  const std::vector<Touched> a = TouchedBy(first), b = TouchedBy(second);
  for (const Touched& x : a) {
    for (const Touched& y : b) {
      if (!x.writes && !y.writes) continue;
      if (RootOf(plan, x.place.buffer) != RootOf(plan, y.place.buffer)) continue;
      found.any = true;
      for (const LoopId loop : loops) found.legal = found.legal && ApartBy(loop, x.place, y.place);
    }
  }
  return found;
}

bool UsesNamesOf(const Stage& user, const Stage& of) {
  bool uses = false;
  ForEachStage({of}, [&](const Stage& s) {
    const auto* define = As<stage::Define>(s);
    const auto* assign = As<stage::Assign>(s);
    const auto* reduce = As<stage::Reduce>(s);
    const VariableId name = define   ? define->variable
                            : assign ? assign->variable
                            : reduce ? reduce->variable
                                     : VariableId();
    if (!name) return;
    ForEachElement(user, [&](const Element& e) {
      const auto* named = As<element::Named>(e);
      uses = uses || (named && named->variable == name);
    });
  });
  return uses;
}

}  // namespace kiln
