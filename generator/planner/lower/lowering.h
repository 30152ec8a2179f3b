#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "generator/planner/analyze/nodes.h"
#include "generator/planner/lower/lower.h"

namespace kiln {

/// Where a tile's elements go: a window of a buffer, for each of whose dimensions either an axis
/// of the tile with an offset or a fixed coordinate.
struct Target {
  struct Dimension {
    int axis = -1;
    ElementPtr offset;  // null: the axis is all of the dimension
  };
  int buffer = -1;
  std::vector<Dimension> dimensions;
  ElementPtr mask;  // set by the statement, over its point
};

/// Turns statements into stages. An expression is lowered for one point of its tile; what cannot
/// be said of a single point (a dot, a reduction, a concatenation) gets a buffer and stages of its
/// own in front of the statement that needs it.
class Lowering {
 public:
  Lowering(Plan& plan, SpaceAnalysis& spaces, const Known& known, Diagnostics& diagnostics);

  Stages Body();

 private:
  using Point = std::vector<Coordinate>;

  // Statements (statements.cc).
  void Block(const Actions& actions);
  void Statement(const Action& action);
  void DefineLocal(const action::Define& define);
  void StoreTile(const action::Store& store);
  void EmitBroadcast(const Target& target, const NodePtr& value, const Shape& shape,
                     const NodePtr& mask);
  void When(const action::When& when);
  void For(const action::For& loop);
  void Assert(const action::Assert& check);
  // copies.cc
  void Copy(const action::Copy& copy);
  void Wait(const action::Wait& wait);
  Place WindowOf(const Window& window, std::vector<WindowDim>* dims);
  // touches.cc
  void TouchesOf(const Action& action);
  void TouchReads(const Node& node);
  void Touch(int ref, const std::vector<Subscript>& subscripts, bool writes);
  // ranges.cc
  struct Bounds {
    std::optional<int64_t> low;
    std::optional<Size> high;  // inclusive
  };
  Bounds BoundsOf(const Node& node) const;
  bool IsInRange(const Subscript& subscript, const Size& extent) const;
  ElementPtr CheckedStart(const std::string& name, const Subscript& subscript, const Size& extent);
  ElementPtr Hoisted(const ElementPtr& start);
  ElementPtr Guarded(const ElementPtr& condition, bool holds, const Node& node, const Point& point);
  Stages Nested(const Actions& actions);
  std::optional<bool> KnownValue(const Node& condition) const;

  // Tiles (tiles.cc).
  void EmitInto(const Target& target, const Node& node, const NodePtr& mask);
  void EmitPointwise(const Target& target, const Node& node, const NodePtr& mask);
  void EmitConcat(const Target& target, const Node& node);
  void EmitIf(const Target& target, const Node& node, const NodePtr& mask);
  ElementPtr Materialised(const Node& node, const Point& point);
  ElementPtr SumOf(const Node& mean, const Point& point);
  ElementPtr Filled(int buffer, const Node& node, const Point& point) const;
  bool ReadsBuffer(const Node& node, int buffer) const;
  int BufferOf(const Node& leaf) const;
  int NewTemp(const std::string& name, DType dtype, const Shape& shape,
              const std::vector<int>& spaces);
  static Target WholeOf(int buffer, size_t rank);
  Place PlaceAt(const Target& target, const Point& point) const;
  Point LoopsOver(const std::vector<int>& spaces, std::vector<int>* loops);
  int NewLoop(int space);
  /// `inner` inside loops, the last of them by lanes when `lanes` and where vectors can follow.
  Stage Nest(const std::vector<int>& loops, Stages inner, bool lanes) const;
  void Emit(Stage stage) { out_->push_back(std::move(stage)); }

  // Values at a point (values.cc).
  ElementPtr Value(const Node& node, const Point& point);
  ElementPtr Given(const Node& node, const Point& point);
  ElementPtr Moved(const Node& node, const Point& point);
  ElementPtr Mean(const Node& node, const Point& point);
  ElementPtr Scalar(const Node& node) { return Value(node, {}); }
  ElementPtr Read(const Node& node, const Point& point);
  ElementPtr ReadLocal(const Node& node, const Point& point);
  ElementPtr Roll(const Node& node, const Point& point);
  ElementPtr Reshaped(const Node& node, const Point& point);
  ElementPtr SeenAnew(const Node& node, const Point& point);
  ElementPtr InsideMask(const Node& node, const Point& point);
  ElementPtr Elementwise(const Node& node, const Point& point);
  Point Subscripted(const std::string& name, const std::vector<Subscript>& subscripts,
                    const Shape& extents, const Point& point);
  static Point Aligned(const Point& point, const Shape& shape);
  ElementPtr CoordinateValue(const Coordinate& c, DType dtype) const;

  // Reductions (reduce.cc).
  void EmitReduce(const Target& target, const Node& node);
  void EmitLaneReduce(const Target& target, const Node& node, const std::vector<int>& kept,
                      const std::vector<int>& reduced, const Point& point, const Point& left);
  void EmitRowReduce(const Target& target, const Node& node, const std::vector<int>& kept,
                     const std::vector<int>& reduced, const Point& point, const Point& left);
  void EmitArg(const Target& target, const Node& node);
  void EmitCumsum(const Target& target, const Node& node);
  int NewVariable(const std::string& name, DType dtype, bool changes);
  ElementPtr Variable(int variable) const;

  // Dots (dot.cc).
  void EmitDot(const Target& target, const Node& node);
  PanelSource Source(const Node& operand, Side side, DType element, const Point& batch, int row,
                     int col, Stages* packs);

  Plan& plan_;
  const Kernel& kernel_;
  SpaceAnalysis& spaces_;
  const Known known_;
  Diagnostics& diagnostics_;
  Stages* out_ = nullptr;
  Span span_;                                                        // of the statement
  const std::vector<bool> copied_;                                   // by ref: EndsOfCopies
  std::vector<int> local_buffer_;                                    // by local; -1: a scalar
  std::vector<int> local_variable_;                                  // by local; -1: a tile
  std::map<const Node*, int> temporary_;                             // of this statement
  std::map<const Node*, int> sums_;                                  // the same, of means
  std::map<int, Bounds> local_bounds_;                               // of loop variables and lets
  std::vector<std::tuple<const Stages*, ElementPtr, int>> hoisted_;  // of this statement
  std::vector<ElementPtr> guards_;  // under which the value at hand is evaluated
};

/// By ref: whether manual copies read or write it in VMEM or SMEM.
std::vector<bool> EndsOfCopies(const Kernel& kernel);
/// Whether what a value reads is one vector along the loop.
bool LanesFit(const Element& e, int loop);

}  // namespace kiln
