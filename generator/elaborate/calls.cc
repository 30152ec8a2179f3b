#include <cmath>

#include "generator/elaborate/elaborate.h"
#include "generator/ir/tile_node.h"

namespace kiln {
namespace {

using E = Elaborator;

/// Constants stay weak through functions: `sqrt(2.0) * x` takes x's type.
std::optional<double> FoldFunction(Op op, double x) {
  switch (op) {
    case Op::kExp:
      return std::exp(x);
    case Op::kExp2:
      return std::exp2(x);
    case Op::kLog:
      return std::log(x);
    case Op::kLog2:
      return std::log2(x);
    case Op::kLog1p:
      return std::log1p(x);
    case Op::kTanh:
      return std::tanh(x);
    case Op::kErf:
      return std::erf(x);
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kRsqrt:
      return 1 / std::sqrt(x);
    case Op::kSin:
      return std::sin(x);
    case Op::kCos:
      return std::cos(x);
    case Op::kFloor:
      return std::floor(x);
    case Op::kCeil:
      return std::ceil(x);
    case Op::kRound:
      return std::nearbyint(x);
    default:
      return std::nullopt;
  }
}

/// Of bools the larger is either, the smaller both.
Op ExtremeOf(Op op, DType dtype) {
  if (dtype != DType::kBool) return op;
  return op == Op::kMax ? Op::kBitOr : Op::kBitAnd;
}

}  // namespace

const std::vector<FunctionEntry>& Functions() {
  static const std::vector<FunctionEntry> table = {
      // Elementwise.
      {"where", &E::CallWhere, Op::kWhere, 3, 3, "", true, "where(c, a, b)",
       "a where c holds, b elsewhere; both are evaluated everywhere"},
      {"abs", &E::CallNumeric, Op::kAbs, 1, 1, "", true, "abs(x)", "the absolute value"},
      {"sign", &E::CallNumeric, Op::kSign, 1, 1, "", true, "sign(x)", "-1, 0 or 1"},
      {"floor", &E::CallRounding, Op::kFloor, 1, 1, "", false, "floor(x)", "rounds down"},
      {"ceil", &E::CallRounding, Op::kCeil, 1, 1, "", false, "ceil(x)", "rounds up"},
      {"round", &E::CallRounding, Op::kRound, 1, 1, "", false, "round(x)",
       "rounds to the nearest integer, ties to even"},
      {"exp", &E::CallFloat, Op::kExp, 1, 1, "", false, "exp(x)", "e to the x"},
      {"exp2", &E::CallFloat, Op::kExp2, 1, 1, "", false, "exp2(x)", "2 to the x"},
      {"log", &E::CallFloat, Op::kLog, 1, 1, "", false, "log(x)", "the natural logarithm"},
      {"log2", &E::CallFloat, Op::kLog2, 1, 1, "", false, "log2(x)", "the logarithm to base 2"},
      {"log1p", &E::CallFloat, Op::kLog1p, 1, 1, "", false, "log1p(x)", "log(1 + x), exact near 0"},
      {"tanh", &E::CallFloat, Op::kTanh, 1, 1, "", false, "tanh(x)", "the hyperbolic tangent"},
      {"erf", &E::CallFloat, Op::kErf, 1, 1, "", false, "erf(x)", "the error function"},
      {"sigmoid", &E::CallFloat, Op::kSigmoid, 1, 1, "", false, "sigmoid(x)", "1 / (1 + exp(-x))"},
      {"sqrt", &E::CallFloat, Op::kSqrt, 1, 1, "", false, "sqrt(x)", "the square root"},
      {"rsqrt", &E::CallFloat, Op::kRsqrt, 1, 1, "", false, "rsqrt(x)", "1 / sqrt(x)"},
      {"sin", &E::CallFloat, Op::kSin, 1, 1, "", false, "sin(x)", "the sine"},
      {"cos", &E::CallFloat, Op::kCos, 1, 1, "", false, "cos(x)", "the cosine"},
      {"relu", &E::CallNumeric, Op::kRelu, 1, 1, "", false, "relu(x)", "max(x, 0)"},
      {"gelu", &E::CallFloat, Op::kGelu, 1, 1, "", false, "gelu(x)",
       "x * (1 + erf(x / sqrt(2))) / 2, the exact form"},
      {"gelu_tanh", &E::CallFloat, Op::kGeluTanh, 1, 1, "", false, "gelu_tanh(x)",
       "gelu by tanh, the default of jax.nn.gelu"},
      {"silu", &E::CallFloat, Op::kSilu, 1, 1, "", false, "silu(x)", "x * sigmoid(x)"},
      {"clamp", &E::CallClamp, Op::kClamp, 3, 3, "", true, "clamp(x, low, high)",
       "min(max(x, low), high)"},
      {"cdiv", &E::CallInteger, Op::kCeilDiv, 2, 2, "", true, "cdiv(a, b)",
       "the quotient of integers, rounded up"},
      {"rem", &E::CallInteger, Op::kRem, 2, 2, "", true, "rem(a, b)",
       "the remainder of truncating division; it has a's sign"},
      {"bitcast", &E::CallBitcast, Op::kBitcast, 2, 2, "", false, "bitcast(i32, x)",
       "the same bits as another dtype of the same width"},
      // Elementwise with two arguments, reductions with one.
      {"max", &E::CallExtreme, Op::kMax, 1, 2, "axis keep", true, "max(a, b) or max(x, axis=1)",
       "the larger of two, or the largest along axes; NaN wins"},
      {"min", &E::CallExtreme, Op::kMin, 1, 2, "axis keep", true, "min(a, b) or min(x, axis=1)",
       "the smaller of two, or the smallest along axes; NaN wins"},
      // Shapes.
      {"iota", &E::CallIota, Op::kIota, 1, 2, "axis", false, "iota([8, 128], axis)",
       "i32 coordinates along an axis"},
      {"broadcast", &E::CallBroadcast, Op::kBroadcast, 2, 2, "", false, "broadcast(x, [8, 128])",
       "x repeated to a shape, as numpy broadcasts"},
      {"reshape", &E::CallReshape, Op::kReshape, 2, 2, "", false, "reshape(x, [8, 128])",
       "the same elements in row-major order under another shape"},
      {"transpose", &E::CallTranspose, Op::kTranspose, 1, 2, "axes", false,
       "transpose(x, [1, 0, 2])", "axes in another order"},
      {"expand", &E::CallExpand, Op::kReshape, 1, 2, "axis", false, "expand(x, axis)",
       "inserts dimensions of extent 1"},
      {"squeeze", &E::CallSqueeze, Op::kReshape, 1, 2, "axis", false, "squeeze(x, axis)",
       "removes dimensions of extent 1"},
      {"concat", &E::CallConcat, Op::kConcat, 1, 1, "axis", false, "concat([a, b], axis=0)",
       "values one after the other along an axis"},
      {"roll", &E::CallRoll, Op::kRoll, 2, 2, "axis", false, "roll(x, n, axis=0)",
       "elements moved by n places, around the end"},
      // Reductions.
      {"sum", &E::CallReduce, Op::kSum, 1, 1, "axis keep", false, "sum(x, axis=1, keep=true)",
       "the sum along axes (all if absent)"},
      {"prod", &E::CallReduce, Op::kProd, 1, 1, "axis keep", false, "prod(x, axis=1)",
       "the product along axes"},
      {"mean", &E::CallReduce, Op::kMean, 1, 1, "axis keep", false, "mean(x, axis=1)",
       "the mean of floats along axes"},
      {"any", &E::CallReduce, Op::kAny, 1, 1, "axis keep", false, "any(c, axis=1)",
       "whether any bool along axes holds"},
      {"all", &E::CallReduce, Op::kAll, 1, 1, "axis keep", false, "all(c, axis=1)",
       "whether all bools along axes hold"},
      {"argmax", &E::CallReduce, Op::kArgmax, 1, 1, "axis keep", false, "argmax(x, axis=1)",
       "i32 position of the largest, the first of equals; without axis= in the flattened tile"},
      {"argmin", &E::CallReduce, Op::kArgmin, 1, 1, "axis keep", false, "argmin(x, axis=1)",
       "i32 position of the smallest, the first of equals; without axis= in the flattened tile"},
      {"cumsum", &E::CallCumsum, Op::kCumsum, 1, 1, "axis", false, "cumsum(x, axis=0)",
       "running sums along an axis"},
      {"dot", &E::CallDot, Op::kDot, 2, 2, "", false, "dot(a, b)",
       "matrix product; equal leading dimensions batch; f32 for floats, i32 for integers"},
      // Position.
      {"first", &E::CallVisit, Op::kFirstStep, 1, 1, "", true, "first(l) or first(o)",
       "first step of an axis, or of an operand's stay"},
      {"last", &E::CallVisit, Op::kLastStep, 1, 1, "", true, "last(l) or last(o)",
       "last step of an axis, or of an operand's stay"},
      {"steps", &E::CallSteps, Op::kSteps, 1, 1, "", true, "steps(l)",
       "number of steps of an axis"},
      {"inside", &E::CallInside, Op::kInside, 1, 1, "", false, "inside(x)",
       "mask of the elements of x's block that lie within its array"},
      {"at", &E::CallAt, Op::kAt, 1, 2, "axis", false, "at(x, axis)",
       "i32 coordinates in the array of the elements of x's block"},
  };
  return table;
}

const FunctionEntry* FindFunction(std::string_view name) {
  for (const FunctionEntry& entry : Functions()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

NodePtr Elaborator::ElaborateCall(const Expr& expr, const Setting& setting) {
  if (const auto dtype = DTypeNamed(expr.name)) return CallCast(expr, *dtype, setting);
  const FunctionEntry* f = FindFunction(expr.name);
  if (!f) {
    std::vector<std::string> names = {"bool", "i8",  "u8",   "i16", "u16", "i32",
                                      "u32",  "i64", "bf16", "f16", "f32", "f64"};
    for (const FunctionEntry& entry : Functions()) names.emplace_back(entry.name);
    if (expr.name == "ds") {
      return Error(
          "syntax", expr.span,
          "ds(start, size) stands only inside a subscript or the index of a `bounded` block");
    }
    return Error("name", expr.name_span, "there is no function `" + expr.name + "`",
                 DidYouMean(expr.name, names));
  }
  if (!CheckArguments(expr, *f)) return nullptr;
  if (setting.index && !f->in_index) {
    if (setting.body) {  // a subscript may use any tile function that ends in a scalar
      NodePtr value = Decide((this->*f->handler)(expr, *f, kBodySetting));
      return value;
    }
    return Error("type", expr.span, std::string(setting.name) + " cannot use `" + expr.name + "`",
                 "there are arithmetic, cdiv rem min max clamp abs sign where first last steps");
  }
  return (this->*f->handler)(expr, *f, setting);
}

bool Elaborator::CheckArguments(const Expr& expr, const FunctionEntry& f) {
  const int count = static_cast<int>(expr.args.size());
  const std::string usage = "write " + std::string(f.signature);
  for (const Keyword& keyword : expr.keywords) {
    const std::string padded = " " + std::string(f.keywords) + " ";
    if (padded.find(" " + keyword.name.name + " ") == std::string::npos) {
      Error("name", keyword.name.span, "`" + expr.name + "` takes no `" + keyword.name.name + "=`",
            usage);
      return false;
    }
  }
  if (count >= f.least && count <= f.most) return true;
  const bool axis_given_by_place = f.most == 1 && f.keywords.find("axis") != std::string_view::npos;
  Error("syntax", expr.span,
        "`" + expr.name + "` takes " +
            (f.least == f.most ? std::to_string(f.least)
                               : std::to_string(f.least) + " or " + std::to_string(f.most)) +
            (axis_given_by_place ? " positional" : "") + " argument" + (f.most == 1 ? "" : "s") +
            ", not " + std::to_string(count),
        axis_given_by_place && count == 2 ? "name the axis: " + expr.name + "(x, axis=…)" : usage);
  return false;
}

const Expr* Elaborator::KeywordValue(const Expr& expr, std::string_view keyword) const {
  for (const Keyword& k : expr.keywords) {
    if (k.name.name == keyword) return k.value.get();
  }
  return nullptr;
}

NodePtr Elaborator::CallCast(const Expr& expr, DType dtype, const Setting& setting) {
  if (expr.args.size() != 1 || !expr.keywords.empty()) {
    return Error("syntax", expr.span, "a cast takes one value: " + expr.name + "(x)");
  }
  // What is converted to an integer may be float arithmetic.
  if (setting.index && setting.body && IsInteger(dtype)) {
    NodePtr value = Elaborate(*expr.args[0], kBodySetting);
    if (!value) return nullptr;
    if (IsFloat(value->dtype)) {
      value = Decide(value);
      return value ? ToIndex(Cast(value, dtype, expr.span), setting) : nullptr;
    }
  }
  NodePtr x = Elaborate(*expr.args[0], setting);
  if (!x) return nullptr;
  if (setting.index && IsFloat(dtype)) {
    return Error("type", expr.span,
                 std::string(setting.name) + " is integer arithmetic; no floats");
  }
  if (setting.index && !IsFloat(x->dtype) && dtype != DType::kBool) return x;
  return Cast(x, dtype, expr.span);
}

NodePtr Elaborator::FloatArgument(const Expr& expr, const Setting& setting,
                                  const FunctionEntry& f) {
  NodePtr x = Elaborate(expr, setting);
  if (!x) return nullptr;
  std::string why;
  if (x->dtype == DType::kWeakInt) {
    if (NodePtr weak = Coerce(x, DType::kWeakFloat, why)) x = weak;
  }
  x = Promote(x);
  if (!IsFloat(x->dtype)) {
    return Error("type", expr.span,
                 "`" + std::string(f.name) + "` needs floats, not " + std::string(Name(x->dtype)),
                 "write f32(" + Spelling(*x) + ")");
  }
  return x;
}

NodePtr Elaborator::CallFloat(const Expr& expr, const FunctionEntry& f, const Setting& setting) {
  NodePtr x = FloatArgument(*expr.args[0], setting, f);
  if (!x) return nullptr;
  if (IsConst(x) && IsWeak(x->dtype)) {
    if (const auto value = FoldFunction(f.op, x->float_value)) {
      return MakeFloat(*value, DType::kWeakFloat, expr.span);
    }
  }
  x = Decide(x);
  return x ? Unary(f.op, x, setting, expr.span) : nullptr;
}

NodePtr Elaborator::CallRounding(const Expr& expr, const FunctionEntry& f, const Setting& setting) {
  return CallFloat(expr, f, setting);
}

NodePtr Elaborator::CallNumeric(const Expr& expr, const FunctionEntry& f, const Setting& setting) {
  NodePtr x = Elaborate(*expr.args[0], setting);
  if (!x) return nullptr;
  x = Promote(x);
  if (!IsConst(x)) x = Decide(x);
  return x ? Unary(f.op, x, setting, expr.span) : nullptr;
}

NodePtr Elaborator::CallExtreme(const Expr& expr, const FunctionEntry& f, const Setting& setting) {
  if (expr.args.size() == 1) {
    FunctionEntry reduce = f;
    reduce.op = f.op == Op::kMax ? Op::kReduceMax : Op::kReduceMin;
    if (setting.index) {
      if (!setting.body)
        return Error("type", expr.span, std::string(setting.name) + " cannot reduce");
      return CallReduce(expr, reduce, kBodySetting);
    }
    return CallReduce(expr, reduce, setting);
  }
  if (!expr.keywords.empty()) {
    return Error("syntax", expr.span,
                 "`" + expr.name + "` of two values takes no axis; a reduction takes one value",
                 "write " + expr.name + "(a, b), or " + expr.name + "(x, axis=…)");
  }
  NodePtr a = Elaborate(*expr.args[0], setting);
  NodePtr b = Elaborate(*expr.args[1], setting);
  if (!a || !b || !Unify(a, b, expr.name.c_str(), expr.span)) return nullptr;
  auto shape = Broadcast(a->shape, b->shape, "`" + expr.name + "`", expr.span);
  if (!shape) return nullptr;
  return Fold(TileNode(ExtremeOf(f.op, a->dtype), a->dtype, *shape, expr.span, {a, b}));
}

NodePtr Elaborator::CallClamp(const Expr& expr, const FunctionEntry& f, const Setting& setting) {
  NodePtr x = Elaborate(*expr.args[0], setting);
  NodePtr low = Elaborate(*expr.args[1], setting);
  NodePtr high = Elaborate(*expr.args[2], setting);
  if (!x || !low || !high) return nullptr;
  if (!Unify(low, high, "clamp", expr.span) || !Unify(x, low, "clamp", expr.span) ||
      !Unify(x, high, "clamp", expr.span)) {
    return nullptr;
  }
  auto shape = Broadcast(x->shape, low->shape, "`clamp`", expr.span);
  if (shape) shape = Broadcast(*shape, high->shape, "`clamp`", expr.span);
  if (!shape) return nullptr;
  if (x->dtype != DType::kBool)
    return Fold(TileNode(f.op, x->dtype, *shape, expr.span, {x, low, high}));
  const NodePtr raised = Fold(TileNode(Op::kBitOr, x->dtype, *shape, expr.span, {x, low}));
  return Fold(TileNode(Op::kBitAnd, x->dtype, *shape, expr.span, {raised, high}));
}

NodePtr Elaborator::CallWhere(const Expr& expr, const FunctionEntry&, const Setting& setting) {
  NodePtr condition = Elaborate(*expr.args[0], setting);
  NodePtr a = Elaborate(*expr.args[1], setting);
  NodePtr b = Elaborate(*expr.args[2], setting);
  if (!condition || !a || !b) return nullptr;
  if (condition->dtype != DType::kBool) {
    return Error("type", condition->span,
                 "the mask of `where` must be bool, not " + std::string(Name(condition->dtype)),
                 "compare it: " + Spelling(*condition) + " != 0");
  }
  return Select(condition, a, b, Op::kWhere, setting, expr.span);
}

NodePtr Elaborator::CallInteger(const Expr& expr, const FunctionEntry& f, const Setting& setting) {
  NodePtr a = Elaborate(*expr.args[0], setting);
  NodePtr b = Elaborate(*expr.args[1], setting);
  if (!a || !b) return nullptr;
  if (f.op == Op::kCeilDiv && (IsFloat(a->dtype) || IsFloat(b->dtype))) {
    return Error("type", expr.span, "`cdiv` needs integers", "ceil(a / b) divides floats");
  }
  return Binary(f.op, a, b, setting, expr.span);
}

NodePtr Elaborator::CallBitcast(const Expr& expr, const FunctionEntry& f, const Setting& setting) {
  const Expr& type = *expr.args[0];
  const auto dtype = type.kind == Expr::Kind::kName ? DTypeNamed(type.name) : std::nullopt;
  if (!dtype) {
    return Error("type", type.span, "the first argument of `bitcast` is a dtype",
                 "write " + std::string(f.signature));
  }
  NodePtr x = Decide(Elaborate(*expr.args[1], setting));
  if (!x) return nullptr;
  if (SizeOf(x->dtype) != SizeOf(*dtype) || x->dtype == DType::kBool || *dtype == DType::kBool) {
    return Error("type", expr.span,
                 "bitcast of " + std::string(Name(x->dtype)) + " to " + std::string(Name(*dtype)) +
                     ": the widths differ");
  }
  NodePtr cast = Unary(f.op, x, setting, expr.span);
  auto copy = std::make_shared<Node>(*cast);
  copy->dtype = *dtype;
  return copy;
}

NodePtr Elaborator::CallVisit(const Expr& expr, const FunctionEntry& f, const Setting& setting) {
  const Expr& of = *expr.args[0];
  const Symbol* symbol = of.kind == Expr::Kind::kName ? Find(of.name) : nullptr;
  const bool first = f.op == Op::kFirstStep;
  Node node;
  node.dtype = DType::kBool;
  node.span = expr.span;
  if (symbol && symbol->kind == Symbol::Kind::kAxis) {
    if (!setting.axes) {
      return Error("name", of.span, std::string(setting.name) + " cannot use a grid axis");
    }
    node.op = f.op;
    node.index = symbol->index;
    return std::make_shared<const Node>(std::move(node));
  }
  const Ref* ref = symbol && symbol->kind == Symbol::Kind::kRef
                       ? &kernel_.refs[static_cast<size_t>(symbol->index)]
                       : nullptr;
  const bool operand = ref && (ref->role == Role::kInput || ref->role == Role::kOutput);
  if (!operand || !setting.body) {
    if (symbol && symbol->kind == Symbol::Kind::kAbsent) return ElaborateName(of, setting);
    return Error("name", of.span,
                 "`" + expr.name + "` takes a grid axis" + (setting.body ? " or an operand" : ""),
                 of.kind == Expr::Kind::kName ? DidYouMean(of.name, VisibleNames()) : "");
  }
  node.op = first ? Op::kFirstVisit : Op::kLastVisit;
  node.index = symbol->index;
  return std::make_shared<const Node>(std::move(node));
}

NodePtr Elaborator::CallSteps(const Expr& expr, const FunctionEntry&, const Setting& setting) {
  const Expr& of = *expr.args[0];
  const Symbol* symbol = of.kind == Expr::Kind::kName ? Find(of.name) : nullptr;
  if (!symbol || symbol->kind != Symbol::Kind::kAxis || !setting.axes) {
    return Error("name", of.span, "`steps` takes a grid axis");
  }
  if (const NodePtr& steps = kernel_.axes[static_cast<size_t>(symbol->index)].steps) {
    if (const auto value = ConstInt(steps)) {
      return MakeInt(*value, setting.index ? DType::kIndex : DType::kWeakInt, expr.span);
    }
  }
  Node node;
  node.op = Op::kSteps;
  node.dtype = setting.index ? DType::kIndex : DType::kWeakInt;
  node.index = symbol->index;
  node.span = expr.span;
  return std::make_shared<const Node>(std::move(node));
}

}  // namespace kiln
