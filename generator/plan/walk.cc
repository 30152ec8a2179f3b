#include "generator/plan/walk.h"

#include <iterator>

namespace kiln {
namespace {

Place ChangedPlace(const Place& place, const Change& change) {
  Place result = place;
  for (Coordinate& c : result.at) {
    if (c.offset) c.offset = Changed(c.offset, change);
  }
  return result;
}

void RenameInPlace(Place& place, int from, int to);

ElementPtr Renamed(const ElementPtr& e, int from, int to) {
  if (!e) return e;
  auto copy = std::make_shared<Element>(*e);
  for (ElementPtr& arg : copy->args) arg = Renamed(arg, from, to);
  RenameInPlace(copy->place, from, to);
  if (copy->kind == Element::Kind::kLoop && copy->index == from) copy->index = to;
  return copy;
}

void RenameInPlace(Place& place, int from, int to) {
  for (Coordinate& c : place.at) {
    if (c.loop == from) c.loop = to;
    c.offset = Renamed(c.offset, from, to);
  }
}

}  // namespace

void ForEachStage(const Stages& stages, const std::function<void(const Stage&)>& visit) {
  for (const Stage& stage : stages) {
    visit(stage);
    ForEachStage(stage.body, visit);
    ForEachStage(stage.orelse, visit);
  }
}

void ChangeStages(Stages& stages, const std::function<void(Stage&)>& change) {
  for (Stage& stage : stages) {
    change(stage);
    ChangeStages(stage.body, change);
    ChangeStages(stage.orelse, change);
  }
}

void ForEachElement(const ElementPtr& e, const std::function<void(const Element&)>& visit) {
  if (!e) return;
  visit(*e);
  for (const ElementPtr& arg : e->args) ForEachElement(arg, visit);
  for (const Coordinate& c : e->place.at) ForEachElement(c.offset, visit);
}

void ForEachElement(const Stage& stage, const std::function<void(const Element&)>& visit) {
  for (const ElementPtr& e : {stage.value, stage.mask, stage.low, stage.high, stage.start}) {
    ForEachElement(e, visit);
  }
  for (const Coordinate& c : stage.place.at) ForEachElement(c.offset, visit);
  for (const Coordinate& c : stage.from.at) ForEachElement(c.offset, visit);
  for (const Stage& inner : stage.body) ForEachElement(inner, visit);
  for (const Stage& inner : stage.orelse) ForEachElement(inner, visit);
}

void ForEachLoad(const ElementPtr& e, const std::function<void(const Place&)>& visit) {
  ForEachElement(e, [&](const Element& x) {
    if (x.kind == Element::Kind::kLoad) visit(x.place);
  });
}

void ForEachPlace(const Stage& stage, const std::function<void(const Place&, bool)>& visit) {
  const auto read = [&](const Place& place) { visit(place, false); };
  for (const ElementPtr& e : {stage.value, stage.mask, stage.low, stage.high, stage.start}) {
    ForEachLoad(e, read);
  }
  for (const Coordinate& c : stage.place.at) ForEachLoad(c.offset, read);
  for (const Coordinate& c : stage.from.at) ForEachLoad(c.offset, read);
  if (stage.kind == Stage::Kind::kStore) visit(stage.place, true);
  if (stage.kind == Stage::Kind::kPack) visit(stage.place, false);
  if (stage.kind == Stage::Kind::kCopy) {
    visit(stage.from, false);
    visit(stage.place, true);
  }
  // What a wait changes is a window that is not known here.
  for (int buffer : stage.touched) visit({buffer, {}}, true);
  ForEachPlace(stage.body, visit);
  ForEachPlace(stage.orelse, visit);
}

void ForEachPlace(const Stages& stages, const std::function<void(const Place&, bool)>& visit) {
  for (const Stage& stage : stages) ForEachPlace(stage, visit);
}

ElementPtr Changed(const ElementPtr& e, const Change& change) {
  if (!e) return e;
  auto copy = std::make_shared<Element>(*e);
  bool same = true;
  for (ElementPtr& arg : copy->args) {
    ElementPtr next = Changed(arg, change);
    same = same && next == arg;
    arg = std::move(next);
  }
  for (Coordinate& c : copy->place.at) {
    if (!c.offset) continue;
    ElementPtr next = Changed(c.offset, change);
    same = same && next == c.offset;
    c.offset = std::move(next);
  }
  const ElementPtr now = same ? e : ElementPtr(copy);
  if (const ElementPtr other = change(now)) return other;
  return now;
}

void ChangeElements(Stage& stage, const Change& change) {
  for (ElementPtr* e : {&stage.value, &stage.mask, &stage.low, &stage.high, &stage.start}) {
    *e = Changed(*e, change);
  }
  stage.place = ChangedPlace(stage.place, change);
  stage.from = ChangedPlace(stage.from, change);
  ChangeElements(stage.body, change);
  ChangeElements(stage.orelse, change);
}

void ChangeElements(Stages& stages, const Change& change) {
  for (Stage& stage : stages) ChangeElements(stage, change);
}

void Append(Stages& to, Stages from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

void ChangeBuffers(Stages& stages, const Renumber& change) {
  for (Stage& stage : stages) {
    ChangeElements(stage, [&](const ElementPtr& e) -> ElementPtr {
      if (e->kind != Element::Kind::kLoad) return nullptr;
      auto copy = std::make_shared<Element>(*e);
      copy->place.buffer = change(copy->place.buffer);
      return copy;
    });
  }
  ChangeStages(stages, [&](Stage& stage) {
    for (Place* place : {&stage.place, &stage.from}) {
      if (place->buffer >= 0) place->buffer = change(place->buffer);
    }
    for (int& buffer : stage.touched) buffer = change(buffer);
    for (Prefetch& prefetch : stage.prefetches)
      prefetch.place.buffer = change(prefetch.place.buffer);
  });
}

void ChangePanels(Stages& stages, const Renumber& change) {
  ChangeStages(stages, [&](Stage& stage) {
    for (int* panels : {&stage.panels, &stage.live, &stage.a.panels, &stage.b.panels}) {
      if (*panels >= 0) *panels = change(*panels);
    }
  });
}

void RenameLoop(Stage& stage, int from, int to) {
  for (ElementPtr* e : {&stage.value, &stage.mask, &stage.low, &stage.high, &stage.start}) {
    *e = Renamed(*e, from, to);
  }
  RenameInPlace(stage.place, from, to);
  RenameInPlace(stage.from, from, to);
  for (int* loop : {&stage.loop, &stage.row, &stage.col, &stage.pack_row, &stage.pack_col}) {
    if (*loop == from) *loop = to;
  }
  for (Stage& inner : stage.body) RenameLoop(inner, from, to);
  for (Stage& inner : stage.orelse) RenameLoop(inner, from, to);
}

int RootOf(const Plan& plan, int buffer) {
  while (plan.buffers[static_cast<size_t>(buffer)].same_as >= 0) {
    buffer = plan.buffers[static_cast<size_t>(buffer)].same_as;
  }
  return buffer;
}

bool Uses(const ElementPtr& e, int variable) {
  bool uses = false;
  ForEachElement(e, [&](const Element& x) {
    uses = uses || (x.kind == Element::Kind::kVariable && x.index == variable);
  });
  return uses;
}

}  // namespace kiln
