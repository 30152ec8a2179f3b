#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/ir/kernel.h"

/// Every decision about the generated text, and nothing about how it is spelt. The body becomes
/// *stages*: loops over spaces with scalar or vector statements inside (docs/design/generated.md).
namespace kiln {

/// A set of tile dimensions that always have the same extent and are walked together.
struct Space {
  Size extent;           // of the whole block
  bool clipped = false;  // loops stop where the array does: at the `high` of this operand's axis
  int ref = -1;
  int view_axis = -1;
};

struct Element;
using ElementPtr = std::shared_ptr<const Element>;

/// One coordinate of a place in a buffer: `loop + offset`.
struct Coordinate {
  int loop = -1;               // none: the offset alone
  ElementPtr offset;           // an index scalar; null: 0
  std::optional<Size> around;  // taken modulo this extent
};

struct Place {
  int buffer = -1;
  std::vector<Coordinate> at;  // one a dimension
};

/// A value at one point of the loops around it: a vector where a lane loop is among those it
/// depends on, else a scalar.
struct Element {
  enum class Kind {
    kConst,       // int_value, float_value
    kOp,          // op of args; kCast and kBitcast from args[0]->dtype
    kLoad,        // place
    kVariable,    // index
    kScalar,      // index: ref
    kAxis,        // index
    kSteps,       // index
    kDim,         // index
    kFirstStep,   // index: axis
    kLastStep,    // index: axis
    kFirstVisit,  // index: ref
    kLastVisit,   // index: ref
    kLoop,        // index: the loop; its variable as an integer
    kLow,         // index: ref; axis: of its view: the first coordinate inside the array,
    kHigh,        // … one past the last,
    kOrigin,      // … the array's coordinate of the block's element 0
    kNoValue,     // what the machine holds where an operation of integers has no value
  };
  Kind kind = Kind::kConst;
  Op op = Op::kConst;
  DType dtype = DType::kI32;
  std::vector<ElementPtr> args;
  Place place;
  int index = -1;
  int axis = -1;
  int64_t int_value = 0;
  double float_value = 0;
};

/// Something with elements: what a body sees of an operand, scratch, or a value that needs a place.
struct Buffer {
  std::string name;  // of the ref or local it stands for; a hint for the View
  int ref = -1;      // operands and scratch
  DType dtype = DType::kF32;
  Shape extents;
  std::vector<int> spaces;  // one a dimension; -1: extent 1 or no space
  bool dense = false;       // rows without gaps, because another shape looks at it
  int same_as = -1;         // another shape of that buffer's elements
  // Where a value lives, once fused: dropped dimensions need no memory.
  std::vector<bool> dropped;
  bool in_register = false;  // all dimensions dropped
};

struct Variable {
  std::string name;  // hint
  DType dtype = DType::kF32;
  bool changes = false;  // assigned after its definition
};

enum class Side { kA, kB };

/// What a dot reads: panels of an operand as its copy made them, or panels packed from a buffer.
struct PanelSource {
  int ref = -1;     // an operand held as panels
  int panels = -1;  // else: Plan::panels
  bool transposed = false;
};

/// A workspace that kPack fills.
struct Panels {
  Side side = Side::kA;
  DType element = DType::kF32;  // as multiplied
  Size rows, cols;              // of the matrix, as multiplied
  std::string name;
};

/// How much of a dimension a manual copy takes.
struct WindowDim {
  Size size;
  bool point = false;
};

/// What is requested from memory long before it is read.
struct Prefetch {
  enum class Kind {
    kElement,  // the place, as a tile begins
    kStream,   // lanes further along those that a pass reads, if its result bypasses the caches
    kNextRow,  // of the next row of a loop, in a pass over this one: its share
  };
  Kind kind = Kind::kElement;
  Place place;
  int row = -1;                     // the loop over rows; kStream: or none
  int from = 0, to = 1, parts = 1;  // kNextRow: the share
};

struct Stage;
using Stages = std::vector<Stage>;

struct Stage {
  enum class Kind {
    kLoop,     // loop: body
    kLanes,    // loop, by vectors: body
    kRows,     // loop, some at a time: body, in which …
    kEachRow,  // … is the loop over those
    kDefine,   // variable = value
    kAssign,   // variable = value again
    kStore,    // place = value, where mask
    kReduce,   // variable = op over the lane loop of value, which comes after `body`
    kDot,      // see below
    kPack,     // panels = the matrix at place
    kIf,       // value: body, orelse
    kFor,      // variable from low to high: body
    kAssert,   // value, text
    kRange,    // fails unless 0 <= value <= high - low; text says of what
    kTouch,    // fails where a copy in flight has to do with the window at `place`
    kCopy,     // `from` to `place`, on semaphore[value]
    kWait,     // for semaphore[value]
  };
  Kind kind = Kind::kStore;
  Span span;
  int loop = -1;
  int variable = -1;
  Op op = Op::kConst;
  Place place;
  ElementPtr value;
  ElementPtr mask;
  ElementPtr low, high;
  std::string text;
  std::vector<Stage> body, orelse;

  // kDot: for each tile of (row, col) loops: sum = start + dot(a, b); then `body`, a lane
  // loop's statements in which `variable` is the sum. `low` and `high`, if given, bound the rows.
  // `across_steps`: the sums add up in the accumulators, from 0 in the first step of the reduction;
  // `prefetches` and `body` are for its last step alone.
  PanelSource a, b;
  bool across_steps = false;
  int row = -1, col = -1;  // loops
  int depth = -1;          // space
  DType element = DType::kF32;
  ElementPtr start;  // null: 0
  std::vector<Prefetch> prefetches;
  // kPack: which coordinates of `place` run over rows and columns of the matrix as multiplied.
  int panels = -1;
  int pack_row = -1, pack_col = -1;  // loops
  // kPack: `low` and `high` bound the depth that is packed; panels of A name it.
  int live = -1;
  bool writes = false;  // kTouch
  // kCopy, kTouch: the windows; `from` and `place` have where they begin. kWait: the buffers that
  // copies on its semaphore touch.
  int semaphore = -1;  // ref
  Place from;
  std::vector<WindowDim> from_window, place_window;
  std::vector<int> touched;
};

/// The body under what is known of the reduction's step.
struct BodyPlan {
  std::string name;  // First, Middle, Last, SingleStep; empty: of every step
  std::vector<Stage> stages;
};

/// Blocks that come back: where one of `axes` has several steps, each walks again over the blocks
/// of `window`, which Direct keeps packed.
struct Reuse {
  std::vector<int> axes, window;
};

/// How an operand is held.
struct OperandPlan {
  enum class Layout { kRows, kPackedA, kPackedAT, kPackedB, kPackedBT };
  Layout layout = Layout::kRows;
  std::string reason;
  bool used = false;          // some body reads or writes it
  bool copied = false;        // also by Direct: an output takes over its memory
  bool reduced = false;       // ReducedRefs
  std::vector<bool> clipped;  // by array dimension
  std::vector<Reuse> reuse;   // outermost first
  bool unpacked = false;  // FindInPlace: an A that is read in place unless its rows are far apart
  int rows_per_b = -1;    // FindInPlace: a B, for few rows of this space
};

/// Blocks of which Direct may choose the size.
struct FreeBlock {
  enum class Use { kPass, kStrip, kRows, kColumns, kDepth };
  int axis;              // whose steps are cdiv(extent, size)
  int space;             // that is walked within a block
  int64_t size;          // the spec's
  Size extent;           // of the array
  Use use = Use::kPass;  // of an elementwise pass; of a dot's M, N or K
  // How often each element of a block is used, if that may be few times. kDepth, kColumns: the rows
  // that B is multiplied with; kRows: the columns that A is multiplied with, and its depth.
  std::optional<Size> reuse = std::nullopt, depth = std::nullopt;
  int unpacked = -1;  // kDepth: an operand B that may be multiplied unpacked
};

/// What the dots of all bodies multiply.
struct Dots {
  bool any = false;
  bool of_bf16 = false;
  bool of_bytes = false;

  /// Bytes need a CPU's best instructions, so that beside them bf16 takes those too.
  bool MayBeF32() const { return of_bf16 && !of_bytes; }

  Dots& operator|=(const Dots& other) {
    any |= other.any;
    of_bf16 |= other.of_bf16;
    of_bytes |= other.of_bytes;
    return *this;
  }
};

struct Plan {
  const Kernel* kernel = nullptr;
  std::vector<Space> spaces;
  std::vector<int> loops;  // the space of each loop
  std::vector<Buffer> buffers;
  std::vector<Variable> variables;
  std::vector<Panels> panels;
  std::vector<OperandPlan> operands;  // by ref
  std::vector<BodyPlan> bodies;
  std::vector<int> reduction_axes;  // peeled: First is their first step, Last their last
  int reduction_stay = -1;  // else an output: First is its block's first visit, Last its last
  int carried = -1;         // ref that the reduction over axes adds up in
  int accumulator = -1;     // the same if it is scratch whose layout is register tiles
  std::vector<FreeBlock> free_blocks;
  Dots dots;
  std::vector<int> cut_axes;  // parallel axes, in the order in which cores prefer to cut them

  /// Whether one body is that of all steps of a reduction (MakeOneBody).
  bool HasOneBody() const {
    const auto& stages = bodies.front().stages;
    return bodies.size() == 1 && !stages.empty() && stages.back().across_steps;
  }
  /// Whether the first step of a reduction differs from others, and whether the last one does.
  bool IsPeeled() const { return bodies.size() > 1 || HasOneBody(); }
  bool Finishes() const { return bodies.size() > 2 || HasOneBody(); }
};

/// The stable text form (`kiln show --stage=plan`).
std::string ToString(const Plan& plan);
/// The same of some stages, in which loops and variables have numbers of their own: stages that do
/// the same have the same text.
std::string CanonicalText(const Plan& plan, const Stages& stages);

Stage StageOf(Stage::Kind kind, Span span);
/// An element without arguments.
std::shared_ptr<Element> Leaf(Element::Kind kind, DType dtype, int index, int axis = -1);
ElementPtr Constant(const Node& node);
ElementPtr IndexConstant(int64_t value);
/// An index expression or a host condition.
ElementPtr IndexElement(const Kernel& kernel, const Node& node);
ElementPtr MakeOp(Op op, DType dtype, std::vector<ElementPtr> args);
bool SameElement(const ElementPtr& a, const ElementPtr& b);
bool SameCoordinate(const Coordinate& a, const Coordinate& b);
bool SamePlace(const Place& a, const Place& b);

}  // namespace kiln
