#include "generator/planner/fuse/shared_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "generator/plan/walk.h"

namespace kiln {
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
