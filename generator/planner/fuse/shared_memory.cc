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
         a.row_space == b.row_space && a.col_space == b.col_space && a.taps == b.taps &&
         a.name == b.name;
}

/// Which of those that earlier bodies use each of a body's becomes.
template <class T>
class Pool {
 public:
  explicit Pool(const Table<T>& all) : all_(all) {}

  void BeginBody() { now_.clear(), taken_.clear(); }
  Id<T> Of(Id<T> own) {
    if (const auto known = now_.find(own); known != now_.end()) return known->second;
    const auto free = std::find_if(pool_.begin(), pool_.end(), [&](Id<T> other) {
      return !taken_.count(other) && Alike(all_[own], all_[other]);
    });
    const Id<T> shared = free == pool_.end() ? own : *free;
    if (free == pool_.end()) pool_.push_back(own);
    taken_.insert(shared);
    return now_[own] = shared;
  }

 private:
  const Table<T>& all_;
  std::vector<Id<T>> pool_;
  std::set<Id<T>> taken_;
  std::map<Id<T>, Id<T>> now_;
};

}  // namespace

void ShareMemory(Plan& plan) {
  Table<bool, Buffer> reshaped(plan.buffers.size());
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.same_as) reshaped[buffer.same_as] = true;
  }
  Pool<Buffer> buffers(plan.buffers);
  Pool<Panels> panels(plan.panels);
  for (BodyPlan& body : plan.bodies) {
    buffers.BeginBody();
    panels.BeginBody();
    ChangeBuffers(body.stages, [&](BufferId buffer) {
      const bool own = IsTemp(plan, buffer) && !plan[buffer].same_as && !reshaped[buffer];
      return own ? buffers.Of(buffer) : buffer;
    });
    ChangePanels(body.stages, [&](PanelsId of) { return panels.Of(of); });
  }
  // Panels that no body uses any more.
  std::map<PanelsId, PanelsId> left;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& s) {
      if (const auto* pack = As<stage::Pack>(s)) left[pack->panels] = {};
      if (const auto* dot = As<stage::Dot>(s); dot && dot->gathered) left[dot->gathered] = {};
    });
  }
  Table<Panels> kept;
  for (auto& [of, now] : left) now = kept.Add(plan[of]);
  plan.panels = std::move(kept);
  for (BodyPlan& body : plan.bodies) {
    ChangePanels(body.stages, [&](PanelsId of) { return left.at(of); });
  }
}

}  // namespace kiln
