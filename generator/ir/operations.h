#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// What there is to say of each operation, once: operations.def has a row for each.
namespace kiln {

enum class Op : uint8_t {
#define KILN_OPERATION(op, ...) op,
#include "generator/ir/operations.def"
};

/// What kinds of operations have in common. A `switch` over a class names all of it, and one over
/// an enumeration of one class (below) all of that, without `default`: the compiler then says
/// where a new one is forgotten.
enum class OpClass : uint8_t {
  kLeaf,
  kArithmetic,
  kComparison,
  kFunction,
  kSpecial,
  kLazy,
  kShape,
  kFold,
  kLocation,
  kScan,
  kOrder,
  kProduct,
};

// The operations of one class, with the numbers that they have in Op.
#define KILN_MEMBER(op) op = static_cast<uint8_t>(Op::op),
enum class LeafOp : uint8_t {
#define KILN_LEAF(op, ...) KILN_MEMBER(op)
#include "generator/ir/operations.def"
};
enum class ArithmeticOp : uint8_t {
#define KILN_ARITHMETIC(op, ...) KILN_MEMBER(op)
#include "generator/ir/operations.def"
};
enum class ComparisonOp : uint8_t {
#define KILN_COMPARISON(op, ...) KILN_MEMBER(op)
#include "generator/ir/operations.def"
};
enum class SpecialOp : uint8_t {
#define KILN_SPECIAL(op, ...) KILN_MEMBER(op)
#include "generator/ir/operations.def"
};
enum class LazyOp : uint8_t {
#define KILN_LAZY(op, ...) KILN_MEMBER(op)
#include "generator/ir/operations.def"
};
enum class ShapeOp : uint8_t {
#define KILN_SHAPE(op, ...) KILN_MEMBER(op)
#include "generator/ir/operations.def"
};
enum class FoldOp : uint8_t {
#define KILN_FOLD(op, ...) KILN_MEMBER(op)
#include "generator/ir/operations.def"
};
enum class ScanOp : uint8_t {
#define KILN_SCAN(op, ...) KILN_MEMBER(op)
#include "generator/ir/operations.def"
};
enum class OrderOp : uint8_t {
#define KILN_ORDER(op, ...) KILN_MEMBER(op)
#include "generator/ir/operations.def"
};
#undef KILN_MEMBER

/// The dtype of the result.
enum class ResultType : uint8_t { kOfArguments, kBool, kI32, kGiven };

/// Which rule of the elaborator reads a call's arguments.
enum class CallRule : uint8_t {
  kNone,  // nothing is called so
  kFloats,
  kNumber,
  kIntegers,
  kWhere,
  kClamp,
  kExtreme,
  kBitcast,
  kIota,
  kBroadcast,
  kReshape,
  kExpand,
  kSqueeze,
  kTranspose,
  kConcat,
  kRoll,
  kTake,
  kFlip,
  kRepeat,
  kReduce,
  kScan,
  kSort,
  kTopK,
  kDot,
  kVisit,
  kSteps,
  kInside,
  kAt,
};

/// How tightly an operator holds its operands in the text of a kernel, loosest first.
enum class Binds : uint8_t {
  kLowest,
  kIf,
  kOr,
  kAnd,
  kNot,
  kCompare,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kTerm,
  kUnary,
  kPower,
  kCall,
};

/// What computing it costs on a CPU, as far as decisions ask.
enum class CpuCost : uint8_t {
  kFast,        // an instruction or two
  kSlow,        // worth a register that keeps it
  kElementary,  // so much that memory has time to bring something
};

/// What generated C++ calls it; `hn::` is Highway's own.
struct CppSpelling {
  std::string_view function = {};  // of the runtime, for vectors and scalars alike
  // Where vectors, or those of one kind, have another.
  std::string_view vector = {}, vector_of_floats = {}, vector_of_bools = {};
  std::string_view for_bf16 = {};  // of f32 that are rounded to bf16 next: faster, and exact enough
  // Of scalars. Where there is a function too, integers of the body take that, as they wrap.
  std::string_view infix = {}, infix_of_bools = {};
  int precedence = 0;             // of the infix in C++
  std::string_view checked = {};  // of indices: ends the call with a diagnostic past 64 bits
};

/// A row of the table.
struct Operation {
  Op op = Op::kConst;
  std::string_view name;  // in the text of a kernel: an operator's, or a function's
  int args = 0;           // of a node; -1: any number
  ResultType result = ResultType::kOfArguments;
  // The function of the language.
  CallRule call = CallRule::kNone;
  int least = 0, most = 0;          // positional arguments of a call; both 0: those of the node
  std::string_view keywords = {};   // accepted, space-separated
  bool in_index = false;            // allowed in index maps, steps and shapes
  std::string_view signature = {};  // for messages and docs
  std::string_view doc = {};
  Binds binds = Binds::kCall;
  int tpu = 1;  // vector instructions of a TPU for a register of the result (of a reduction: read)
  std::string_view instead_on_tpu = {};  // of what Pallas' lowering for TPUs has no rule for
  CpuCost cpu = CpuCost::kFast;
  int roundings = 0;   // that the result may be off by; of reductions: for each element
  bool jumps = false;  // somewhere the last bit of an argument decides over more than the last one
  double (*fold)(double) = nullptr;  // of constants, which stay weak: `sqrt(2.0) * x` has x's type
  std::string_view lanes = {};       // the runtime's reduction over the lanes of a vector
  std::string_view lane_fold = {};   // the same as one of several of a loop, if it may be
  std::string_view line = {};        // the runtime's function along a line of elements
  /// JAX's function, or what computes it: `$0` is the first argument. Empty: tests/random/pallas
  /// knows more of it.
  std::string_view jax = {};
  CppSpelling cpp = {};
};

inline constexpr size_t kOperationCount = 0
#define KILN_OPERATION(op, ...) +1
#include "generator/ir/operations.def"
    ;

const Operation& RowOf(Op op);
/// By the number in Op.
const std::vector<Operation>& AllOperations();
std::string_view Name(Op op);

/// The operations that a body can call by a name, other names of the same operation included, in
/// the order of the manual.
const std::vector<Operation>& Functions();
const Operation* FindFunction(std::string_view name);
/// The operator with two operands of that text: "//".
std::optional<Op> BinaryOperator(std::string_view text);

inline constexpr OpClass kClasses[] = {
#define KILN_LEAF(op, ...) OpClass::kLeaf,
#define KILN_ARITHMETIC(op, ...) OpClass::kArithmetic,
#define KILN_COMPARISON(op, ...) OpClass::kComparison,
#define KILN_FUNCTION(op, function, ...) OpClass::kFunction,
#define KILN_SPECIAL(op, ...) OpClass::kSpecial,
#define KILN_LAZY(op, ...) OpClass::kLazy,
#define KILN_SHAPE(op, ...) OpClass::kShape,
#define KILN_FOLD(op, ...) OpClass::kFold,
#define KILN_LOCATION(op, ...) OpClass::kLocation,
#define KILN_SCAN(op, ...) OpClass::kScan,
#define KILN_ORDER(op, ...) OpClass::kOrder,
#define KILN_PRODUCT(op, ...) OpClass::kProduct,
#include "generator/ir/operations.def"
};
constexpr OpClass ClassOf(Op op) { return kClasses[static_cast<size_t>(op)]; }

/// Computes each element from those in its place.
bool IsElementwise(Op op);
constexpr bool IsComparison(Op op) { return ClassOf(op) == OpClass::kComparison; }
constexpr bool IsFold(Op op) { return ClassOf(op) == OpClass::kFold; }
/// Many elements become one, or the position of one.
constexpr bool IsReduction(Op op) { return IsFold(op) || ClassOf(op) == OpClass::kLocation; }
/// `//`, `%` and the like, which have no value for integers if the divisor is 0.
bool IsDivision(Op op);
bool IsQuotient(Op op);
bool IsBitwise(Op op);
bool IsShift(Op op);

/// Only of operations of the class.
inline LeafOp AsLeaf(Op op) { return static_cast<LeafOp>(op); }
inline ArithmeticOp AsArithmetic(Op op) { return static_cast<ArithmeticOp>(op); }
inline ComparisonOp AsComparison(Op op) { return static_cast<ComparisonOp>(op); }
inline SpecialOp AsSpecial(Op op) { return static_cast<SpecialOp>(op); }
inline LazyOp AsLazy(Op op) { return static_cast<LazyOp>(op); }
inline ShapeOp AsShape(Op op) { return static_cast<ShapeOp>(op); }
inline FoldOp AsFold(Op op) { return static_cast<FoldOp>(op); }
inline ScanOp AsScan(Op op) { return static_cast<ScanOp>(op); }
inline OrderOp AsOrder(Op op) { return static_cast<OrderOp>(op); }

/// The operation that folds two values.
Op Folding(FoldOp fold);

/// What a comparison says.
template <typename T>
bool Compares(Op op, const T& a, const T& b) {
  switch (AsComparison(op)) {
    case ComparisonOp::kLt:
      return a < b;
    case ComparisonOp::kLe:
      return a <= b;
    case ComparisonOp::kGt:
      return a > b;
    case ComparisonOp::kGe:
      return a >= b;
    case ComparisonOp::kEq:
      return a == b;
    case ComparisonOp::kNe:
      return a != b;
  }
  __builtin_unreachable();
}

}  // namespace kiln
