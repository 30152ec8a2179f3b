#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/plan/stage.h"
#include "generator/plan/stays.h"

/// Every decision about the generated text, and nothing about how it is spelt. The body becomes
/// *stages*: loops over spaces with scalar or vector statements inside (docs/design/generated.md).
namespace kiln {

/// A set of tile dimensions that always have the same extent and are walked together.
struct Space {
  Size extent;           // of the whole block
  bool clipped = false;  // loops stop where the array does: at the `high` of this operand's axis
  RefId ref;
  size_t view_axis = 0;
};

/// A walk over a space.
struct Loop {
  SpaceId space;
};

/// Something with elements: what a body sees of an operand, scratch, or a value that needs a place.
/// Those of the kernel's refs come first.
struct Buffer {
  std::string name;  // of the ref or local it stands for; a hint for the View
  RefId ref;         // operands and scratch
  DType dtype = DType::kF32;
  Shape extents;
  std::vector<SpaceId> spaces;  // one a dimension; none: extent 1 or no space
  bool dense = false;           // rows without gaps, because another shape looks at it
  BufferId same_as;             // another shape of that buffer's elements
  bool in_pages = false;        // FindPages: copies to it may be left where they are
  bool found = false;           // by a touch: `same_as`, wherever Direct has that
  // Where a value lives, once fused: dropped dimensions need no memory.
  std::vector<bool> dropped;
  bool in_register = false;  // all dimensions dropped
};

inline BufferId BufferOf(RefId ref) { return BufferId(ref.number()); }

struct Variable {
  std::string name;  // hint
  DType dtype = DType::kF32;
  bool changes = false;  // assigned after its definition
};

/// A workspace that `stage::Pack` fills.
struct Panels {
  Side side = Side::kA;
  DType element = DType::kF32;  // as multiplied
  Size rows, cols;              // of the matrix, as multiplied
  SpaceId row_space, col_space;
  int64_t taps = 0;  // rows of so many windows, which are gathered
  std::string name;
};

/// The body under what is known of the reduction's step.
struct BodyPlan {
  std::string name;  // First, Middle, Last, SingleStep; empty: of every step
  Stages stages;
};

/// Blocks that come back: where one of `axes` has several steps, each walks again over the blocks
/// of `window`, which Direct keeps packed.
struct Reuse {
  Axes axes, window;
};

/// Where an operand's block is at a step: its index along each dimension of the array.
struct IndexMap {
  struct Dimension {
    ElementPtr start;
    ElementPtr extent;  // of a block that says how many of its elements are inside; else null
  };
  std::vector<Dimension> dimensions;

  /// Whether a call may end in it, as it looks elements of prefetch arrays up or computes what may
  /// leave 64 bits.
  bool MayFail() const;
  /// Whether all steps have the same block.
  bool IsConstant() const;
};

/// How an operand is held, and what the walk over the grid does with it.
struct OperandPlan {
  enum class Layout { kRows, kPackedA, kPackedAT, kPackedB, kPackedBT };
  Layout layout = Layout::kRows;
  std::string reason;
  IndexMap index;
  bool copied = false;        // also by Direct: an output takes over its memory
  bool reduced = false;       // ReducedRefs
  std::vector<bool> clipped;  // by array dimension
  std::vector<Reuse> reuse;   // outermost first
  Axes stays;                 // inside of all that its index depends on
  bool unpacked = false;   // FindInPlace: an A that is read in place unless its rows are far apart
  SpaceId rows_per_b;      // FindInPlace: a B, for few rows of this space
  int64_t products = 1;    // FindInPlace: of a step that multiply such a B, turns of loops counted
  bool live_rows = false;  // FindInPlace: of which only a step knows how many it needs
  SpaceId columns_per_a;   // FindFewColumns: an A, for few columns of this space
  bool watched = false;    // FindWatched
  bool has_edges = false;  // FindEdges: may be read where it is, beyond its array's edges
  bool knows_first = false, knows_last = false;  // FindVisits
  /// What the elements of an output hold that no step has stored.
  enum class Start { kNothing, kValue, kUndefined, kAlias };
  Start start = Start::kNothing;
  /// Whether an output's elements that no step visits are right as they are: if not, they are due.
  bool MayStay() const { return start != Start::kNothing; }
};

/// Blocks of which Direct may choose the size.
struct FreeBlock {
  enum class Use { kPass, kStrip, kRows, kColumns, kDepth };
  AxisId axis;           // whose steps are cdiv(extent, size)
  SpaceId space;         // that is walked within a block
  Size size;             // the spec's, a constant
  Size extent;           // of the array
  Use use = Use::kPass;  // of an elementwise pass; of a dot's M, N or K
  // How often each element of a block is used, if that may be few times. kDepth, kColumns: the rows
  // that B is multiplied with; kRows: the columns that A is multiplied with, and its depth.
  std::optional<Size> reuse = std::nullopt, depth = std::nullopt;
  bool scaled = false;          // kColumns: few rows multiply B as it is stored
  DType element = DType::kF32;  // kDepth: what the dot multiplies
  RefId unpacked = RefId();     // kDepth: an operand B that may be multiplied unpacked
};

/// A call of host code, before the grid starts, with what its function has for it.
struct HostCallPlan {
  struct Argument {
    const HostArgument* given;  // null: the function's default
    std::string option;         // a member of the function's options; empty: an argument
    bool flag = false;
  };
  struct Result {
    RefId ref;
    std::string member;  // of what the function makes; empty: it fills the array or scalar itself
    bool ends_with_zero = false;  // past the end of what is made; else the last entry is repeated
    std::string used;             // the member that counts the entries to be read; empty: all are
  };
  std::string function, results_type;  // in C++
  bool of_user = false;                // declared in a header of the user's
  std::vector<Argument> arguments;
  bool has_options = false;
  std::vector<Result> results;
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
  const Kernel* kernel = nullptr;           // the spec's, or
  std::shared_ptr<const Kernel> rewritten;  // one whose body says the same by other means
  Table<Space> spaces;
  Table<Loop> loops;
  Table<Buffer> buffers;
  Table<Variable> variables;
  Table<Panels> panels;
  Table<OperandPlan, Ref> operands;
  Table<ElementPtr, Axis> steps;  // how many each axis has
  std::vector<HostCallPlan> host_calls;
  std::vector<BodyPlan> bodies;
  Axes reduction_axes;   // peeled: First is their first step, Last their last
  RefId reduction_stay;  // else an output: First is its block's first visit, Last its last
  RefId carried;         // that the reduction over axes adds up in
  RefId accumulator;     // the same if it is scratch whose layout is register tiles
  std::vector<FreeBlock> free_blocks;
  Dots dots;
  Axes cut_axes;  // parallel axes, in the order in which cores prefer to cut them

  const Space& operator[](SpaceId space) const { return spaces[space]; }
  const Loop& operator[](LoopId loop) const { return loops[loop]; }
  const Buffer& operator[](BufferId buffer) const { return buffers[buffer]; }
  const Variable& operator[](VariableId variable) const { return variables[variable]; }
  const Panels& operator[](PanelsId of) const { return panels[of]; }

  const Space& SpaceOf(LoopId loop) const { return spaces[loops[loop].space]; }
  /// The operand or scratch that a buffer is of; null: a value.
  const Ref* RefOf(BufferId buffer) const {
    const RefId ref = buffers[buffer].ref;
    return ref ? &(*kernel)[ref] : nullptr;
  }
  bool IsAccumulator(BufferId buffer) const {
    return accumulator && buffer == BufferOf(accumulator);
  }

  /// Whether one body is that of all steps of a reduction (MakeOneBody).
  bool HasOneBody() const {
    const Stages& stages = bodies.front().stages;
    const auto* dot = stages.empty() ? nullptr : As<stage::Dot>(stages.back());
    return bodies.size() == 1 && dot && dot->across_steps;
  }
  /// Whether the first step of a reduction differs from others, and whether the last one does.
  bool IsPeeled() const { return bodies.size() > 1 || HasOneBody(); }
  bool Finishes() const { return bodies.size() > 2 || (HasOneBody() && accumulator); }
};

/// A variable's value.
inline ElementPtr NamedElement(const Plan& plan, VariableId variable) {
  return MakeElement(plan[variable].dtype, element::Named{variable});
}

/// The stable text form (`kiln show --stage=plan`).
std::string ToString(const Plan& plan);
/// The same of some stages, in which loops and variables have numbers of their own: stages that do
/// the same have the same text.
std::string CanonicalText(const Plan& plan, const Stages& stages);

}  // namespace kiln
