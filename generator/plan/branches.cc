#include "generator/plan/branches.h"

#include <algorithm>
#include <map>
#include <set>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

using Iterator = Stages::iterator;

bool Touches(const Plan& plan, const Stage& stage, int buffer) {
  bool touches = false;
  ForEachPlace(
      stage, [&](const Place& p, bool) { touches = touches || RootOf(plan, p.buffer) == buffer; });
  return touches;
}

/// Whether the order of two stages matters.
bool Conflict(const Plan& plan, const Stage& a, const Stage& b) {
  bool conflict = false;
  ForEachPlace(a, [&](const Place& x, bool x_writes) {
    ForEachPlace(b, [&](const Place& y, bool y_writes) {
      const bool same = RootOf(plan, x.buffer) == RootOf(plan, y.buffer);
      conflict = conflict || (same && (x_writes || y_writes));
    });
  });
  return conflict;
}

bool HasDot(const Stage& stage) {
  bool has = false;
  ForEachStage({stage}, [&](const Stage& s) { has = has || s.kind == Stage::Kind::kDot; });
  return has;
}

/// The only condition around dots that the accumulator has to do with, if there are no others.
Iterator ConditionOf(const Plan& plan, Stages& stages, int accumulator) {
  const auto adds = [&](const Stage& s) { return HasDot(s) && Touches(plan, s, accumulator); };
  const Iterator found = std::find_if(stages.begin(), stages.end(), adds);
  if (found == stages.end() || found->kind != Stage::Kind::kIf) return stages.end();
  return std::any_of(found + 1, stages.end(), adds) ? stages.end() : found;
}

/// The stages with temporaries of their own for those that they fill.
Stages CopyOf(Plan& plan, Stages stages) {
  std::map<int, int> own;
  ForEachStage(stages, [&](const Stage& s) {
    if (s.kind == Stage::Kind::kStore && IsTemp(plan, s.place.buffer)) own[s.place.buffer] = -1;
  });
  for (auto& [buffer, copy] : own) {
    copy = static_cast<int>(plan.buffers.size());
    plan.buffers.push_back(Buffer(plan.buffers[static_cast<size_t>(buffer)]));
  }
  for (auto& [buffer, copy] : own) {
    int& same_as = plan.buffers[static_cast<size_t>(copy)].same_as;
    if (const auto root = own.find(same_as); root != own.end()) same_as = root->second;
  }
  ChangeBuffers(stages, [&](int buffer) {
    const auto found = own.find(buffer);
    return found == own.end() ? buffer : found->second;
  });
  return stages;
}

}  // namespace

void MoveIntoBranches(Plan& plan, Stages& stages, int accumulator) {
  if (accumulator < 0) return;
  Iterator condition = ConditionOf(plan, stages, accumulator);
  if (condition == stages.end()) return;
  Stages before, after;
  const bool ends = std::any_of(condition + 1, stages.end(),
                                [&](const Stage& s) { return Touches(plan, s, accumulator); });
  if (ends) {
    after.assign(condition + 1, stages.end());
    stages.erase(condition + 1, stages.end());
  }
  for (Iterator s = condition; s != stages.begin();) {
    --s;
    if (!Touches(plan, *s, accumulator)) continue;
    const bool nest = s->kind == Stage::Kind::kLoop || s->kind == Stage::Kind::kLanes;
    Stage asks = StageOf(Stage::Kind::kIf, condition->span);
    asks.value = condition->value;
    if (!nest || Conflict(plan, *s, asks) ||
        std::any_of(s + 1, condition, [&](const Stage& t) { return Conflict(plan, *s, t); })) {
      break;
    }
    before.insert(before.begin(), *s);
    s = stages.erase(s);
    condition = std::find_if(s, stages.end(), HasDot);
  }
  Stages other = CopyOf(plan, before);
  Append(other, std::move(condition->orelse));
  Append(other, CopyOf(plan, after));
  Append(before, std::move(condition->body));
  Append(before, std::move(after));
  condition->body = std::move(before);
  condition->orelse = std::move(other);
}

namespace {

/// Whether memory for one will do for the other.
bool Alike(const Buffer& a, const Buffer& b) {
  return a.name == b.name && a.dtype == b.dtype && a.extents == b.extents && a.spaces == b.spaces &&
         a.dense == b.dense && a.dropped == b.dropped && a.in_register == b.in_register;
}
bool Alike(const Panels& a, const Panels& b) {
  return a.side == b.side && a.element == b.element && a.rows == b.rows && a.cols == b.cols &&
         a.name == b.name;
}

/// Which of those that earlier bodies use each of a body's becomes.
template <class T>
class Pool {
 public:
  explicit Pool(const std::vector<T>& all) : all_(all) {}

  void BeginBody() { now_.clear(), taken_.clear(); }
  int Of(int own) {
    if (const auto known = now_.find(own); known != now_.end()) return known->second;
    const auto free = std::find_if(pool_.begin(), pool_.end(), [&](int other) {
      return !taken_.count(other) && Alike(Get(own), Get(other));
    });
    const int shared = free == pool_.end() ? own : *free;
    if (free == pool_.end()) pool_.push_back(own);
    taken_.insert(shared);
    return now_[own] = shared;
  }

 private:
  const T& Get(int index) const { return all_[static_cast<size_t>(index)]; }

  const std::vector<T>& all_;
  std::vector<int> pool_;
  std::set<int> taken_;
  std::map<int, int> now_;
};

}  // namespace

void ShareMemory(Plan& plan) {
  std::vector<bool> reshaped(plan.buffers.size());
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.same_as >= 0) reshaped[static_cast<size_t>(buffer.same_as)] = true;
  }
  Pool<Buffer> buffers(plan.buffers);
  Pool<Panels> panels(plan.panels);
  for (BodyPlan& body : plan.bodies) {
    buffers.BeginBody();
    panels.BeginBody();
    ChangeBuffers(body.stages, [&](int buffer) {
      const Buffer& b = plan.buffers[static_cast<size_t>(buffer)];
      const bool own = b.ref < 0 && b.same_as < 0 && !reshaped[static_cast<size_t>(buffer)];
      return own ? buffers.Of(buffer) : buffer;
    });
    ChangePanels(body.stages, [&](int index) { return panels.Of(index); });
  }
  // Panels that no body uses any more.
  std::map<int, int> left;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& s) {
      if (s.kind == Stage::Kind::kPack) left[s.panels] = -1;
    });
  }
  std::vector<Panels> kept;
  for (auto& [index, number] : left) {
    number = static_cast<int>(kept.size());
    kept.push_back(plan.panels[static_cast<size_t>(index)]);
  }
  plan.panels = std::move(kept);
  for (BodyPlan& body : plan.bodies) {
    ChangePanels(body.stages, [&](int index) { return left.at(index); });
  }
}

}  // namespace kiln
