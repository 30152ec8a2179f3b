#include "generator/plan/walk.h"

#include <iterator>

namespace kiln {
namespace {

void ChangeOffsets(Place& place, const Change& change) {
  for (Coordinate& c : place.at) c.offset = Changed(c.offset, change);
}

/// Calls `use` with each place of the stages: those that are loaded and those of prefetches, too.
void ChangePlaces(Stages& stages, const std::function<void(Place&)>& use) {
  ChangeElements(stages, [&](const ElementPtr& e) -> ElementPtr {
    const Place* loaded = LoadedBy(*e);
    if (!loaded) return nullptr;
    Place place = *loaded;
    use(place);
    return LoadOf(std::move(place), e->dtype);
  });
  ChangeStages(stages, [&](Stage& stage) {
    ForEachPart(stage, Overloaded{[&](Place& place, Access) { use(place); },
                                  [&](Prefetch& prefetch) { use(prefetch.place); }, Ignore()});
  });
}

}  // namespace

BufferId RootOf(const Plan& plan, BufferId buffer) {
  while (plan[buffer].same_as) buffer = plan[buffer].same_as;
  return buffer;
}

LoopId LoopOf(const Stage& stage) {
  using namespace stage;
  return Match(
      stage, [](const OneOf<stage::Loop, Lanes, Rows, EachRow, Reduce> auto& s) { return s.loop; },
      [](const OneOf<AtEdges, Define, Assign, Store, Dot, Tap, Pack, Along, Request, If, For, While,
                     Assert, Range, Touch, Copy, Wait> auto&) { return LoopId(); });
}

const Stages* BodyOf(const Stage& stage) {
  using namespace stage;
  return Match(
      stage,
      [](const OneOf<stage::Loop, Lanes, Rows, EachRow, AtEdges, Reduce, Dot, If, For, While> auto&
             s) { return &s.body; },
      [](const OneOf<Define, Assign, Store, Tap, Pack, Along, Request, Assert, Range, Touch, Copy,
                     Wait> auto&) { return static_cast<const Stages*>(nullptr); });
}

Stages* BodyOf(Stage& stage) {
  return const_cast<Stages*>(BodyOf(static_cast<const Stage&>(stage)));
}

void ForEachStage(const Stages& stages, const std::function<void(const Stage&)>& visit) {
  for (const Stage& stage : stages) {
    visit(stage);
    ForEachList(stage, [&](const Stages& list) { ForEachStage(list, visit); });
  }
}

void ChangeStages(Stages& stages, const std::function<void(Stage&)>& change) {
  for (Stage& stage : stages) {
    change(stage);
    ForEachList(stage, [&](Stages& list) { ChangeStages(list, change); });
  }
}

bool AnyStage(const Stages& stages, const std::function<bool(const Stage&)>& is) {
  bool any = false;
  ForEachStage(stages, [&](const Stage& stage) { any = any || is(stage); });
  return any;
}

void ForEachElement(const ElementPtr& e, const VisitElement& visit) {
  if (!e) return;
  visit(*e);
  ForEachPart(*e, [&](const ElementPtr& part) { ForEachElement(part, visit); });
}

void ForEachElement(const Stage& stage, const VisitElement& visit) {
  ForEachPart(stage, Overloaded{[&](const ElementPtr& e) { ForEachElement(e, visit); },
                                [&](const Place& place, Access) {
                                  for (const Coordinate& c : place.at)
                                    ForEachElement(c.offset, visit);
                                },
                                [&](const Stages& list) {
                                  for (const Stage& inner : list) ForEachElement(inner, visit);
                                },
                                Ignore()});
}

void ForEachLoad(const ElementPtr& e, const std::function<void(const Place&)>& visit) {
  ForEachElement(e, [&](const Element& x) {
    if (const Place* place = LoadedBy(x)) visit(*place);
  });
}

void ForEachPlace(const Stage& stage, const VisitPlace& visit) {
  const auto load = [&](const ElementPtr& e) {
    ForEachLoad(e, [&](const Place& place) { visit(place, false); });
  };
  ForEachPart(stage, Overloaded{load,
                                [&](const Place& place, Access access) {
                                  for (const Coordinate& c : place.at) load(c.offset);
                                  if (access != Access::kNames)
                                    visit(place, access == Access::kWrites);
                                },
                                // What a wait changes is a window that is not known here.
                                [&](const BufferId& touched) {
                                  visit({touched, {}}, true);
                                },
                                [&](const Stages& list) { ForEachPlace(list, visit); }, Ignore()});
}

void ForEachPlace(const Stages& stages, const VisitPlace& visit) {
  for (const Stage& stage : stages) ForEachPlace(stage, visit);
}

ElementPtr Changed(const ElementPtr& e, const Change& change) {
  if (!e) return e;
  Element copy = *e;
  bool same = true;
  ForEachPart(copy, [&](ElementPtr& part) {
    ElementPtr next = Changed(part, change);
    same = same && next == part;
    part = std::move(next);
  });
  const ElementPtr now = same ? e : std::make_shared<const Element>(std::move(copy));
  if (const ElementPtr other = change(now)) return other;
  return now;
}

void ChangeElements(Stage& stage, const Change& change) {
  ForEachPart(stage, Overloaded{[&](ElementPtr& e) { e = Changed(e, change); },
                                [&](Place& place, Access) { ChangeOffsets(place, change); },
                                [&](Prefetch& prefetch) { ChangeOffsets(prefetch.place, change); },
                                [&](Stages& list) { ChangeElements(list, change); }, Ignore()});
}

void ChangeElements(Stages& stages, const Change& change) {
  for (Stage& stage : stages) ChangeElements(stage, change);
}

void Append(Stages& to, Stages from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

void ChangeBuffers(Stages& stages, const std::function<BufferId(BufferId)>& change) {
  ChangePlaces(stages, [&](Place& place) { place.buffer = change(place.buffer); });
  ChangeStages(stages, [&](Stage& stage) {
    ForEachPart(stage, Overloaded{[&](BufferId& touched) { touched = change(touched); }, Ignore()});
  });
}

void ChangePanels(Stages& stages, const std::function<PanelsId(PanelsId)>& change) {
  ChangeStages(stages, [&](Stage& stage) {
    ForEachPart(stage, Overloaded{[&](PanelsId& panels) {
                                    if (panels) panels = change(panels);
                                  },
                                  Ignore()});
  });
}

void RenameLoop(Place& place, LoopId from, LoopId to) {
  for (Coordinate& c : place.at) {
    if (c.loop == from) c.loop = to;
    c.offset = WithLoop(c.offset, from, to);
  }
}

ElementPtr WithLoop(const ElementPtr& e, LoopId from, LoopId to) {
  return Changed(e, [&](const ElementPtr& x) -> ElementPtr {
    if (const auto* iteration = As<element::Iteration>(x); iteration && iteration->loop == from)
      return MakeElement(x->dtype, element::Iteration{to});
    const Place* loaded = LoadedBy(*x);
    if (!loaded) return nullptr;
    Place place = *loaded;
    for (Coordinate& c : place.at) {
      if (c.loop == from) c.loop = to;
    }
    return LoadOf(std::move(place), x->dtype);
  });
}

void RenameLoop(Stage& stage, LoopId from, LoopId to) {
  ForEachPart(stage, Overloaded{[&](LoopId& loop) {
                                  if (loop == from) loop = to;
                                },
                                [&](ElementPtr& e) { e = WithLoop(e, from, to); },
                                [&](Place& place, Access) { RenameLoop(place, from, to); },
                                [&](Prefetch& prefetch) { RenameLoop(prefetch.place, from, to); },
                                [&](Stages& list) {
                                  for (Stage& inner : list) RenameLoop(inner, from, to);
                                },
                                Ignore()});
}

std::optional<int64_t> TurnsOf(const stage::For& loop) {
  const auto* low = As<element::Constant>(loop.low);
  const auto* high = As<element::Constant>(loop.high);
  if (!low || !high || high->int_value <= low->int_value) return std::nullopt;
  return high->int_value - low->int_value;
}

bool Uses(const ElementPtr& e, VariableId variable) {
  bool uses = false;
  ForEachElement(e, [&](const Element& x) { uses = uses || IsNamed(x, variable); });
  return uses;
}

std::vector<VariableId> NamesOf(const Stage& stage) {
  std::vector<VariableId> names;
  if (const auto* define = As<stage::Define>(stage)) names.push_back(define->variable);
  if (const auto* assign = As<stage::Assign>(stage)) names.push_back(assign->variable);
  if (const auto* reduce = As<stage::Reduce>(stage)) {
    for (const Fold& fold : reduce->folds) names.push_back(fold.variable);
  }
  return names;
}

bool IsUniform(const ElementPtr& e) {
  bool uniform = true;
  ForEachElement(e, [&](const Element& x) {
    uniform = uniform && !Is<element::Iteration>(x) && !Is<element::Named>(x);
    if (const Place* place = LoadedBy(x))
      for (const Coordinate& c : place->at) uniform = uniform && !c.loop;
  });
  return uniform;
}

namespace {

bool HasWide(const Plan& plan, const ElementPtr& e) {
  if (!e || IsUniform(e)) return false;
  const Place* place = LoadedBy(*e);
  bool wide = IsWide(e->dtype) || (place && IsWide(plan[place->buffer].dtype));
  ForEachPart(*e, [&](const ElementPtr& part) { wide = wide || HasWide(plan, part); });
  return wide;
}

}  // namespace

bool HasWide(const Plan& plan, const Stage& stage) {
  bool wide = false;
  // What changes, or is folded, has lanes whatever it is given.
  for (const VariableId name : NamesOf(stage))
    wide = wide || (!Is<stage::Define>(stage) && IsWide(plan[name].dtype));
  if (const auto* reduce = As<stage::Reduce>(stage))
    for (const Fold& fold : reduce->folds) wide = wide || IsWide(fold.value->dtype);
  const auto look = [&](const ElementPtr& e) { wide = wide || HasWide(plan, e); };
  ForEachPart(stage, Overloaded{look,
                                [&](const Place& place, Access) {
                                  wide = wide || IsWide(plan[place.buffer].dtype);
                                  for (const Coordinate& c : place.at) look(c.offset);
                                },
                                [&](const Stages& list) {
                                  for (const Stage& s : list) wide = wide || HasWide(plan, s);
                                },
                                Ignore()});
  return wide;
}

const stage::EachRow* EachRowOf(const stage::Lanes& lanes) {
  return lanes.body.empty() ? nullptr : As<stage::EachRow>(lanes.body.back());
}

bool AreNeighbours(const Plan& plan, const Place& place, LoopId lanes, int64_t stride) {
  const Coordinate* last = nullptr;
  for (size_t d = 0; d < place.at.size(); ++d) {
    if (!plan[place.buffer].dropped[d]) last = &place.at[d];
  }
  return last && last->loop == lanes && last->stride == stride;
}

bool NeedsMemory(const Plan& plan, const stage::Pack& pack) {
  const Panels& panels = plan[pack.panels];
  return pack.in_place != stage::InPlace::kAlways || panels.side != Side::kA ||
         panels.element == DType::kBF16;
}

LoopId LanesOf(const stage::Pack& pack) { return pack.by_columns ? pack.row : pack.col; }

bool KeepsSums(const Plan& plan, const stage::Dot& dot, const stage::Store& store) {
  return !store.mask && plan.IsAccumulator(store.place.buffer) && IsNamed(*store.value, dot.sum);
}

std::set<BufferId> UsedBuffers(const Plan& plan) {
  std::set<BufferId> used;
  for (const BodyPlan& body : plan.bodies) {
    ForEachPlace(body.stages, [&](const Place& place, bool) {
      for (BufferId b = place.buffer; b; b = plan[b].same_as) used.insert(b);
    });
  }
  return used;
}

}  // namespace kiln
