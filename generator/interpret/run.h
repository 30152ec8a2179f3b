#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "generator/bind/bind.h"
#include "generator/interpret/tiles/value.h"

/// The state of one run. The functions that work on it are in grid.h, blocks.h, evaluate.h,
/// copies.h and body.h.
namespace kiln::interpret {

/// Thrown where a run cannot go on. The diagnostic has been reported.
struct Halt {};

/// A stay of an output block (or of an input block whose memory an output takes over), or a manual
/// copy of an output in HBM. Kept for messages; 0 stands for none.
using StayId = uint32_t;
struct Stay {
  int ref = -1;
  int64_t step = -1;  // its first
};

/// An array in HBM. What is known of each element is kept for arrays that outputs write.
struct HbmArray {
  const Array* input = nullptr;  // arrays that are only read
  Array output;
  bool written = false;
  bool aliased = false;   // an input's memory that an output takes over
  bool readable = false;  // so that others may read what an output writes: aliased or in HBM
  std::vector<OriginId> origins;
  std::vector<StayId> writers;             // the last stay that visited the element; 0: none
  std::vector<StayId> readers, readers_2;  // readable: stays at two different parallel points

  const Array& values() const { return written ? output : *input; }
};

/// Which block of an array, by array dimension.
struct Position {
  Dims index, extent;  // extent: of elements inside, for bounded dimensions; else the block's
};
inline bool operator==(const Position& a, const Position& b) {
  return a.index == b.index && a.extent == b.extent;
}

/// What VMEM or SMEM holds of a ref: the block of an operand, a scratch buffer, a prefetch array
/// or a scalar. Dims are by array dimension.
struct Block {
  Tile tile;  // compact, of the view's extents
  Dims size, view_strides;
  Dims array_extents, array_strides;

  bool held = false;  // the rest is of the block that the buffer holds
  Position position;
  Dims start;          // array coordinates of the block's first element
  Dims low, high;      // the part of the block that is within the array
  int64_t began = -1;  // the first step of the stay
  Tile inside;         // kInside of this position, once asked for
};

/// Elements that a copy in flight touches: of an array in HBM or of a ref's block.
struct Region {
  bool hbm = false;
  int index = -1;  // of Run::arrays or Run::blocks
  Dims start, size;
};

/// Elements that are cut out of something by subscripts.
struct Box {
  Dims start, size;  // by dimension; what strides pass over included
  Dims view;         // extents without the dimensions of points
};

struct Copy {
  int semaphore = -1;
  std::vector<int64_t> slot;
  Region source, target;
  int target_ref = -1;
  Box box;  // of the target
  const std::vector<Subscript>* subscripts = nullptr;
  Tile data;
  Span span;
  int64_t bytes = 0, waited = 0;  // of them, while it is in flight
};

/// A let, var or loop variable.
struct LocalValue {
  Scalar scalar;
  Tile tile;
};

struct Run {
  Run(const Binding& b, bool wide_floats, Diagnostics& d)
      : binding(b), kernel(*b.kernel), wide(wide_floats), diagnostics(d) {}

  const Binding& binding;
  const Kernel& kernel;
  const bool wide;
  Diagnostics& diagnostics;
  std::set<std::pair<std::string, int>> reported;  // rules that were reported of refs

  int64_t serial_steps = 1;    // steps that share their parallel coordinates
  int64_t pipeline_steps = 1;  // steps that share their coordinates outside of the pipeline
  int64_t step = -1;           // in lexicographic order
  int64_t parallel = -1;       // the number of its coordinates along the parallel axes
  std::vector<int64_t> point;  // its coordinates

  Origins origins;
  std::vector<Stay> stays = std::vector<Stay>(1);
  std::vector<HbmArray> arrays;  // by ref; see ArrayIndex
  std::vector<Block> blocks;     // by ref
  std::vector<Position> next;    // by ref; of the current step, while blocks move
  std::vector<LocalValue> locals;
  std::vector<Copy> copies;  // in flight, oldest first

  // Sizes depend on nothing that changes during a run.
  std::unordered_map<const Shape*, Dims> extents;
  std::unordered_map<const Size*, int64_t> sizes;
};

inline const Ref& RefAt(const Run& run, int ref) { return run.kernel[RefId(ref)]; }
inline Block& BlockAt(Run& run, int ref) { return run.blocks[static_cast<size_t>(ref)]; }

/// The entry of Run::arrays that holds a ref's array. Views and aliased outputs share theirs.
inline int ArrayIndex(const Run& run, int ref) {
  const int alias = RefAt(run, ref).alias;
  return run.kernel.ArrayOf(alias >= 0 ? alias : ref);
}
inline HbmArray& ArrayAt(Run& run, int ref) {
  return run.arrays[static_cast<size_t>(ArrayIndex(run, ref))];
}

/// The number of a step's coordinates along the parallel axes.
inline int64_t ParallelOf(const Run& run, int64_t step) { return step / run.serial_steps; }

/// Reports a diagnostic that ends the run.
[[noreturn]] void Fail(Run& run, RuleLabel rule, Span span, std::string message,
                       std::string hint = "", std::vector<Note> notes = {});
/// Fails with [undefined] (or [tail]): `what` is undefined, and where that came from.
[[noreturn]] void FailUndefined(Run& run, Span span, const std::string& what, OriginId origin);

/// Whether this is the first diagnostic of a rule about a ref.
bool FirstReport(Run& run, RuleLabel rule, int ref);

/// "`o[1, 0]`", by its linear index in the array of a ref.
std::string ElementText(const Run& run, int ref, int64_t element);

/// "elements of `x` past the array's edge in dimension 1", and what to do about it.
std::string Describe(const Run& run, const Origin& origin);
std::string Remedy(const Run& run, const Origin& origin);
/// Where an undefined value was made and reduced, as notes.
std::vector<Note> Trail(const Run& run, const Origin& origin);
/// `tail` for an edge that went through a contraction or reduction, else `undefined`.
RuleLabel RuleOf(const Origin& origin);

}  // namespace kiln::interpret
