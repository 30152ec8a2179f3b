#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generator/syntax/trees.h"

namespace kiln {

/// What a spec file says, section by section, in its order; nothing resolved.
/// Every part keeps the place it came from.

struct ParamSpec {
  Ident name;
  ExprPtr value;
};

struct DimSpec {
  Ident name;
  ExprPtr fixed;  // `k: 4096`
  ExprPtr multiple_of, min, max;
};

struct LetSpec {
  Ident name;
  ExprPtr value;
};

/// prefetch and arguments
struct ArraySpec {
  Ident name;
  ArrayType type;
};

struct ScalarSpec {
  Ident name;
  Ident dtype;
};

struct PrepareSpec {
  std::vector<Ident> results;
  ExprPtr call;
  std::string header;  // of a user's own function; empty for the registry
  Span span;
};

struct AxisSpec {
  Ident name;
  ExprPtr steps;
};

struct BlockEntry {
  enum class Kind { kSize, kAll, kSqueezed, kElement, kBounded };
  Kind kind = Kind::kSize;
  Span span;
  ExprPtr size;                 // kSize, kElement, kBounded
  ExprPtr halo_low, halo_high;  // kElement; null: 0
};

/// One alternative of an operand. Absent fields are null, nullopt or an empty name.
struct OperandSpec {
  Span span;  // of the operand's name, or of the alternative in a list
  ExprPtr condition;
  std::optional<ArrayType> array;
  std::optional<std::vector<BlockEntry>> block;
  Span block_span;
  std::optional<std::vector<ExprPtr>> index;
  Span index_span;
  Ident like, view, memory, alias;
  ExprPtr pad, init, buffers;
  bool init_undefined = false;
  bool in_pipeline = false;  // ApplyPipeline: its window is in `over`
};

struct OperandEntry {
  Ident name;
  std::vector<OperandSpec> alternatives;  // one, unless the entry is a list
};

struct ScratchSpec {
  Ident name;
  std::optional<ArrayType> array;  // none for a semaphore
  Ident memory;                    // vmem unless given
  Ident semaphore;                 // `dma`
  std::vector<ExprPtr> count;      // of semaphores, by dimension; empty: one
};

/// A grid inside of each step of the kernel's own, which is all that the step does.
struct PipelineSpec {
  Span span;
  std::vector<AxisSpec> grid;
  std::vector<Ident> semantics;
  Span semantics_span;
  struct Over {
    Ident operand;
    OperandSpec window;  // of its array in HBM
  };
  std::vector<Over> over;
  std::vector<Stmt> body;
  std::vector<Stmt> epilogue;
};

struct VariantSpec {
  Span span;
  ExprPtr when;
  std::vector<ParamSpec> set;
  bool fixed_blocks = false;
};

/// An entry of a lock file.
struct LockEntry : VariantSpec {
  Ident instance;  // empty: of the bare kernel
  std::string note;
};

/// A lock file: what `kiln tune` found, in front of the variants of the spec beside it.
struct LockSpec {
  std::shared_ptr<const Source> source;
  Ident kernel;
  std::vector<LockEntry> variants;
};

struct VmapSpec {
  Span span;
  Ident axis, dim;
  struct Over {
    Ident operand;
    ExprPtr position;
  };
  std::vector<Over> over;
};

struct InstanceSpec {
  Ident name;
  std::vector<ParamSpec> set;
};

struct GoldenSpec {
  Span span;
  std::vector<std::pair<Ident, std::string>> sizes;  // dims, scalars, `seed`; values as text
};

/// What an output ought to be, of whole arrays: an expression, or a file that holds it.
struct ReferenceSpec {
  Ident output;
  Span span;         // of the value
  ExprPtr value;     // null: a file, or a fault that was reported
  std::string file;  // beside the spec
};

struct Spec {
  std::shared_ptr<const Source> source;
  Ident kernel;
  std::string doc;
  std::vector<ParamSpec> params;
  bool dims_closed = false;  // `dims` was a list
  std::vector<DimSpec> dims;
  std::vector<ExprPtr> require;
  std::vector<LetSpec> lets;
  std::vector<ArraySpec> arguments;
  std::vector<ArraySpec> prefetch;
  std::vector<ScalarSpec> scalars;
  std::vector<PrepareSpec> prepare;
  std::vector<AxisSpec> grid;
  std::vector<Ident> semantics;
  Span semantics_span;
  std::vector<OperandEntry> inputs;
  std::vector<OperandEntry> outputs;
  std::vector<ScratchSpec> scratch;
  std::vector<Stmt> body;
  std::vector<Stmt> epilogue;
  std::optional<PipelineSpec> pipeline;  // in place of a body
  std::optional<size_t> first_inside;    // ApplyPipeline: the first axis of the pipeline's grid
  std::vector<VariantSpec> variants;
  std::optional<VmapSpec> vmap;
  std::vector<InstanceSpec> instances;
  std::vector<GoldenSpec> golden;
  std::vector<ReferenceSpec> reference;
  std::shared_ptr<const LockSpec> lock;  // AttachLock; null: there is none
};

/// YAML text to Spec: limits, YAML, keys, and the grammar inside the values.
/// Null when any error was found; all of the file's errors are reported.
std::unique_ptr<Spec> ParseSpec(std::shared_ptr<const Source> source, Diagnostics& diagnostics);

/// The stable text form (`kiln show --stage=spec`).
std::string ToString(const Spec& spec);

}  // namespace kiln
