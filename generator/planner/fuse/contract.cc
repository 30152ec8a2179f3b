#include <algorithm>
#include <map>
#include <optional>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/fuse.h"

/// What is left of temporaries once the nests around them are fused.
namespace kiln {
namespace {

/// The loops (not by lanes) around every access to `buffer`, outermost first.
class CommonLoops {
 public:
  CommonLoops(const Plan& plan, BufferId buffer) : plan_(plan), buffer_(buffer) {}

  /// Nullopt: there is no access.
  const std::optional<std::vector<LoopId>>& Of(const Stages& stages) {
    Look(stages);
    return common_;
  }

 private:
  void Look(const Stages& stages) {
    for (const Stage& stage : stages) {
      const bool loop = Is<stage::Loop>(stage);
      const auto look = [&](const Place& p) { Look(p); };
      ForEachPart(stage, Overloaded{[&](const ElementPtr& e) { ForEachLoad(e, look); },
                                    [&](const Place& place, Access access) {
                                      for (const Coordinate& c : place.at)
                                        ForEachLoad(c.offset, look);
                                      if (access != Access::kNames) Look(place);
                                    },
                                    [&](const Stages& list) {
                                      if (loop) around_.push_back(LoopOf(stage));
                                      Look(list);
                                      if (loop) around_.pop_back();
                                    },
                                    Ignore()});
    }
  }

  void Look(const Place& place) {
    if (RootOf(plan_, place.buffer) != buffer_) return;
    if (!common_) {
      common_ = around_;
      return;
    }
    const auto differ =
        std::mismatch(common_->begin(), common_->end(), around_.begin(), around_.end());
    common_->erase(differ.first, common_->end());
  }

  const Plan& plan_;
  const BufferId buffer_;
  std::vector<LoopId> around_;
  std::optional<std::vector<LoopId>> common_;
};

/// However small: what is packed or put in order, and what a dot writes by vectors of columns.
Table<bool, Buffer> NeedMemory(const Plan& plan, const Stages& stages) {
  Table<bool, Buffer> need(plan.buffers.size());
  ForEachStage(stages, [&](const Stage& stage) {
    if (const auto* pack = As<stage::Pack>(stage)) need[pack->place.buffer] = true;
    if (const auto* along = As<stage::Along>(stage)) {
      need[along->from.buffer] = need[along->to.buffer] = true;
      if (along->room) need[along->room->buffer] = true;
    }
    const auto* dot = As<stage::Dot>(stage);
    if (!dot) return;
    ForEachStage(dot->body, [&](const Stage& inner) {
      if (const auto* store = As<stage::Store>(inner)) need[store->place.buffer] = true;
    });
  });
  return need;
}

/// Drops the dimensions of temporaries in which all accesses agree on the loop around them.
void DropDimensions(Plan& plan, const Stages& stages) {
  const Table<bool, Buffer> in_memory = NeedMemory(plan, stages);
  for (const BufferId b : plan.buffers.ids()) {
    Buffer& buffer = plan.buffers[b];
    if (buffer.ref || buffer.same_as || buffer.dense) continue;
    CommonLoops common_loops(plan, b);
    const std::optional<std::vector<LoopId>>& loops = common_loops.Of(stages);
    if (!loops) continue;
    for (size_t d = 0; d < buffer.extents.size(); ++d) {
      const Coordinate* common = nullptr;
      bool same = true;
      ForEachPlace(stages, [&](const Place& p, bool) {
        if (p.buffer != b) return;
        if (!common) common = &p.at[d];
        same = same && SameCoordinate(*common, p.at[d]);
      });
      const bool fixed = common && !common->loop;
      const bool outside =
          common && std::find(loops->begin(), loops->end(), common->loop) != loops->end();
      buffer.dropped[d] = same && (fixed || outside);
    }
    buffer.in_register = !in_memory[b] && std::all_of(buffer.dropped.begin(), buffer.dropped.end(),
                                                      [](bool x) { return x; });
  }
}

/// A temporary of one element at a time as a variable: defined by its first store, or before the
/// stage in which that store is nested.
class Registers {
 public:
  Registers(Plan& plan, const Stages& stages) : plan_(plan), variable_(plan.buffers.size()) {
    ForEachPlace(stages, [&](const Place& p, bool) { common_.try_emplace(p.buffer, p.at); });
  }

  void Run(Stages& stages) {
    for (size_t i = 0; i < stages.size(); ++i) {
      for (const BufferId buffer : StoredWithin(stages[i])) {
        if (variable_[buffer]) continue;
        const Buffer& b = plan_[buffer];
        const VariableId variable = plan_.variables.Add({b.name, b.dtype, true});
        variable_[buffer] = variable;
        const auto* store = As<stage::Store>(stages[i]);
        if (store && !store->mask) {
          stages[i].what = stage::Define{variable, ElementPtr(store->value)};
          continue;
        }
        const Stage define{stages[i].span, stage::Define{variable, ConstantOf(b.dtype, 0, 0)}};
        stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(i), define);
        ++i;
      }
      Replace(stages[i]);
    }
  }

 private:
  bool Held(BufferId buffer) const { return !plan_[buffer].ref && plan_[buffer].in_register; }

  /// What `stage` stores to in its own list, or, for anything but a loop, within it: a loop's own
  /// list is the narrowest place for what is only used there.
  std::vector<BufferId> StoredWithin(const Stage& stage) {
    std::vector<BufferId> buffers;
    if (const auto* store = As<stage::Store>(stage)) {
      if (Held(store->place.buffer)) buffers.push_back(store->place.buffer);
      return buffers;
    }
    ForEachPlace(stage, [&](const Place& p, bool writes) {
      if (writes && Held(p.buffer) && !OnlyInside(stage, p.buffer)) buffers.push_back(p.buffer);
    });
    return buffers;
  }

  /// Whether the buffer's value does not outlive an iteration of this loop.
  bool OnlyInside(const Stage& stage, BufferId buffer) const {
    const auto* loop = As<stage::Loop>(stage);
    if (!loop) return false;
    for (const Coordinate& c : common_.at(buffer)) {
      if (c.loop == loop->loop) return true;
    }
    return std::any_of(loop->body.begin(), loop->body.end(),
                       [&](const Stage& inner) { return OnlyInside(inner, buffer); });
  }

  void Replace(Stage& stage) {
    if (const auto* store = As<stage::Store>(stage); store && Held(store->place.buffer)) {
      const VariableId variable = variable_[store->place.buffer];
      ElementPtr value = store->value;
      if (store->mask) {
        const ElementPtr old = MakeElement(value->dtype, element::Named{variable});
        value = MakeOp(Op::kWhere, value->dtype, {store->mask, value, old});
      }
      stage.what = stage::Assign{variable, value};
    }
    const Change load = [&](const ElementPtr& e) -> ElementPtr {
      const Place* place = LoadedBy(*e);
      if (!place || !Held(place->buffer)) return nullptr;
      return MakeElement(e->dtype, element::Named{variable_[place->buffer]});
    };
    ForEachPart(stage, Overloaded{[&](ElementPtr& e) { e = Changed(e, load); },
                                  [&](Place& place, Access) {
                                    for (Coordinate& c : place.at)
                                      c.offset = Changed(c.offset, load);
                                  },
                                  [&](Stages& list) { Run(list); }, Ignore()});
  }

  Plan& plan_;
  Table<VariableId, Buffer> variable_;
  std::map<BufferId, std::vector<Coordinate>> common_;  // where the first access is
};

}  // namespace

void Contract(Plan& plan, Stages& stages) {
  DropDimensions(plan, stages);
  Registers(plan, stages).Run(stages);
}

}  // namespace kiln
