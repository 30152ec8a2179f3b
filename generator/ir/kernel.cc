#include "generator/ir/kernel.h"

#include <algorithm>

namespace kiln {
namespace {

struct OpName {
  Op op;
  std::string_view name;
};

constexpr OpName kNames[] = {
    {Op::kConst, "const"},
    {Op::kAxis, "axis"},
    {Op::kSteps, "steps"},
    {Op::kDim, "dim"},
    {Op::kLocal, "local"},
    {Op::kRead, "read"},
    {Op::kFirstStep, "first"},
    {Op::kLastStep, "last"},
    {Op::kFirstVisit, "first"},
    {Op::kLastVisit, "last"},
    {Op::kInside, "inside"},
    {Op::kAt, "at"},
    {Op::kNeg, "-"},
    {Op::kBitNot, "~"},
    {Op::kNot, "not"},
    {Op::kAdd, "+"},
    {Op::kSub, "-"},
    {Op::kMul, "*"},
    {Op::kDiv, "/"},
    {Op::kFloorDiv, "//"},
    {Op::kMod, "%"},
    {Op::kPow, "**"},
    {Op::kRem, "rem"},
    {Op::kCeilDiv, "cdiv"},
    {Op::kShl, "<<"},
    {Op::kShr, ">>"},
    {Op::kBitAnd, "&"},
    {Op::kBitOr, "|"},
    {Op::kBitXor, "^"},
    {Op::kLt, "<"},
    {Op::kLe, "<="},
    {Op::kGt, ">"},
    {Op::kGe, ">="},
    {Op::kEq, "=="},
    {Op::kNe, "!="},
    {Op::kWhere, "where"},
    {Op::kMax, "max"},
    {Op::kMin, "min"},
    {Op::kClamp, "clamp"},
    {Op::kAbs, "abs"},
    {Op::kSign, "sign"},
    {Op::kFloor, "floor"},
    {Op::kCeil, "ceil"},
    {Op::kRound, "round"},
    {Op::kExp, "exp"},
    {Op::kExp2, "exp2"},
    {Op::kLog, "log"},
    {Op::kLog2, "log2"},
    {Op::kLog1p, "log1p"},
    {Op::kTanh, "tanh"},
    {Op::kErf, "erf"},
    {Op::kSigmoid, "sigmoid"},
    {Op::kSqrt, "sqrt"},
    {Op::kRsqrt, "rsqrt"},
    {Op::kSin, "sin"},
    {Op::kCos, "cos"},
    {Op::kRelu, "relu"},
    {Op::kGelu, "gelu"},
    {Op::kGeluTanh, "gelu_tanh"},
    {Op::kSilu, "silu"},
    {Op::kCast, "cast"},
    {Op::kBitcast, "bitcast"},
    {Op::kAnd, "and"},
    {Op::kOr, "or"},
    {Op::kIf, "if"},
    {Op::kIota, "iota"},
    {Op::kBroadcast, "broadcast"},
    {Op::kReshape, "reshape"},
    {Op::kTranspose, "transpose"},
    {Op::kConcat, "concat"},
    {Op::kRoll, "roll"},
    {Op::kSlice, "slice"},
    {Op::kSum, "sum"},
    {Op::kProd, "prod"},
    {Op::kReduceMax, "max"},
    {Op::kReduceMin, "min"},
    {Op::kMean, "mean"},
    {Op::kAny, "any"},
    {Op::kAll, "all"},
    {Op::kArgmax, "argmax"},
    {Op::kArgmin, "argmin"},
    {Op::kCumsum, "cumsum"},
    {Op::kDot, "dot"},
};

template <typename List>
int FindNamed(const List& list, std::string_view name) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

std::string_view Name(Op op) {
  for (const OpName& entry : kNames) {
    if (entry.op == op) return entry.name;
  }
  return "?";
}

int Kernel::FindRef(std::string_view wanted) const { return FindNamed(refs, wanted); }
int Kernel::FindDim(std::string_view wanted) const { return FindNamed(dims, wanted); }
int Kernel::FindAxis(std::string_view wanted) const { return FindNamed(axes, wanted); }

int Kernel::BorrowerOf(int ref) const {
  const auto borrows = [&](const Ref& output) {
    return output.alias >= 0 && output.alias == ArrayOf(ref);
  };
  const auto borrower = std::find_if(refs.begin(), refs.end(), borrows);
  return borrower == refs.end() ? -1 : static_cast<int>(borrower - refs.begin());
}

Span MapSpan(const Ref& ref) {
  Span span;
  for (const BlockDim& dim : ref.block) {
    if (dim.index_span.end <= dim.index_span.begin) continue;
    span = span.end == 0 ? dim.index_span : Cover(span, dim.index_span);
  }
  return span.end == 0 ? ref.span : span;
}

bool MayHaveNoValue(const Node& node) {
  const bool divides = node.op == Op::kFloorDiv || node.op == Op::kCeilDiv || node.op == Op::kMod ||
                       node.op == Op::kRem;
  if ((!divides && node.op != Op::kPow) || IsFloat(node.args[0]->dtype)) return false;
  const Node* second = node.args[1].get();
  while (second->op == Op::kCast && !IsFloat(second->args[0]->dtype))
    second = second->args[0].get();
  if (second->op != Op::kConst) return true;
  return divides ? second->int_value == 0 : second->int_value < 0;
}

const std::string& GeneratedName(const Kernel& kernel) {
  return kernel.instance.empty() ? kernel.name : kernel.instance;
}

}  // namespace kiln
