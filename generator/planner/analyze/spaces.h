#pragma once

#include <map>
#include <vector>

#include "generator/ir/kernel.h"
#include "generator/plan/plan.h"
#include "generator/planner/analyze/nodes.h"

namespace kiln {

/// Which dimensions of a kernel's tiles are walked together. Dimensions are joined by elementwise
/// statements; what looks across one (a reduction, a slice, a roll) pins it, so that its loops
/// always run over the whole block, pad included.
class SpaceAnalysis {
 public:
  /// `zeroed`: scratch that every reduction starts anew, so that nothing outlives its steps.
  SpaceAnalysis(const Kernel& kernel, int zeroed);

  /// The space of each axis of a tile's shape; -1 where the extent is 1.
  std::vector<int> SpacesOf(const Node& node);
  const std::vector<int>& SpacesOfRef(int ref) const { return refs_[static_cast<size_t>(ref)]; }
  const std::vector<int>& SpacesOfLocal(int local) const {
    return locals_[static_cast<size_t>(local)];
  }
  /// A space of its own for an extent; equal extents that are never clipped share one.
  int SpaceOf(const Size& extent);

  const std::vector<Space>& spaces() const { return spaces_; }

 private:
  using Classes = std::vector<int>;

  int NewClass(const Size& extent);
  int Find(int c);
  void Join(int a, int b);
  void JoinAll(const Classes& a, const Classes& b);
  void Pin(int c);
  Classes Fresh(const Shape& shape);
  Classes Of(const Node& node);
  Classes Compute(const Node& node);
  Classes Given(const Node& node);
  Classes Moved(const Node& node, const std::vector<Classes>& args);
  Classes Reduced(const Node& node, const std::vector<Classes>& args);
  Classes Multiplied(const Node& node, const std::vector<Classes>& args);
  Classes Read(const Classes& whole, const Shape& extents,
               const std::vector<Subscript>& subscripts);
  Classes Window(const Classes& whole, const Shape& extents,
                 const std::vector<Subscript>& subscripts);
  void Visit(const Actions& actions);
  void VisitStore(const action::Store& store);
  void VisitScalar(const Node& node);
  bool MayClip(int root) const;
  bool PaddedWithZero(const Node& operand, int axis) const;
  std::vector<int> Number(const Classes& classes);
  void NumberAll();

  struct Member {
    int ref, view_axis;
  };
  const Kernel& kernel_;
  std::vector<int> parent_;
  std::vector<Size> extents_;
  std::vector<bool> pinned_;
  std::vector<std::vector<int>> carried_;  // scratch of more than one step that lives in it
  std::vector<Classes> refs_, locals_;
  std::map<const Node*, Classes> nodes_;
  std::map<int, std::vector<Member>> members_;
  std::map<int, int> numbers_;            // root -> space
  std::map<std::string, int> by_extent_;  // unclipped spaces
  std::vector<Space> spaces_;
};

}  // namespace kiln
