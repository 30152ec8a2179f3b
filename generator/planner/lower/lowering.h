#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/ir/index_range.h"
#include "generator/planner/analyze/chains.h"
#include "generator/planner/analyze/nodes.h"
#include "generator/planner/lower/lower.h"
#include "generator/planner/rewrite/concats.h"

namespace kiln {

/// Where a tile's elements go: a window of a buffer, for each of whose dimensions either an axis
/// of the tile with an offset and a stride or a fixed coordinate.
struct Target {
  struct Dimension {
    std::optional<size_t> axis;
    ElementPtr offset;  // null: the axis is all of the dimension
    int64_t stride = 1;
  };
  BufferId buffer;
  std::vector<Dimension> dimensions;
  ElementPtr mask;  // set by the statement, over its point
};

/// What is known of an integer's values; empty: nothing.
struct IntegerBounds {
  std::optional<int64_t> low;
  std::optional<Size> high;  // inclusive
};

/// How many factors a power is computed as the product of, as its exponent is a small constant;
/// 0: it is not.
int FactorsOf(const Node& node);
/// A power of what is lowered already; `line`: as MakeOp.
ElementPtr PowerOf(const Node& node, std::vector<ElementPtr> args, int line);

/// Turns statements into stages. An expression is lowered for one point of its tile; what cannot
/// be said of a single point (a dot, a reduction, a concatenation) gets a buffer and stages of its
/// own in front of the statement that needs it.
class Lowering {
 public:
  Lowering(Plan& plan, SpaceAnalysis& spaces, const Known& known, Diagnostics& diagnostics);

  Stages Body();

 private:
  using Point = std::vector<Coordinate>;
  using Loops = std::vector<LoopId>;
  using Spaces = std::vector<SpaceId>;

  // Statements (statements.cc).
  void Block(const Actions& actions);
  void Statement(const Action& action);
  void DefineLocal(const action::Define& define);
  void StoreTile(const action::Store& store);
  void EmitBroadcast(const Target& target, const NodePtr& value, const Shape& shape,
                     const NodePtr& mask);
  void When(const action::When& when);
  void For(const action::For& loop);
  void While(const action::While& loop);
  void Assert(const action::Assert& check);
  // copies.cc
  void Copy(const action::Copy& copy);
  void Wait(const action::Wait& wait);
  CopyWindow WindowOf(const Window& window);
  SemaphoreSlot SlotOf(int semaphore, const std::vector<NodePtr>& slot);
  // touches.cc
  void TouchesOf(const Action& action);
  void TouchReads(const Node& node);
  void Touch(RefId ref, const std::vector<Subscript>& subscripts, bool writes);
  // bounds.cc
  IntegerBounds BoundsOf(const Node& node) const;
  // ranges.cc
  bool IsNotNegative(const Node& node) const;
  bool EndsBefore(const Node& node, const Size& end) const;
  bool IsInRange(const Subscript& subscript, const Size& extent) const;
  ElementPtr CheckedStart(const std::string& name, const Subscript& subscript, const Size& extent);
  void CheckTaken(const Node& take);
  ElementPtr Hoisted(const ElementPtr& start);
  ElementPtr Guarded(const ElementPtr& condition, bool holds, const Node& node, const Point& point);
  Stages Nested(const Actions& actions);
  std::optional<bool> KnownValue(const Node& condition) const;

  // Tiles (tiles.cc).
  void EmitInto(const Target& target, const Node& node, const NodePtr& mask);
  void EmitPointwise(const Target& target, const Node& node, const NodePtr& mask);
  void EmitParts(const Target& target, const Node& node, const Parts& parts);
  NodePtr InShape(const NodePtr& node, const Shape& shape);
  void EmitIf(const Target& target, const Node& node, const NodePtr& mask);
  ElementPtr Materialised(const Node& node, const Point& point);
  ElementPtr SumOf(const Node& mean, const Point& point);
  ElementPtr Filled(BufferId buffer, const Node& node, const Point& point) const;
  bool ReadsBuffer(const Node& node, BufferId buffer) const;
  BufferId BufferOfLeaf(const Node& leaf) const;
  BufferId NewTemp(const std::string& name, DType dtype, const Shape& shape, const Spaces& spaces);
  static Target WholeOf(BufferId buffer, size_t rank);
  Place PlaceAt(const Target& target, const Point& point) const;
  Point LoopsOver(const Spaces& spaces, Loops* loops);
  LoopId NewLoop(SpaceId space);
  /// `inner` inside loops, the last of them by lanes when `lanes` and where vectors can follow.
  Stage Nest(const Loops& loops, Stages inner, bool lanes) const;
  /// A stage of the statement at hand.
  Stage Of(Stage::Kind what) const { return {span_, std::move(what)}; }
  void Emit(Stage stage) { out_->push_back(std::move(stage)); }
  void Emit(Stage::Kind what) { Emit(Of(std::move(what))); }
  /// All of `inner`, within loops if there are any.
  void EmitWithin(const Loops& loops, Stages inner);

  // Values at a point (values.cc).
  ElementPtr Value(const Node& node, const Point& point);
  ElementPtr Given(const Node& node, const Point& point);
  ElementPtr Moved(const Node& node, const Point& point);
  ElementPtr Mean(const Node& node, const Point& point);
  ElementPtr Scalar(const Node& node) { return Value(node, {}); }
  ElementPtr Read(const Node& node, const Point& point);
  ElementPtr ReadLocal(const Node& node, const Point& point);
  ElementPtr Roll(const Node& node, const Point& point);
  ElementPtr Take(const Node& node, const Point& point);
  ElementPtr TakeAlong(const Node& node, const Point& point);
  Point Flipped(const Node& node, const Point& point);
  ElementPtr Reshaped(const Node& node, const Point& point);
  ElementPtr SeenAnew(const Node& node, const Point& point);
  ElementPtr InsideMask(const Node& node, const Point& point);
  ElementPtr Elementwise(const Node& node, const Point& point);
  IndexRange RangeOfLocal(LocalId local) const;
  Point Subscripted(const std::string& name, const std::vector<Subscript>& subscripts,
                    const Shape& extents, const Point& point);
  bool IsOfColumns(const Node& arg, const Node& whole) const;
  ElementPtr OfColumns(const Node& node, const Point& point);
  static Point Aligned(const Point& point, const Shape& shape);
  ElementPtr CoordinateValue(const Coordinate& c, DType dtype,
                             const ElementPtr& origin = nullptr) const;

  // Views (views.cc).
  /// A loop of a nest as loops within each other over dimensions of these extents.
  struct DividedLoop {
    LoopId loop;
    Loops parts;
    Shape extents;
  };
  /// What may be divided in the nest of the statement at hand: any loop, but that of its lanes
  /// into long lines alone.
  struct Dividing {
    LoopId lanes;
    std::vector<DividedLoop> loops;
    bool may_stop = false;   // whether not all turns of the parts need be taken
    bool lanes_too = false;  // whether that of the lanes may be divided into long lines
  };
  /// While it lives, no loop may be divided: for nests of their own.
  class Undivided {
   public:
    explicit Undivided(Dividing** dividing)
        : dividing_(dividing), outside_(std::exchange(*dividing, nullptr)) {}
    ~Undivided() { *dividing_ = outside_; }
    Undivided(const Undivided&) = delete;

   private:
    Dividing** const dividing_;
    Dividing* const outside_;
  };
  bool IsConstantInput(RefId id) const;
  bool ReadsConstantInput(const Node& node) const;
  bool IsWindow(const Node& node, LocalId let) const;
  bool IsMadeOfWindows(const Node& node, LocalId let) const;
  bool IsOfRef(const Node& view) const;
  // joined.cc
  bool IsPlainScratch(RefId id) const;
  bool IsJoinable(const Node& reshape) const;
  bool DividesIntoShortLines(const Node& reshape) const;
  ElementPtr SeenJoined(const Node& reshape, const Point& point);
  std::optional<Point> SeenThrough(const Node& reshape, const Point& point);
  Coordinate Joined(const Point& point, const Shape& shape, const std::vector<size_t>& dims);
  bool Divide(const Coordinate& c, const Size& all, const Shape& shape,
              const std::vector<size_t>& dims, Point* whole);
  void PutParts(const Dividing& dividing, Stage& stage, Loops* loops);
  void EmitDivided(const Dividing& dividing, Loops loops, Stage store);

  // Reductions (reduce.cc).
  void EmitReduce(const Target& target, const Node& node);
  void EmitLaneReduce(const Target& target, const Node& node, const Loops& kept,
                      const Loops& reduced, const Point& point, const Point& left);
  void EmitRowReduce(const Target& target, const Node& node, const Loops& kept,
                     const Loops& reduced, const Point& point, const Point& left);
  bool IsSmallWindow(const Node& node) const;
  bool IsSideBySide(const Node& node, const Loops& kept, const Point& point);
  void EmitFold(const Target& target, const Node& node, const Loops& kept, const Point& point,
                const Point& left);
  void EmitArg(const Target& target, const Node& node);
  void EmitRowArg(const Target& target, const Node& node, const Loops& kept, LoopId walked,
                  const Point& point, const Point& left);
  void EmitScalarArg(const Target& target, const Node& node, const Loops& kept, const Loops& walked,
                     const Point& point, const Point& left);
  static ElementPtr IsBetter(const Node& node, const ElementPtr& value, const ElementPtr& best,
                             const ElementPtr& place);
  static ElementPtr Identity(FoldOp fold, DType dtype);
  // one_hot.cc
  struct OneHot {
    LoopId place;
    ElementPtr index, value;
  };
  std::optional<OneHot> OneHotOf(const Node& node, const Loops& kept,
                                 const ElementPtr& value) const;
  void KeepOneHot(LocalId let, const NodePtr& value);
  NodePtr WithoutNames(const NodePtr& node, int names) const;
  bool EmitOneHot(const Target& target, const Node& node, const Loops& all, const Loops& kept,
                  const Point& point, const Point& left);
  // along.cc
  void EmitScan(const Target& target, const Node& node);
  void EmitRowScan(const Target& target, const Node& node, size_t axis);
  void EmitAlong(const Target& target, const Node& node);
  Place RoomFor(const Size& count, bool side_by_side);
  VariableId NewVariable(const std::string& name, DType dtype, bool changes);
  ElementPtr Variable(VariableId variable) const { return NamedElement(plan_, variable); }

  // Dots (dot.cc).
  void EmitDot(const Target& target, const Node& node);
  PanelSource Source(const Node& operand, Side side, DType element, const Point& batch,
                     LoopId outer, SpaceId depth, Stages* packs);
  std::optional<stage::Tap> TapOf(const Node& operand, DType element, const Point& batch,
                                  LoopId row, SpaceId depth);
  ElementPtr ReadForPack(const Node& of, DType element, const Point& point,
                         const stage::Pack& pack);

  Plan& plan_;
  const Kernel& kernel_;
  SpaceAnalysis& spaces_;
  const Known known_;
  Diagnostics& diagnostics_;
  Stages* out_ = nullptr;
  Span span_;                                // of the statement
  int turning_ = 0;                          // loops of the body around it
  const Table<bool, Ref> copied_;            // EndsOfCopies
  const bool has_dots_;                      // HasDots
  const std::set<const Node*> chained_;      // dots that may be taps of one
  Table<BufferId, Local> local_buffer_;      // none: a scalar
  Table<VariableId, Local> local_variable_;  // none: a tile
  using Temporaries = std::map<const Node*, BufferId>;
  Temporaries temporary_;                // of this statement
  Temporaries sums_;                     // the same, of means
  Temporaries kept_;                     // arguments of reshapes that lets are
  std::map<LocalId, NodePtr> views_;     // of lets that need no memory
  std::map<LocalId, NodePtr> one_hots_;  // of lets that are 0 but in one place, and their parts
  const Table<bool, Local> read_in_parts_;
  const Table<std::set<RefId>, Local> written_after_;  // refs that statements behind a let write
  std::map<const Node*, BufferId> joined_;             // of reshapes that are in the way of none
  bool in_view_ = false;                               // while one is read
  Dividing* dividing_ = nullptr;                       // null: no loop may be divided
  std::map<LocalId, IntegerBounds> local_bounds_;      // of loop variables and lets
  std::map<LocalId, IndexRange> index_ranges_;         // of the same
  struct HoistedRead {
    const Stages* list;
    ElementPtr value;
    VariableId variable;
  };
  std::vector<HoistedRead> hoisted_;                         // of this statement
  std::set<std::pair<const Stages*, const Node*>> checked_;  // of this statement, by list
  std::vector<NodePtr> made_;       // nodes of checks and parts: temporaries are known by theirs
  std::vector<ElementPtr> guards_;  // under which the value at hand is evaluated
};

/// The refs that statements after each let write, in the order of the text.
Table<std::set<RefId>, Local> WrittenAfterLets(const Kernel& kernel);
/// Lets that are read as parts which share no element, each of them once.
Table<bool, Local> ReadInParts(const Kernel& kernel);
/// Whether manual copies read or write a ref in VMEM or SMEM.
Table<bool, Ref> EndsOfCopies(const Kernel& kernel);
/// Whether the body multiplies matrices.
bool HasDots(const Kernel& kernel);
/// Whether what a value reads is one vector along the loop.
bool LanesFit(const Element& e, LoopId loop);

}  // namespace kiln
