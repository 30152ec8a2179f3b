#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "generator/check/grid/common.h"
#include "generator/predict/steps/core_grid.h"
#include "generator/predict/steps/manual_copies.h"
#include "generator/predict/steps/step_shape.h"
#include "generator/predict/steps/work.h"

namespace kiln {

/// Coordinates of grid points, by axis and lane; kLanes of each.
using LanePoints = std::vector<std::vector<int64_t>>;

/// Says from index maps and conditions what steps do: whole batches of grid points at a time, and
/// never from data.
class GridSteps {
 public:
  /// Needs the binding's steps, and a known index map of each operand.
  GridSteps(const Binding& binding, const Machine& machine,
            const std::vector<TimelineOperand>& operands);

  /// Points from now on are of this part of the grid.
  void Enter(const CoreGrid& grid) { grid_ = &grid; }
  /// The steps at lanes 0 … count-1; lanes past them must hold copies of valid points.
  void Evaluate(const LanePoints& points, int count);

  // Of the last Evaluate:
  int32_t ShapeAt(int lane) const { return shape_[static_cast<size_t>(lane)]; }
  /// The block of a pipelined operand that the step has, or (`before`) that the step before it had.
  int64_t BlockAt(int32_t operand, int lane, bool before) const;
  const std::vector<ManualEvent>& ManualAt(int lane) const;

  /// What leaves VMEM after the last point of the part of the grid.
  StepShape AfterLast();

  ShapeTable& table() { return table_; }
  const std::vector<StepWork>& works() const { return works_; }
  const Workload& workload() const { return workload_; }
  /// See ManualCopies.
  bool cut_off() const { return manual_ && manual_->cut_off(); }
  /// What is kept of all steps so far, about.
  int64_t held_bytes() const;
  /// How far steps can distinguish the coordinates of each axis: kEnds means that all but the first
  /// and the last two look the same, whatever the other coordinates are.
  std::vector<AxisUse> axis_uses() const;

 private:
  /// An operand that the pipeline copies.
  struct Pipelined {
    int32_t operand = -1;
    int ref = -1;
    bool output = false;
    MapProgram map;
    std::vector<DimSizes> sizes;
    std::vector<int64_t> strides;  // of positions
    // By lane: the block now and that of the step before, their bytes, and whether they differ.
    std::vector<int64_t> block, block_before, bytes, bytes_before, moved;
  };
  /// The blocks of some points.
  struct Blocks {
    std::vector<std::vector<int64_t>> index;  // by register of the map, by lane
  };

  void AddConditions();
  static Blocks BlocksAt(MapProgram& map, const LanePoints& points, int count);
  void Number(const Pipelined& operand, const Blocks& blocks, int count,
              std::vector<int64_t>& block, std::vector<int64_t>& bytes) const;
  void Neighbours(const LanePoints& points, int count, bool forward, LanePoints& to,
                  std::vector<int64_t>& exists, std::vector<int64_t>& same_run) const;
  void EvaluateCopies(const LanePoints& points, int count);
  void EvaluateConditions(const LanePoints& points, int count);
  void FillVisit(const ProgramInput& input, const LanePoints& points, int count);
  int32_t WorkAt(int lane);
  int32_t InternAt(int lane);
  void MergeUse(const Node& node, std::vector<AxisUse>& use) const;
  void MergeMapUse(const Pipelined& operand, std::vector<AxisUse>& use) const;

  const Binding& binding_;
  const Kernel& kernel_;
  const CoreGrid* grid_ = nullptr;
  Workload workload_;
  std::vector<Pipelined> pipelined_;
  std::unique_ptr<ManualCopies> manual_;  // null: the body copies nothing

  IndexProgram conditions_;
  std::map<int, MapProgram> visited_;  // refs whose stays conditions ask for
  std::vector<int> runs_;              // by guarded work: the register of how often it runs
  LanePoints before_, after_;
  std::vector<int64_t> exists_, same_run_, exists_after_, same_run_after_;

  std::vector<uint64_t> hash_;                    // by lane
  std::vector<int32_t> shape_;                    // by lane
  std::vector<std::vector<ManualEvent>> events_;  // by lane
  std::unordered_map<uint64_t, int32_t> seen_;    // hash of a lane -> shape
  ShapeTable table_;
  std::vector<StepWork> works_;
  std::map<std::vector<int64_t>, int32_t> work_of_runs_;
};

}  // namespace kiln
