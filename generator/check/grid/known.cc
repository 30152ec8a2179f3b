// ProgramBuilder: which expressions are decided by what is known before a kernel runs.
#include <algorithm>

#include "generator/check/grid/index_program.h"

namespace kiln {
namespace {

bool IsScalarInteger(const Node& node) {
  return node.shape.empty() && (IsInteger(node.dtype) || node.dtype == DType::kBool);
}

/// Operations of the language that are one instruction here.
bool IsPlain(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kPow:
    case Op::kFloorDiv:
    case Op::kCeilDiv:
    case Op::kMod:
    case Op::kQuot:
    case Op::kRem:
    case Op::kShl:
    case Op::kShr:
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor:
    case Op::kMax:
    case Op::kMin:
    case Op::kSign:
    case Op::kBitNot:
    case Op::kNot:
      return true;
    default:
      return IsComparison(op);
  }
}

}  // namespace

bool MapIsKnown(const Binding& binding, int ref) {
  const ProgramBuilder builder(binding);
  for (const BlockDim& dim : binding.kernel->refs[size_t(ref)].block) {
    if (dim.kind == BlockDim::Kind::kAll) continue;
    if (!dim.index || !builder.Known(*dim.index)) return false;
    if (dim.kind == BlockDim::Kind::kBounded && !(dim.extent && builder.Known(*dim.extent))) {
      return false;
    }
  }
  return true;
}

bool ProgramBuilder::Known(const Node& node) const {
  const auto found = known_.find(&node);
  if (found != known_.end()) return found->second;
  const bool known = IsScalarInteger(node) && IsKnown(node);
  known_[&node] = known;
  return known;
}

bool ProgramBuilder::IsKnown(const Node& node) const {
  switch (node.op) {
    case Op::kConst:
    case Op::kAxis:
      return true;
    case Op::kSteps:
    case Op::kFirstStep:
    case Op::kLastStep:
      return size_t(node.index) < binding_.steps.size();
    case Op::kDim:
      return binding_.dims[size_t(node.index)].has_value();
    case Op::kLocal: {
      if (!locals_) return false;
      const auto let = locals_->lets.find(node.index);
      return let != locals_->lets.end() ? Known(*let->second)
                                        : locals_->loops.count(node.index) > 0;
    }
    case Op::kRead:
      return IsKnownRead(node);
    case Op::kFirstVisit:
    case Op::kLastVisit:
      return visits_ && MapIsKnown(binding_, node.index);
    case Op::kAnd:
    case Op::kOr:
    case Op::kIf:
    case Op::kWhere:
    case Op::kCast:
    case Op::kBitcast:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kClamp:
      break;
    default:
      if (!IsPlain(node.op) && !IsIdentityOnScalars(node.op)) return false;
  }
  return std::all_of(node.args.begin(), node.args.end(),
                     [this](const NodePtr& arg) { return Known(*arg); });
}

bool ProgramBuilder::IsKnownRead(const Node& node) const {
  const Ref& ref = binding_.kernel->refs[size_t(node.index)];
  if (ref.role != Role::kPrefetch && ref.role != Role::kScalar) return false;
  const Array* host =
      size_t(node.index) < binding_.host.size() ? binding_.host[size_t(node.index)] : nullptr;
  if (!host || IsFloat(host->dtype)) return false;
  if (ref.role == Role::kScalar) return node.subscripts.empty() && host->size() == 1;
  if (node.subscripts.size() != host->shape.size()) return false;
  return std::all_of(node.subscripts.begin(), node.subscripts.end(),
                     [this](const Subscript& s) { return !s.range && Known(*s.start); });
}

}  // namespace kiln
