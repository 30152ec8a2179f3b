#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace kiln {

/// The text of stages and of what they are made of.
class StageText {
 public:
  /// `canonical`: loops and variables have numbers in the order in which they appear.
  explicit StageText(const Plan& plan, bool canonical = false)
      : plan_(plan), kernel_(*plan.kernel), canonical_(canonical) {}

  /// Lines, each indented twice as many columns.
  std::string Lines(const Stages& stages, int indent);
  std::string Text(const Element& e) const;
  std::string BufferName(BufferId buffer) const;
  static std::string SpaceName(SpaceId space) { return "s" + std::to_string(space.number()); }

 private:
  /// That of the plan or, in a canonical text, of the order in which they appear.
  template <typename Key>
  std::string NumberOf(Key key, std::map<Key, int>* seen) const {
    const int next = static_cast<int>(seen->size());
    return std::to_string(canonical_ ? seen->emplace(key, next).first->second : key.number());
  }
  const std::string& NameOf(RefId ref) const { return kernel_[ref].name; }
  const std::string& NameOf(AxisId axis) const { return kernel_[axis].name; }
  std::string LoopName(LoopId loop) const { return "i" + NumberOf(loop, &loops_); }
  std::string SpaceText(LoopId loop) const { return SpaceName(plan_[loop].space); }
  std::string VariableName(VariableId variable) const;
  std::string PlaceText(const Place& place) const;
  std::string OperationText(const element::Operation& operation, DType dtype) const;
  std::string SourceText(const PanelSource& source) const;
  std::string SlotText(const SemaphoreSlot& on) const;
  std::string StoreText(const stage::Store& store) const;
  std::string UnlessFew(const stage::Pack& pack) const;

  void Line(const std::string& text, int indent);
  void List(const Stages& stages, int indent);
  void One(const Stage& of, int indent);
  void LaneLines(const stage::Lanes& lanes, int indent);
  void EdgeLines(const stage::AtEdges& s, int indent);
  void ReduceLines(const stage::Reduce& reduce, int indent);
  void DotLines(const stage::Dot& dot, int indent);
  void Prefetches(const std::vector<Prefetch>& prefetches, int indent);
  void By(Vectors by, int indent);
  void Streamed(BufferId buffer, int indent);

  const Plan& plan_;
  const Kernel& kernel_;
  const bool canonical_;
  // Canonical numbers.
  mutable std::map<LoopId, int> loops_;
  mutable std::map<VariableId, int> variables_;
  std::string out_;
};

}  // namespace kiln
