#include <algorithm>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/fuse.h"

/// What is left of temporaries once the nests around them are fused.
namespace kiln {
namespace {

/// The loops (not by lanes) around every access to `buffer`, outermost first.
struct Scope {
  std::vector<int> loops;
  bool started = false;
};

void CommonLoops(const Plan& plan, const Stages& stages, int buffer, std::vector<int>& around,
                 Scope& scope) {
  for (const Stage& stage : stages) {
    const auto look = [&](const Place& p) {
      if (RootOf(plan, p.buffer) != buffer) return;
      if (!scope.started) {
        scope.loops = around;
        scope.started = true;
        return;
      }
      size_t same = 0;
      while (same < scope.loops.size() && same < around.size() && scope.loops[same] == around[same])
        ++same;
      scope.loops.resize(same);
    };
    for (const ElementPtr& e : {stage.value, stage.mask, stage.low, stage.high, stage.start}) {
      ForEachLoad(e, look);
    }
    for (const Coordinate& c : stage.place.at) ForEachLoad(c.offset, look);
    for (const Coordinate& c : stage.from.at) ForEachLoad(c.offset, look);
    if (stage.kind == Stage::Kind::kStore || stage.kind == Stage::Kind::kPack) look(stage.place);
    const bool loop = stage.kind == Stage::Kind::kLoop;
    if (loop) around.push_back(stage.loop);
    CommonLoops(plan, stage.body, buffer, around, scope);
    CommonLoops(plan, stage.orelse, buffer, around, scope);
    if (loop) around.pop_back();
  }
}

/// Drops the dimensions of temporaries in which all accesses agree on the loop around them.
void DropDimensions(Plan& plan, const Stages& stages) {
  // However small: what is packed, and what a dot writes by vectors of columns.
  std::vector<bool> in_memory(plan.buffers.size());
  ForEachStage(stages, [&](const Stage& stage) {
    if (stage.kind == Stage::Kind::kPack) in_memory[static_cast<size_t>(stage.place.buffer)] = true;
    if (stage.kind != Stage::Kind::kDot) return;
    ForEachStage(stage.body, [&](const Stage& inner) {
      if (inner.kind != Stage::Kind::kStore) return;
      in_memory[static_cast<size_t>(inner.place.buffer)] = true;
    });
  });
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    Buffer& buffer = plan.buffers[b];
    if (buffer.ref >= 0 || buffer.same_as >= 0 || buffer.dense) continue;
    Scope scope;
    std::vector<int> around;
    CommonLoops(plan, stages, static_cast<int>(b), around, scope);
    if (!scope.started) continue;
    for (size_t d = 0; d < buffer.extents.size(); ++d) {
      const Coordinate* common = nullptr;
      bool same = true;
      ForEachPlace(stages, [&](const Place& p, bool) {
        if (p.buffer != static_cast<int>(b)) return;
        if (!common) common = &p.at[d];
        same = same && SameCoordinate(*common, p.at[d]);
      });
      const bool fixed = common && common->loop < 0;
      const bool outside = common && std::find(scope.loops.begin(), scope.loops.end(),
                                               common->loop) != scope.loops.end();
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
  explicit Registers(Plan& plan) : plan_(plan), variable_(plan.buffers.size(), -1) {}

  void Run(Stages& stages) {
    for (size_t i = 0; i < stages.size(); ++i) {
      for (int buffer : StoredWithin(stages[i])) {
        if (variable_[static_cast<size_t>(buffer)] >= 0) continue;
        const Buffer& b = plan_.buffers[static_cast<size_t>(buffer)];
        plan_.variables.push_back({b.name, b.dtype, true});
        variable_[static_cast<size_t>(buffer)] = static_cast<int>(plan_.variables.size()) - 1;
        if (stages[i].kind == Stage::Kind::kStore && !stages[i].mask) {
          stages[i].kind = Stage::Kind::kDefine;
          stages[i].variable = variable_[static_cast<size_t>(buffer)];
          stages[i].place = {};
          continue;
        }
        Stage define = StageOf(Stage::Kind::kDefine, stages[i].span);
        define.variable = variable_[static_cast<size_t>(buffer)];
        auto zero = std::make_shared<Element>();
        zero->dtype = b.dtype;
        define.value = zero;
        stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(i), define);
        ++i;
      }
      Replace(stages[i]);
    }
  }

 private:
  bool Held(int buffer) const {
    const Buffer& b = plan_.buffers[static_cast<size_t>(buffer)];
    return b.ref < 0 && b.in_register;
  }

  /// What `stage` stores to in its own list, or, for anything but a loop, within it: a loop's own
  /// list is the narrowest place for what is only used there.
  std::vector<int> StoredWithin(const Stage& stage) {
    std::vector<int> buffers;
    if (stage.kind == Stage::Kind::kStore) {
      if (Held(stage.place.buffer)) buffers.push_back(stage.place.buffer);
      return buffers;
    }
    ForEachPlace(Stages{stage}, [&](const Place& p, bool writes) {
      if (writes && Held(p.buffer) && !OnlyInside(stage, p.buffer)) buffers.push_back(p.buffer);
    });
    return buffers;
  }

  /// Whether the buffer's value does not outlive an iteration of this loop.
  bool OnlyInside(const Stage& stage, int buffer) const {
    if (stage.kind != Stage::Kind::kLoop) return false;
    for (const Coordinate& c : common_.at(buffer)) {
      if (c.loop == stage.loop) return true;
    }
    return std::any_of(stage.body.begin(), stage.body.end(),
                       [&](const Stage& inner) { return OnlyInside(inner, buffer); });
  }

  void Replace(Stage& stage) {
    if (stage.kind == Stage::Kind::kStore && Held(stage.place.buffer)) {
      stage.kind = Stage::Kind::kAssign;
      stage.variable = variable_[static_cast<size_t>(stage.place.buffer)];
      if (stage.mask) {
        auto old = std::make_shared<Element>();
        old->kind = Element::Kind::kVariable;
        old->index = stage.variable;
        old->dtype = stage.value->dtype;
        stage.value = MakeOp(Op::kWhere, stage.value->dtype, {stage.mask, stage.value, old});
        stage.mask = nullptr;
      }
      stage.place = {};
    }
    const Change load = [&](const ElementPtr& e) -> ElementPtr {
      if (e->kind != Element::Kind::kLoad || !Held(e->place.buffer)) return nullptr;
      auto variable = std::make_shared<Element>();
      variable->kind = Element::Kind::kVariable;
      variable->dtype = e->dtype;
      variable->index = variable_[static_cast<size_t>(e->place.buffer)];
      return variable;
    };
    for (ElementPtr* e : {&stage.value, &stage.mask, &stage.low, &stage.high, &stage.start}) {
      *e = Changed(*e, load);
    }
    for (Coordinate& c : stage.place.at) c.offset = Changed(c.offset, load);
    for (Coordinate& c : stage.from.at) c.offset = Changed(c.offset, load);
    Run(stage.body);
    Run(stage.orelse);
  }

 public:
  std::map<int, std::vector<Coordinate>> common_;

 private:
  Plan& plan_;
  std::vector<int> variable_;
};

void KeepInRegisters(Plan& plan, Stages& stages) {
  Registers registers(plan);
  ForEachPlace(stages,
               [&](const Place& p, bool) { registers.common_.try_emplace(p.buffer, p.at); });
  registers.Run(stages);
}

}  // namespace

void Contract(Plan& plan, Stages& stages) {
  DropDimensions(plan, stages);
  KeepInRegisters(plan, stages);
}

}  // namespace kiln
