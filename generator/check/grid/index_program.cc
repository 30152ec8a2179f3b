#include "generator/check/grid/index_program.h"

#include <algorithm>

#include "generator/check/grid/lanes.h"

namespace kiln {

std::optional<int64_t> IndexProgram::Constant(int reg) const {
  for (const Instruction& instruction : code_) {
    if (instruction.to == reg && instruction.op == Op::kConst) return instruction.value;
  }
  return std::nullopt;
}

int64_t IndexProgram::Cost() const {
  // An operand's map is run twice for first(o) and last(o), from coordinates taken lane by lane.
  constexpr int64_t kVisitCost = 32, kDivisionCost = 8;
  int64_t cost = 1;
  for (const ProgramInput& input : inputs_) {
    const bool visit = input.kind == ProgramInput::Kind::kFirstVisit ||
                       input.kind == ProgramInput::Kind::kLastVisit;
    cost += visit ? kVisitCost : 0;
  }
  for (const Instruction& instruction : code_) {
    if (instruction.inputs == 0) continue;  // computed once
    switch (instruction.op) {
      case Op::kFloorDiv:
      case Op::kCeilDiv:
      case Op::kMod:
      case Op::kQuot:
      case Op::kRem:
      case Op::kRead:
        cost += kDivisionCost;
        break;
      default:
        ++cost;
    }
  }
  return cost;
}

/// Computes one register; true when some lane has a fault.
bool IndexProgram::Execute(const Instruction& op) {
  int64_t* to = Register(op.to);
  if (op.op == Op::kConst) {
    std::fill(to, to + kLanes, op.value);
    return false;
  }
  if (op.op == Op::kRead) return Gather(reads_[size_t(op.read)], to);
  const int64_t* a = Lanes(op.a);
  const int64_t* b = op.b >= 0 ? Lanes(op.b) : a;
  const int64_t* c = op.c >= 0 ? Lanes(op.c) : a;
  return ComputeLanes(op, a, b, c, to);
}

bool IndexProgram::Gather(const HostRead& read, int64_t* to) {
  const std::vector<int64_t>& shape = read.array->shape;
  int64_t* at = addresses_.data();
  std::fill(at, at + kLanes, 0);
  uint64_t outside = 0;
  for (size_t d = 0; d < read.subscripts.size(); ++d) {
    const int64_t* index = Lanes(read.subscripts[d]);
    const auto extent = uint64_t(shape[d]);
    for (int i = 0; i < kLanes; ++i) {
      const bool bad = uint64_t(index[i]) >= extent;
      outside |= uint64_t(bad);
      // A lane outside reads element 0 of its row; an inactive one may well be outside.
      at[i] = at[i] * int64_t(extent) + (bad ? 0 : index[i]);
    }
  }
  if (read.array->size() == 0) {
    std::fill(to, to + kLanes, 0);
  } else {
    GatherLanes(*read.array, at, to);
  }
  return outside != 0;
}

EvalFault IndexProgram::FaultOf(const Instruction& op, int lane) const {
  if (op.op == Op::kRead) {
    const HostRead& read = reads_[size_t(op.read)];
    for (size_t d = 0; d < read.subscripts.size(); ++d) {
      const int64_t at = Lanes(read.subscripts[d])[lane];
      if (at < 0 || at >= read.array->shape[d]) return EvalFault::kHostRange;
    }
    return EvalFault::kNone;
  }
  return ComputeLane(op, Lanes(op.a)[lane], Lanes(op.b)[lane]);
}

void IndexProgram::RecordFaults(size_t instruction, int count) {
  const Instruction& op = code_[instruction];
  const int64_t* mask = op.mask >= 0 ? Lanes(op.mask) : nullptr;
  for (int lane = 0; lane < count; ++lane) {
    if ((mask && mask[lane] == 0) || FaultOf(op, lane) == EvalFault::kNone) continue;
    if (!any_fault_) fault_.assign(kLanes, -1);
    any_fault_ = true;
    if (fault_[size_t(lane)] < 0) fault_[size_t(lane)] = int(instruction);
  }
}

void IndexProgram::Run(int count, uint64_t changed) {
  any_fault_ = false;
  for (size_t i = 0; i < code_.size(); ++i) {
    Instruction& instruction = code_[i];
    if (fresh_ || (instruction.inputs & changed) != 0) instruction.faulty = Execute(instruction);
    if (instruction.faulty) RecordFaults(i, count);
  }
  fresh_ = false;
}

LaneFault IndexProgram::FaultAt(int lane) const {
  LaneFault out;
  out.instruction = FaultingInstruction(lane);
  if (out.instruction < 0) return out;
  const Instruction& op = code_[size_t(out.instruction)];
  out.fault = FaultOf(op, lane);
  out.span = op.span;
  if (op.op != Op::kRead) return out;
  const HostRead& read = reads_[size_t(op.read)];
  out.ref = read.ref;
  for (size_t d = 0; d < read.subscripts.size(); ++d) {
    out.dimension = int(d);
    out.at = Lanes(read.subscripts[d])[lane];
    out.extent = read.array->shape[d];
    if (out.at < 0 || out.at >= out.extent) break;
  }
  return out;
}

}  // namespace kiln
