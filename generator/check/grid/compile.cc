// ProgramBuilder: from typed nodes to the instructions of an index program.
#include <algorithm>

#include "generator/check/grid/index_program.h"

namespace kiln {
namespace {

bool IsChecked(DType dtype) { return dtype == DType::kIndex || dtype == DType::kWeakInt; }

void Merge(AxisUse& into, AxisUse use) { into = std::max(into, use); }

/// Operations whose result can leave the range of a type narrower than 64 bits.
bool CanLeaveRange(Op op) {
  if (ClassOf(op) != OpClass::kArithmetic) return false;  // tests, and what chooses
  switch (AsArithmetic(op)) {
    case ArithmeticOp::kNeg:
    case ArithmeticOp::kAdd:
    case ArithmeticOp::kSub:
    case ArithmeticOp::kMul:
    case ArithmeticOp::kDiv:
    case ArithmeticOp::kPow:
    case ArithmeticOp::kShl:
    case ArithmeticOp::kFloorDiv:
    case ArithmeticOp::kCeilDiv:
    case ArithmeticOp::kQuot:
    case ArithmeticOp::kBitNot:
      return true;
    case ArithmeticOp::kNot:
    case ArithmeticOp::kMod:
    case ArithmeticOp::kRem:
    case ArithmeticOp::kShr:
    case ArithmeticOp::kBitAnd:
    case ArithmeticOp::kBitOr:
    case ArithmeticOp::kBitXor:
      return false;
  }
  __builtin_unreachable();
}

}  // namespace

void CollectAxisUse(const Node& node, std::vector<AxisUse>& use) {
  if (node.op == Op::kAxis) Merge(use[size_t(node.index)], AxisUse::kFull);
  if (node.op == Op::kFirstStep || node.op == Op::kLastStep) {
    Merge(use[size_t(node.index)], AxisUse::kEnds);
  }
  for (const NodePtr& arg : node.args) CollectAxisUse(*arg, use);
  for (const Subscript& subscript : node.subscripts) CollectAxisUse(*subscript.start, use);
}

ProgramBuilder::ProgramBuilder(const Binding& binding, Locals* locals, bool visits)
    : binding_(binding), locals_(locals), visits_(visits) {
  program_.axis_use_.assign(binding.kernel->axes.size(), AxisUse::kNone);
}

int ProgramBuilder::Emit(Instruction instruction) {
  uint64_t inputs = 0;
  for (const int reg : {instruction.a, instruction.b, instruction.c, instruction.mask}) {
    if (reg >= 0) inputs |= InputsOf(reg);
  }
  if (instruction.read >= 0) {
    for (const int reg : program_.reads_[size_t(instruction.read)].subscripts) {
      inputs |= InputsOf(reg);
    }
  }
  if (IsDivision(instruction.op)) instruction.value = InputsOf(instruction.b) == 0;
  instruction.inputs = inputs;
  instruction.to = program_.registers_++;
  register_inputs_.push_back(inputs);
  program_.code_.push_back(instruction);
  return instruction.to;
}

uint64_t ProgramBuilder::InputsOf(int reg) const { return register_inputs_[size_t(reg)]; }

int ProgramBuilder::AddConstant(int64_t value) {
  Instruction instruction;
  instruction.value = value;
  return Emit(instruction);
}

int ProgramBuilder::AddInput(ProgramInput::Kind kind, int index) {
  for (const ProgramInput& input : program_.inputs_) {
    if (input.kind == kind && input.index == index) return input.reg;
  }
  const int reg = program_.registers_++;
  register_inputs_.push_back(IndexProgram::BitOf(program_.inputs_.size()));
  program_.inputs_.push_back({kind, index, reg});
  return reg;
}

int ProgramBuilder::AddAxis(int axis, AxisUse use) {
  Merge(program_.axis_use_[size_t(axis)], use);
  return AddInput(ProgramInput::Kind::kAxis, axis);
}

int ProgramBuilder::AddNot(int reg) {
  Instruction instruction;
  instruction.op = Op::kNot;
  instruction.a = reg;
  return Emit(instruction);
}

int ProgramBuilder::AddAnd(int mask, int reg) {
  return mask < 0 ? reg : AddBinary(Op::kAnd, mask, reg);
}

int ProgramBuilder::AddBinary(Op op, int a, int b, int mask) {
  Instruction instruction;
  instruction.op = op;
  instruction.dtype = DType::kI64;
  instruction.a = a;
  instruction.b = b;
  instruction.mask = mask;
  return Emit(instruction);
}

int ProgramBuilder::AddSelect(int condition, int then, int otherwise) {
  Instruction instruction;
  instruction.op = Op::kWhere;
  instruction.a = condition;
  instruction.b = then;
  instruction.c = otherwise;
  return Emit(instruction);
}

/// The register's values wrapped into a type of the body.
int ProgramBuilder::Wrapped(int reg, DType dtype) {
  if (IsChecked(dtype) || dtype == DType::kI64) return reg;
  Instruction instruction;
  instruction.op = Op::kCast;
  instruction.dtype = dtype;
  instruction.a = reg;
  return Emit(instruction);
}

int ProgramBuilder::Add(const Node& node, LaneMask mask) {
  const auto found = added_.find({&node, mask});
  if (found != added_.end()) return found->second;
  const int reg = AddNew(node, mask);
  added_[{&node, mask}] = reg;
  return reg;
}

int ProgramBuilder::AddNew(const Node& node, LaneMask mask) {
  switch (node.op) {
    case Op::kConst:
      return AddConstant(node.int_value);
    case Op::kDim:
      return AddConstant(*binding_.dims[size_t(node.index)]);
    case Op::kSteps:
      return AddConstant(binding_.steps[size_t(node.index)]);
    case Op::kAxis:
      return Wrapped(AddAxis(node.index, AxisUse::kFull), node.dtype);
    case Op::kFirstStep:
      return AddBinary(Op::kEq, AddAxis(node.index, AxisUse::kEnds), AddConstant(0));
    case Op::kLastStep:
      return AddBinary(Op::kEq, AddAxis(node.index, AxisUse::kEnds),
                       AddConstant(binding_.steps[size_t(node.index)] - 1));
    case Op::kLocal: {
      // A let was computed where it stands, whatever the condition it is used under.
      const auto let = locals_->lets.find(node.index);
      return Wrapped(let != locals_->lets.end() ? Add(*let->second, LaneMask{})
                                                : locals_->loops.at(node.index),
                     node.dtype);
    }
    case Op::kRead:
      return AddRead(node, mask);
    case Op::kFirstVisit:
    case Op::kLastVisit:
      return AddVisit(node);
    case Op::kAnd:
    case Op::kOr:
    case Op::kIf:
      return AddLazy(node, mask);
    case Op::kWhere:
      return AddWhere(node, mask);
    case Op::kCast:
    case Op::kBitcast:
      return Wrapped(Add(*node.args[0], mask), node.dtype);
    default:
      if (IsIdentityOnScalars(node.op)) return Add(*node.args[0], mask);
      return AddOperation(node, mask);
  }
}

LaneMask ProgramBuilder::Narrowed(LaneMask mask, int reg) {
  const bool same = mask.used == mask.computed;
  const int computed = AddAnd(mask.computed, reg);
  return {computed, same ? computed : AddAnd(mask.used, reg)};
}

/// Evaluates an argument only in the lanes that need it.
int ProgramBuilder::AddLazy(const Node& node, LaneMask mask) {
  const int first = Add(*node.args[0], mask);
  if (node.op == Op::kAnd) {
    return AddBinary(Op::kAnd, first, Add(*node.args[1], Narrowed(mask, first)));
  }
  const int otherwise = AddNot(first);
  if (node.op == Op::kOr) {
    return AddBinary(Op::kOr, first, Add(*node.args[1], Narrowed(mask, otherwise)));
  }
  const int then = Add(*node.args[1], Narrowed(mask, first));
  return AddSelect(first, then, Add(*node.args[2], Narrowed(mask, otherwise)));
}

int ProgramBuilder::AddWhere(const Node& node, LaneMask mask) {
  const int condition = Add(*node.args[0], mask);
  const LaneMask then{mask.computed, AddAnd(mask.used, condition)};
  const LaneMask otherwise{mask.computed, AddAnd(mask.used, AddNot(condition))};
  const int value = Add(*node.args[1], then);
  return AddSelect(condition, value, Add(*node.args[2], otherwise));
}

int ProgramBuilder::AddRead(const Node& node, LaneMask mask) {
  HostRead read;
  read.array = binding_.host[size_t(node.index)];
  read.ref = node.index;
  for (const Subscript& subscript : node.subscripts) {
    read.subscripts.push_back(Add(*subscript.start, mask));
  }
  // A scalar never changes.
  if (read.subscripts.empty()) return AddConstant(read.array->GetInt(0));
  program_.reads_.push_back(read);
  Instruction instruction;
  instruction.op = Op::kRead;
  instruction.read = int(program_.reads_.size()) - 1;
  instruction.mask = mask.computed;
  instruction.span = node.span;
  return Emit(instruction);
}

int ProgramBuilder::AddOperation(const Node& node, LaneMask mask) {
  Instruction instruction;
  instruction.op = node.op;
  instruction.dtype = node.dtype;
  instruction.checked = IsChecked(node.dtype);
  instruction.mask = IsDivision(node.op) ? mask.used : mask.computed;
  instruction.span = node.span;
  instruction.a = Add(*node.args[0], mask);
  if (node.args.size() > 1) instruction.b = Add(*node.args[1], mask);
  if (node.args.size() > 2) instruction.c = Add(*node.args[2], mask);
  if (node.op == Op::kNeg || node.op == Op::kAbs) {
    const int x = instruction.a;
    instruction.op = Op::kSub;
    instruction.b = x;
    instruction.a = AddConstant(0);
    const int negative = Wrapped(Emit(instruction), node.dtype);
    return node.op == Op::kNeg ? negative : AddBinary(Op::kMax, x, negative);
  }
  if (node.op == Op::kClamp) {
    return AddBinary(Op::kMin, AddBinary(Op::kMax, instruction.a, instruction.b), instruction.c);
  }
  if (node.op == Op::kBitNot && node.dtype == DType::kBool) instruction.op = Op::kNot;
  const int reg = Emit(instruction);
  return CanLeaveRange(instruction.op) ? Wrapped(reg, node.dtype) : reg;
}

int ProgramBuilder::AddVisit(const Node& node) {
  const Kernel& kernel = *binding_.kernel;
  for (const BlockDim& dim : kernel.refs[size_t(node.index)].block) {
    if (dim.kind == BlockDim::Kind::kAll) continue;
    CollectAxisUse(*dim.index, program_.axis_use_);
    if (dim.extent) CollectAxisUse(*dim.extent, program_.axis_use_);
  }
  // Whether a neighbouring step exists, and which one it is, depends on every axis' ends.
  for (AxisUse& use : program_.axis_use_) Merge(use, AxisUse::kEnds);
  return AddInput(
      node.op == Op::kFirstVisit ? ProgramInput::Kind::kFirstVisit : ProgramInput::Kind::kLastVisit,
      node.index);
}

int ProgramBuilder::AddCondition(const Node& node, bool assume, int mask) {
  if (Known(node)) return Add(node, mask);
  const bool both = node.op == Op::kAnd || node.op == Op::kBitAnd;
  const bool either = node.op == Op::kOr || node.op == Op::kBitOr;
  if (node.op == Op::kNot) return AddNot(AddCondition(*node.args[0], !assume, mask));
  if (!node.shape.empty() || (!both && !either)) return AddConstant(assume);
  const int first = AddCondition(*node.args[0], assume, mask);
  int second_mask = mask;
  if (node.op == Op::kAnd) second_mask = AddAnd(mask, first);
  if (node.op == Op::kOr) second_mask = AddAnd(mask, AddNot(first));
  return AddBinary(both ? Op::kAnd : Op::kOr, first,
                   AddCondition(*node.args[1], assume, second_mask));
}

IndexProgram ProgramBuilder::Finish() const {
  IndexProgram program = program_;
  program.values_.assign(size_t(program.registers_) * kLanes, 0);
  program.addresses_.assign(kLanes, 0);
  return program;
}

}  // namespace kiln
