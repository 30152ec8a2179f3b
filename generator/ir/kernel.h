#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generator/ir/action.h"
#include "generator/ir/index.h"
#include "generator/ir/node.h"
#include "generator/spec/spec.h"
#include "generator/text/diagnostic.h"

/// The checked, typed form of a spec: names are resolved, params folded, types and shapes known,
/// dead branches gone. Sizes are still symbolic (see Bind for sizes).
namespace kiln {

enum class Role { kArgument, kPrefetch, kScalar, kInput, kOutput, kScratch, kSemaphore };
enum class Memory { kVmem, kSmem, kAny };

struct BlockDim {
  enum class Kind {
    kBlocked,   // start = index * size
    kAll,       // the whole dimension
    kSqueezed,  // size 1, absent from the view; start = index
    kElement,   // start = index - halo_low
    kBounded,   // start = index, extent (a node) of the block's `size` elements are inside
  };
  Kind kind = Kind::kBlocked;
  Span span;
  Size size;
  Size halo_low, halo_high;  // kElement
  NodePtr index;             // kIndex scalar (kAll: constant 0)
  NodePtr extent;            // kBounded
  Span index_span;
};

/// Everything a body can name that holds array elements (and semaphores).
struct Ref {
  std::string name;
  Span span;
  Role role = Role::kInput;
  Memory memory = Memory::kVmem;
  DType dtype = DType::kF32;
  Shape array;                    // of the whole array; scalars: []
  std::vector<BlockDim> block;    // inputs and outputs: one a dimension of the array
  Shape view;                     // what the body sees (scratch, prefetch: the whole)
  std::vector<size_t> view_dims;  // the array dimension of each view axis, …
  std::vector<size_t> joined;  // … and those that the planner lets the body see as one with the
                               // dimension before (WithJoinedDimensions)
  NodePtr pad;                 // a kConst of the dtype, or null: undefined
  NodePtr init;                // outputs; a kConst, or null
  bool init_undefined = false;
  int buffers = 2;
  int alias = -1;                     // outputs: the input whose memory it takes over
  int view_of = -1;                   // the ref whose array this is another window on
  std::vector<int64_t> counts = {1};  // of semaphores, by dimension
  bool prepared = false;              // made by `prepare`, not an argument
  bool in_pipeline = false;           // no stay of it is longer than a pipeline

  /// Of an axis of the view.
  const BlockDim& DimOf(size_t view_axis) const { return block[view_dims[view_axis]]; }
  /// The last of the array's dimensions that are an axis of the view.
  size_t LastDimOf(size_t view_axis) const;
  /// Whether rows of a block have all of an array's dimension, and begin with one before.
  bool IsInRow(size_t dim) const;
  /// Elements of the array along an axis of the view.
  Size ExtentOf(size_t view_axis) const;
  int64_t CountOfSemaphores() const {
    return std::accumulate(counts.begin(), counts.end(), int64_t{1}, std::multiplies<>());
  }
};

/// Whether the grid moves its blocks.
inline bool IsPipelined(const Ref& ref) {
  return (ref.role == Role::kInput || ref.role == Role::kOutput) && ref.memory != Memory::kAny;
}

/// The place of an operand's index map, or of the operand.
Span MapSpan(const Ref& ref);

struct Axis {
  std::string name;
  Span span;
  NodePtr steps;
  bool parallel = false;
  bool outside = false;  // of the pipeline that is the body
};

struct Dim {
  std::string name;
  Span span;
  int64_t multiple_of = 1;
  int64_t min = 0;
  std::optional<int64_t> max;
  std::optional<int64_t> fixed;  // also folded into every expression
};

struct Local {
  std::string name;
  Span span;
  DType dtype = DType::kI32;
  Shape shape;
  enum class Kind { kLet, kVar, kLoop } kind = Kind::kLet;
};

/// What must hold of the sizes and could not be proved from the spec alone.
struct Obligation {
  enum class Kind { kEqual, kAtLeast };  // left == right, left >= right
  Kind kind = Kind::kEqual;
  Size left, right;
  RuleLabel rule;
  Span span;
  std::string message;  // what it is about: "the operands of + differ in dimension 1"
};

struct Require {
  NodePtr condition;
  std::string text;
};

struct HostArgument {
  std::string keyword;  // empty: positional
  int ref = -1;         // an array, or
  NodePtr value;        // an index scalar
};

struct HostCall {
  std::vector<int> results;  // refs
  std::string function;
  std::string header;  // a user's own function
  std::vector<HostArgument> arguments;
  Span span;
};

struct Variant {
  NodePtr when;
  std::vector<std::pair<std::string, std::string>> set;  // as for CheckOptions::set
  bool fixed_blocks = false;
  Span span;
  std::shared_ptr<const Source> lock;           // the file it is from; null: the spec itself
  std::shared_ptr<const struct Kernel> kernel;  // its specialisation, once it is checked
};

/// What an output ought to be.
struct Reference {
  int ref = -1;
  Span span;
  std::string file;  // beside the spec, without its folder; empty: Kernel::reference computes it
};

using RefId = Id<Ref>;
using AxisId = Id<Axis>;
using DimId = Id<Dim>;
using LocalId = Id<Local>;

struct Param {
  std::string name;
  std::string value;  // canonical text: "512", "bf16", "true", "0.5"
};

struct Kernel {
  std::shared_ptr<const Source> source;
  std::string name;
  std::string instance;
  std::string doc;
  std::vector<Param> params;
  std::vector<Dim> dims;
  std::vector<Axis> axes;
  std::vector<Ref> refs;  // arguments, prefetch, scalars, inputs, outputs, scratch: spec order
  std::vector<Local> locals;
  std::vector<Require> require;
  std::vector<HostCall> prepare;
  std::vector<Variant> variants;
  std::vector<Obligation> obligations;
  Actions body;
  Actions epilogue;                   // runs at the last visit of epilogue_outputs
  std::vector<int> epilogue_outputs;  // refs; they must have the same stays
  bool fixed_blocks = false;          // Direct takes the spec's blocks and none of its own
  std::vector<Reference> references;
  /// One step without blocks that computes `references` from the same arguments, floats as f64;
  /// null: no expression does.
  std::shared_ptr<const Kernel> reference;

  Ref& operator[](RefId ref) { return refs[ref.position()]; }
  const Ref& operator[](RefId ref) const { return refs[ref.position()]; }
  const Axis& operator[](AxisId axis) const { return axes[axis.position()]; }
  const Dim& operator[](DimId dim) const { return dims[dim.position()]; }
  Local& operator[](LocalId local) { return locals[local.position()]; }
  const Local& operator[](LocalId local) const { return locals[local.position()]; }

  int FindRef(std::string_view name) const;
  int FindDim(std::string_view name) const;
  int FindAxis(std::string_view name) const;
  /// The ref whose array `ref` is a window on: itself unless it is a view.
  int ArrayOf(int ref) const {
    const int of = refs[static_cast<size_t>(ref)].view_of;
    return of >= 0 ? of : ref;
  }
  /// The output that takes over the memory of the ref's array; -1: none.
  int BorrowerOf(int ref) const;
  /// Whether some output takes over an input's memory.
  bool HasAliases() const;
};

struct CheckOptions {
  std::string instance;                                  // empty: the first, or the bare kernel
  std::vector<std::pair<std::string, std::string>> set;  // --set; values as text
  bool fixed_blocks = false;                             // of Kernel
  bool ignore_variants = false;                          // elaborate the base text alone
  bool sizes_follow = false;  // the caller binds sizes, with which the semantic rules are exact
};

/// The name of a kernel in C++, in C and of its files: that of the instance, if it is one.
const std::string& GeneratedName(const Kernel& kernel);

/// The stable text form (`kiln show --stage=kernel`).
std::string ToString(const Kernel& kernel);

}  // namespace kiln
