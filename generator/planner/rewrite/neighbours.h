#pragma once

#include <map>
#include <set>
#include <vector>

#include "generator/ir/kernel.h"

namespace kiln {

/// Which neighbouring dimensions of a kernel's tiles no statement tells apart, as the rows and the
/// columns of an image that is scaled by channels, [c, h, w]: all that look at one of the two look
/// at the other behind it, or at neither. Each pair of neighbours is a bond; bonds of tiles that
/// are walked together hold together, or none does.
class Neighbours {
 public:
  explicit Neighbours(const Kernel& kernel);

  /// Of each dimension but the last: whether it and the next one may be one.
  using Bonded = std::vector<bool>;
  Bonded Of(const Node& node) const { return Hold(nodes_.at(&node)); }
  Bonded Of(RefId ref) const { return Hold(refs_[ref]); }
  Bonded Of(LocalId local) const { return Hold(locals_[local]); }

 private:
  /// Of a tile: one of each dimension but the last.
  using Bonds = std::vector<size_t>;

  size_t NewBond(bool breaks);
  size_t Root(size_t bond) const;
  void Tie(size_t a, size_t b);
  void Break(size_t bond) { broken_[Root(bond)] = true; }
  void BreakAll(const Bonds& bonds);
  Bonded Hold(const Bonds& bonds) const;

  Bonds Fresh(const Shape& shape);
  Bonds FreshOf(const Ref& ref);
  /// A value that broadcasts to a shape.
  void Align(const Bonds& to, const Shape& shape, const Bonds& value, const Shape& of_value);
  bool IsRun(const Subscript& subscript, const Size& extent) const;
  /// Tiles of which each dimension of `to` is one of `from`; `is_run`: whether that is some
  /// elements side by side, `is_kept`: whether all.
  void Follow(const Bonds& to, const std::vector<size_t>& of_from, const Bonds& from,
              const std::vector<bool>& is_run, const std::vector<bool>& is_kept);
  Bonds Window(const Bonds& whole, const Shape& extents, const std::vector<Subscript>& subscripts,
               const Shape& shape);

  const Bonds& Visit(const Node& node);
  Bonds Compute(const Node& node);
  Bonds Folded(const Node& node);
  Bonds Reshaped(const Node& node);
  Bonds AlongAxes(const Node& node);
  Bonds Taken(const Node& node);
  void Visit(const Actions& actions);
  void VisitStore(const action::Store& store);

  const Kernel& kernel_;
  std::vector<size_t> parent_;
  std::vector<bool> broken_;  // of roots
  Table<Bonds, Ref> refs_;
  std::set<RefId> named_;  // by a statement
  Table<Bonds, Local> locals_;
  std::map<const Node*, Bonds> nodes_;
};

}  // namespace kiln
