#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// A run of a kernel on a TPU as it passes: which blocks each step of each core copies, what it
/// computes, and when. Made by a walk over the index maps (predict.h) or from the record of an
/// emulated run, and given its times by one function (schedule.h), so that nobody who looks at it
/// has to know where it came from. Seconds are simulated, and count from the start of the grid: a
/// call has `Timeline::dispatch` in front of that.
namespace kiln {

/// One dimension of an operand's array, as blocks cut it.
struct TimelineDim {
  int64_t extent = 0;     // of the array
  int64_t size = 0;       // of a block, at most
  int64_t positions = 1;  // how many places a block can have
  int64_t pitch = 1;      // elements from one place to the next …
  int64_t origin = 0;     // … and the coordinate of the first one, negative in a halo
  bool squeezed = false;  // the body does not see it

  /// The array's coordinate of a block's first element.
  int64_t StartOf(int64_t position) const { return origin + position * pitch; }
};

/// Whatever has memory of a core: inputs, outputs, scratch, prefetch arrays, scalars; and arrays in
/// HBM that the body copies parts of.
struct TimelineOperand {
  enum class Kind : uint8_t { kInput, kOutput, kScratch, kPrefetch, kInHbm };
  std::string name;
  std::string type;  // "bf16[4096, 4096]"
  Kind kind = Kind::kInput;
  bool in_smem = false;
  int ref = -1;  // of Kernel::refs
  int line = 0;  // of the spec
  int64_t element_bits = 0;
  std::vector<TimelineDim> dims;  // of the array
  int64_t buffers = 1;            // slots
  int64_t memory_bytes = 0;       // of all slots of a core, in native tiles
  // Sums over the cores.
  int64_t copies = 0;  // between HBM and a core's memory
  int64_t bytes = 0;
  int64_t skipped = 0;  // steps that found their block in place

  /// The position by dimension of a block (BlockCopy::block).
  std::vector<int64_t> BlockIndex(int64_t block) const {
    std::vector<int64_t> index(dims.size());
    for (size_t d = dims.size(); d-- > 0; block /= dims[d].positions)
      index[d] = block % dims[d].positions;
    return index;
  }
};

/// A DMA between HBM and a core's memory.
struct BlockCopy {
  int32_t operand = -1;  // of Timeline::operands
  bool out = false;      // to HBM
  bool manual = false;   // started by the body, on an operand in HBM
  int64_t block = 0;     // its place, row-major (TimelineOperand::BlockIndex)
  int64_t bytes = 0;     // inside the array
  double begin = 0;      // when the DMA begins to move it: it may have queued since its step
  double end = 0;
};

/// What a step computes. Steps with the same statements on blocks of the same size share one.
struct StepWork {
  bool skipped = false;    // no statement runs but scalar ones
  double flops = 0;        // of dots, as written: 2 m n k
  double mxu_seconds = 0;  // of dots, padded to the matmul unit's edge
  double vpu_seconds = 0;  // what vector operations take beside it
  double vector_ops = 0;   // on single elements
  std::string statements;  // which of the guarded ones run: "lines 31, 33"

  double seconds() const { return mxu_seconds + vpu_seconds; }
};

/// One step of a core, in the order of time:
///   begin    the step before has ended
///   compute  its blocks are in place: what came before was waiting for copies
///   end      the body has run, or the floor of a step has passed, whichever is later
/// Copies in are those that bring this step's blocks (they run beside the steps before); copies out
/// are of blocks that this step leaves (they run beside the steps after).
struct TimelineStep {
  int64_t point = 0;       // of the grid, in lexicographic order (Timeline::PointOf)
  int32_t work = 0;        // of Timeline::works
  int32_t copies = 0;      // so many copies belong to it, …
  int64_t first_copy = 0;  // … from this one of TimelineCore::copies on
  double begin = 0;
  double compute = 0;
  double end = 0;
};

/// What passes in some consecutive steps, or in all.
struct TimelineTotals {
  int64_t steps = 0;
  int64_t skipped_steps = 0;  // see StepWork
  int64_t copies_in = 0, copies_out = 0;
  int64_t bytes_in = 0, bytes_out = 0;
  double flops = 0;
  // Seconds add up to `seconds`: of each step the time it waits, the time of its matmuls and of its
  // vector operations, and the rest up to the floor.
  double seconds = 0;
  double wait = 0;
  double mxu = 0;
  double vpu = 0;
  double overhead = 0;
  double dma = 0;  // in which some copy moves bytes; beside the others
};

/// Some consecutive steps, as large runs are shown.
struct TimelineSegment {
  int64_t first_step = 0;  // counts the core's steps from 0
  double begin = 0;
  TimelineTotals totals;
};

struct TimelineCore {
  TimelineTotals totals;
  /// All steps, in at most Timeline::kMaxSegments runs of about equally many.
  std::vector<TimelineSegment> segments;
  /// All steps one by one, unless there are too many: then `detailed` is false, and these are the
  /// first ones only.
  bool detailed = true;
  std::vector<TimelineStep> steps;
  std::vector<BlockCopy> copies;  // of `steps`, in their order
};

struct Timeline {
  static constexpr int64_t kMaxSteps = int64_t{1} << 18;    // one by one, of a core
  static constexpr int64_t kFirstSteps = int64_t{1} << 16;  // … if there are more than that
  static constexpr int64_t kMaxSegments = 4096;

  struct Axis {
    std::string name;
    int64_t steps = 0;
    bool parallel = false;
  };

  std::string kernel;
  std::string machine;
  bool emulated = false;  // recorded, not predicted
  std::vector<Axis> axes;
  std::vector<TimelineOperand> operands;
  std::vector<StepWork> works;
  std::vector<TimelineCore> cores;  // those of the machine that the call uses
  // Of one core.
  int64_t vmem_bytes = 0, vmem_budget = 0;
  int64_t smem_bytes = 0, smem_budget = 0;

  double dot_flops_per_second = 0;  // of a core, in the type of the first dot; 0: there is none
  double hbm_bytes_per_second = 0;  // that copies of a core reach

  double dispatch = 0;  // of the call, before the grid
  double seconds = 0;   // dispatch, and the slowest core

  /// The grid's coordinates of a point.
  std::vector<int64_t> PointOf(int64_t point) const {
    std::vector<int64_t> at(axes.size());
    for (size_t a = axes.size(); a-- > 0; point /= axes[a].steps) at[a] = point % axes[a].steps;
    return at;
  }
};

}  // namespace kiln
