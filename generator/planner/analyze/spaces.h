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
  SpaceAnalysis(const Kernel& kernel, RefId zeroed);

  using Spaces = std::vector<SpaceId>;
  /// The space of each axis of a tile's shape; none where the extent is 1.
  Spaces SpacesOf(const Node& node);
  Spaces SpacesOfRef(RefId ref) const { return Number(refs_[ref]); }
  Spaces SpacesOfLocal(LocalId local) const { return Number(locals_[local]); }
  /// A space of its own for an extent; equal extents that are never clipped share one.
  SpaceId SpaceOf(const Size& extent);

  const Table<Space>& spaces() const { return spaces_; }

 private:
  /// Dimensions that are joined so far.
  struct Class {
    Id<Class> parent;  // itself: the class is a root
    Size extent;
    bool pinned = false;
    std::vector<RefId> carried;  // scratch of more than one step that lives in it
  };
  using ClassId = Id<Class>;
  using Classes = std::vector<ClassId>;  // of the axes of a tile; none: the extent is 1

  ClassId NewClass(const Size& extent);
  ClassId Find(ClassId c) const;
  void Join(ClassId a, ClassId b);
  void JoinAll(const Classes& a, const Classes& b);
  void Pin(ClassId c);
  Classes Fresh(const Shape& shape);
  Classes Of(const Node& node);
  Classes Compute(const Node& node);
  Classes Given(const Node& node);
  Classes Moved(const Node& node, const std::vector<Classes>& args);
  Classes Reshaped(const Node& node, const Classes& arg);
  Classes Reduced(const Node& node, const std::vector<Classes>& args);
  Classes Multiplied(const Node& node, const std::vector<Classes>& args);
  Classes Window(const Classes& whole, const Shape& extents,
                 const std::vector<Subscript>& subscripts);
  void Visit(const Actions& actions);
  void VisitWindow(const kiln::Window& window);
  void VisitStore(const action::Store& store);
  void VisitScalar(const Node& node);
  bool MayClip(ClassId root) const;
  bool PaddedWithZero(const Node& operand, size_t axis) const;
  Spaces Number(const Classes& classes) const;
  void NumberAll();

  struct Member {
    RefId ref;
    size_t view_axis;
  };
  const Kernel& kernel_;
  Table<Class> classes_;
  Table<Classes, Ref> refs_;
  Table<Classes, Local> locals_;
  std::map<const Node*, Classes> nodes_;
  std::map<ClassId, std::vector<Member>> members_;
  std::map<ClassId, SpaceId> numbers_;        // of roots
  std::map<std::string, SpaceId> by_extent_;  // unclipped spaces
  Table<Space> spaces_;
};

}  // namespace kiln
