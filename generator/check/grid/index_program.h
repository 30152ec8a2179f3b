#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "generator/bind/bind.h"

/// Scalar integer and bool expressions over the grid, compiled to a straight-line program on
/// registers of kLanes values: one lane a grid point. Every result has a register of its own, so
/// what does not change from one batch to the next is not computed again.
namespace kiln {

/// Values in a register. A register is 4 KiB, so that a small program stays in the first cache.
inline constexpr int kLanes = 512;

/// How much of an axis an expression can distinguish.
enum class AxisUse : uint8_t { kNone, kEnds, kFull };  // kEnds: the first and last step only

/// A register that is filled from outside before each run.
struct ProgramInput {
  enum class Kind : uint8_t {
    kAxis,        // coordinate along axis `index`
    kLoop,        // the variable of a loop: local `index`
    kFirstVisit,  // 1 on the first step of ref `index`'s stay
    kLastVisit,
  };
  Kind kind = Kind::kAxis;
  int index = -1;
  int reg = -1;
};

/// A host array that a program reads elements of.
struct HostRead {
  const Array* array = nullptr;
  int ref = -1;
  std::vector<int> subscripts;  // registers, one a dimension
};

struct Instruction {
  Op op = Op::kConst;
  bool checked = false;  // kIndex arithmetic: overflow is a fault
  DType dtype = DType::kIndex;
  int to = -1, a = -1, b = -1, c = -1;
  int mask = -1;        // register; faults count only where it is not 0. -1: everywhere
  int read = -1;        // kRead
  int64_t value = 0;    // kConst
  uint64_t inputs = 0;  // the inputs it depends on, a bit each
  bool faulty = false;  // some lane of the last run had a fault, active or not
  Span span;
};

/// What went wrong in one lane.
struct LaneFault {
  EvalFault fault = EvalFault::kNone;
  int instruction = -1;
  Span span;
  int ref = -1;        // kHostRange: the array, …
  int dimension = 0;   // … the dimension
  int64_t at = 0;      // … the offending subscript
  int64_t extent = 0;  // … and its limit
};

class IndexProgram {
 public:
  /// The inputs, in bit order. Beyond 64, the last bit stands for all the rest.
  const std::vector<ProgramInput>& inputs() const { return inputs_; }
  static uint64_t BitOf(size_t input) { return uint64_t{1} << (input < 63 ? input : 63); }
  /// How the results depend on each axis, through the inputs of every kind.
  const std::vector<AxisUse>& axis_use() const { return axis_use_; }

  /// How long a grid point takes, in additions; at least 1.
  int64_t Cost() const;

  int64_t* Fill(int reg) { return Register(reg); }
  const int64_t* Lanes(int reg) const { return values_.data() + size_t(reg) * kLanes; }
  /// The value of a register that depends on no input; nullopt for others.
  std::optional<int64_t> Constant(int reg) const;

  /// Evaluates lanes 0 … count-1. `changed` has the bits of the inputs whose registers were filled
  /// anew; lanes past `count` must hold copies of valid ones.
  void Run(int count, uint64_t changed);

  bool AnyFault() const { return any_fault_; }
  bool Faulted(int lane) const { return any_fault_ && fault_[size_t(lane)] >= 0; }
  /// The instruction that faulted first in this lane, or -1.
  int FaultingInstruction(int lane) const { return any_fault_ ? fault_[size_t(lane)] : -1; }
  LaneFault FaultAt(int lane) const;

 private:
  friend class ProgramBuilder;

  int64_t* Register(int reg) { return values_.data() + size_t(reg) * kLanes; }
  bool Execute(const Instruction& instruction);
  bool Gather(const HostRead& read, int64_t* to);
  EvalFault FaultOf(const Instruction& instruction, int lane) const;
  void RecordFaults(size_t instruction, int count);

  std::vector<Instruction> code_;
  std::vector<HostRead> reads_;
  std::vector<ProgramInput> inputs_;
  std::vector<AxisUse> axis_use_;
  std::vector<int64_t> values_;
  std::vector<int64_t> addresses_;  // of Gather
  std::vector<int> fault_;          // by lane
  int registers_ = 0;
  bool fresh_ = true;
  bool any_fault_ = false;
};

/// The names an expression may use besides those of the whole kernel.
struct Locals {
  std::map<int, NodePtr> lets;  // immutable values
  std::map<int, int> loops;     // enclosing loops' variables -> register, or -1 when not yet one
};

/// Registers that say in which lanes a value is computed, and in which of these it is used. They
/// differ below `where`, which computes both sides: an undefined value (x // 0) on the side it
/// drops is no fault, an overflow is. -1: everywhere.
struct LaneMask {
  int computed = -1;
  int used = -1;
  auto operator<=>(const LaneMask&) const = default;
};

/// Compiles expressions into one program.
class ProgramBuilder {
 public:
  /// `visits` allows first(o) and last(o) of operands.
  ProgramBuilder(const Binding& binding, Locals* locals = nullptr, bool visits = false);

  /// Whether the value is decided by axes, sizes, host values and the visible locals.
  bool Known(const Node& node) const;
  /// The register of a known node, of which only the lanes of `mask` matter.
  int Add(const Node& node, int mask = -1) { return Add(node, LaneMask{mask, mask}); }
  /// A bool whose unknown parts count as `assume`.
  int AddCondition(const Node& node, bool assume, int mask = -1);

  int AddConstant(int64_t value);
  int AddInput(ProgramInput::Kind kind, int index);
  int AddNot(int reg);
  int AddAnd(int mask, int reg);                      // mask may be -1
  int AddBinary(Op op, int a, int b, int mask = -1);  // unchecked 64-bit; comparisons too
  int AddSelect(int condition, int then, int otherwise);

  /// Instructions so far: a fault below this index belongs to what was added before.
  int Position() const { return int(program_.code_.size()); }
  std::optional<int64_t> Constant(int reg) const { return program_.Constant(reg); }
  /// The program so far, ready to run.
  IndexProgram Finish() const;

 private:
  bool IsKnown(const Node& node) const;
  bool IsKnownRead(const Node& node) const;
  int Emit(Instruction instruction);
  int Add(const Node& node, LaneMask mask);
  LaneMask Narrowed(LaneMask mask, int reg);
  int AddAxis(int axis, AxisUse use);
  int AddNew(const Node& node, LaneMask mask);
  int AddRead(const Node& node, LaneMask mask);
  int AddLazy(const Node& node, LaneMask mask);
  int AddWhere(const Node& node, LaneMask mask);
  int AddOperation(const Node& node, LaneMask mask);
  int Wrapped(int reg, DType dtype);
  uint64_t InputsOf(int reg) const;
  int AddVisit(const Node& node);

  const Binding& binding_;
  Locals* locals_;
  bool visits_;
  IndexProgram program_;
  std::vector<uint64_t> register_inputs_;
  std::map<std::pair<const Node*, LaneMask>, int> added_;  // -> register
  mutable std::map<const Node*, bool> known_;              // answers of Known
};

/// Whether it is a shape operation, which leaves a scalar what it is.
inline bool IsIdentityOnScalars(Op op) {
  return op == Op::kReshape || op == Op::kBroadcast || op == Op::kTranspose;
}

/// Merges the axes that `node` depends on into `use`.
void CollectAxisUse(const Node& node, std::vector<AxisUse>& use);
/// True when the operand's index map is decided before the body runs.
bool MapIsKnown(const Binding& binding, int ref);

}  // namespace kiln
