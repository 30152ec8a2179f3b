#include "generator/render/print/operations.h"

namespace kiln::render {
namespace {

/// Functions that the runtime has for vectors and scalars alike.
std::string_view CommonFunction(Op op) {
  switch (op) {
    case Op::kFloorDiv:
      return "FloorDiv";
    case Op::kMod:
      return "Mod";
    case Op::kRem:
      return "Rem";
    case Op::kCeilDiv:
      return "CeilDiv";
    case Op::kPow:
      return "Pow";
    case Op::kShl:
      return "Shl";
    case Op::kShr:
      return "Shr";
    case Op::kMax:
      return "Maximum";
    case Op::kMin:
      return "Minimum";
    case Op::kClamp:
      return "ClampTo";
    case Op::kAbs:
      return "AbsOf";
    case Op::kSign:
      return "Sign";
    case Op::kFloor:
      return "FloorOf";
    case Op::kCeil:
      return "CeilOf";
    case Op::kRound:
      return "RoundEven";
    case Op::kExp:
      return "Exp";
    case Op::kExp2:
      return "Exp2";
    case Op::kLog:
      return "Log";
    case Op::kLog2:
      return "Log2";
    case Op::kLog1p:
      return "Log1p";
    case Op::kTanh:
      return "Tanh";
    case Op::kErf:
      return "Erf";
    case Op::kSigmoid:
      return "Sigmoid";
    case Op::kSqrt:
      return "SqrtOf";
    case Op::kRsqrt:
      return "Rsqrt";
    case Op::kSin:
      return "Sin";
    case Op::kCos:
      return "Cos";
    case Op::kRelu:
      return "Relu";
    case Op::kGelu:
      return "Gelu";
    case Op::kGeluTanh:
      return "GeluTanh";
    case Op::kSilu:
      return "Silu";
    case Op::kWhere:
      return "Select";
    case Op::kLt:
      return "Lt";
    case Op::kLe:
      return "Le";
    case Op::kGt:
      return "Gt";
    case Op::kGe:
      return "Ge";
    case Op::kEq:
      return "Eq";
    case Op::kNe:
      return "Ne";
    case Op::kBitAnd:
      return "BitAnd";
    case Op::kBitOr:
      return "BitOr";
    case Op::kBitXor:
      return "BitXor";
    case Op::kBitNot:
      return "BitNot";
    case Op::kNeg:
      return "Negate";
    default:
      return "";
  }
}

}  // namespace

std::string_view VectorFunction(Op op, DType dtype) {
  const bool floats = IsFloat(dtype);
  switch (op) {
    case Op::kAdd:
      return "hn::Add";
    case Op::kSub:
      return "hn::Sub";
    case Op::kMul:
      return floats ? "hn::Mul" : "MulOf";
    case Op::kDiv:
      return "hn::Div";
    case Op::kNeg:
      return floats ? "hn::Neg" : "Negate";
    case Op::kNot:
      return "NotOf";
    case Op::kAnd:
      return "BothOf";
    case Op::kOr:
      return "EitherOf";
    case Op::kBitAnd:
      return dtype == DType::kBool ? "BothOf" : "BitAnd";
    case Op::kBitOr:
      return dtype == DType::kBool ? "EitherOf" : "BitOr";
    case Op::kBitXor:
      return dtype == DType::kBool ? "OneOf" : "BitXor";
    case Op::kBitNot:
      return dtype == DType::kBool ? "NotOf" : "BitNot";
    case Op::kIf:
      return "Select";
    default:
      return CommonFunction(op);
  }
}

std::string_view FunctionForRounding(Op op, DType to) {
  return op == Op::kGelu && to == DType::kBF16 ? "GeluForBf16" : "";
}

ScalarSpelling SpellScalar(Op op, DType dtype) {
  // Integers of the body wrap; index arithmetic was checked over the whole grid.
  const bool plain = IsFloat(dtype) || dtype == DType::kIndex;
  switch (op) {
    case Op::kAdd:
      return plain ? ScalarSpelling{"", "+", 12} : ScalarSpelling{"AddInt", "", 0};
    case Op::kSub:
      return plain ? ScalarSpelling{"", "-", 12} : ScalarSpelling{"SubInt", "", 0};
    case Op::kMul:
      return plain ? ScalarSpelling{"", "*", 13} : ScalarSpelling{"MulInt", "", 0};
    case Op::kDiv:
      return {"", "/", 13};
    case Op::kLt:
      return {"", "<", 9};
    case Op::kLe:
      return {"", "<=", 9};
    case Op::kGt:
      return {"", ">", 9};
    case Op::kGe:
      return {"", ">=", 9};
    case Op::kEq:
      return {"", "==", 8};
    case Op::kNe:
      return {"", "!=", 8};
    case Op::kAnd:
      return {"", "&&", 4};
    case Op::kOr:
      return {"", "||", 3};
    case Op::kBitAnd:
      return dtype == DType::kBool ? ScalarSpelling{"", "&&", 4} : ScalarSpelling{"BitAnd", "", 0};
    case Op::kBitOr:
      return dtype == DType::kBool ? ScalarSpelling{"", "||", 3} : ScalarSpelling{"BitOr", "", 0};
    case Op::kBitXor:
      return dtype == DType::kBool ? ScalarSpelling{"", "!=", 8} : ScalarSpelling{"BitXor", "", 0};
    default:
      return {CommonFunction(op), "", 0};
  }
}

std::string_view LaneReduction(Op op) {
  switch (op) {
    case Op::kProd:
      return "ProdLanes";
    case Op::kReduceMax:
      return "MaxLanes";
    case Op::kReduceMin:
      return "MinLanes";
    case Op::kAny:
      return "AnyLanes";
    case Op::kAll:
      return "AllLanes";
    default:
      return "SumLanes";
  }
}

}  // namespace kiln::render
