#include "generator/elaborate/elaborate.h"
#include "generator/ir/tile_node.h"
#include "generator/syntax/foreign.h"
#include "generator/syntax/names.h"

namespace kiln {
namespace {

/// Of bools the larger is either, the smaller both.
Op ExtremeOf(Op op, DType dtype) {
  if (dtype != DType::kBool) return op;
  return op == Op::kMax ? Op::kBitOr : Op::kBitAnd;
}

}  // namespace

NodePtr Elaborator::ElaborateCall(const Expr& expr, const Setting& setting) {
  if (const auto dtype = DTypeNamed(expr.name)) return CallCast(expr, *dtype, setting);
  const Operation* f = FindFunction(expr.name);
  if (!f) {
    std::vector<std::string> names;
    for (const DType known : ArrayTypes()) names.emplace_back(Name(known));
    for (const Operation& entry : Functions()) names.emplace_back(entry.name);
    if (expr.name == "ds") {
      return Error(
          "syntax", expr.span,
          "ds(start, size) stands only inside a subscript or the index of a `bounded` block");
    }
    std::string hint = HintForForeign(expr.name);
    if (hint.empty()) hint = HintForDType(expr.name, names);
    return Error("name", expr.name_span, "there is no function `" + expr.name + "`", hint);
  }
  if (!CheckArguments(expr, *f)) return nullptr;
  if (setting.index && !f->in_index) {
    if (setting.body) {  // a subscript may use any tile function that ends in a scalar
      NodePtr value = Decide(Called(expr, *f, kBodySetting));
      return value;
    }
    return Error(
        "type", expr.span, std::string(setting.name) + " cannot use `" + expr.name + "`",
        "there are arithmetic, cdiv quot rem min max clamp abs sign where first last steps");
  }
  return Called(expr, *f, setting);
}

NodePtr Elaborator::Called(const Expr& expr, const Operation& f, const Setting& setting) {
  switch (f.call) {
    case CallRule::kFloats:
      return CallFloats(expr, f, setting);
    case CallRule::kNumber:
      return CallNumber(expr, f, setting);
    case CallRule::kIntegers:
      return CallIntegers(expr, f, setting);
    case CallRule::kWhere:
      return CallWhere(expr, f, setting);
    case CallRule::kClamp:
      return CallClamp(expr, f, setting);
    case CallRule::kExtreme:
      return CallExtreme(expr, f, setting);
    case CallRule::kBitcast:
      return CallBitcast(expr, f, setting);
    case CallRule::kIota:
      return CallIota(expr, f, setting);
    case CallRule::kBroadcast:
      return CallBroadcast(expr, f, setting);
    case CallRule::kReshape:
      return CallReshape(expr, f, setting);
    case CallRule::kExpand:
      return CallExpand(expr, f, setting);
    case CallRule::kSqueeze:
      return CallSqueeze(expr, f, setting);
    case CallRule::kTranspose:
      return CallTranspose(expr, f, setting);
    case CallRule::kConcat:
      return CallConcat(expr, f, setting);
    case CallRule::kRoll:
      return CallRoll(expr, f, setting);
    case CallRule::kTake:
      return CallTake(expr, f, setting);
    case CallRule::kReduce:
      return CallReduce(expr, f, setting);
    case CallRule::kFlip:
      return CallFlip(expr, f, setting);
    case CallRule::kRepeat:
      return CallRepeat(expr, f, setting);
    case CallRule::kScan:
      return CallScan(expr, f, setting);
    case CallRule::kSort:
      return CallSort(expr, f, setting);
    case CallRule::kTopK:
      return CallTopK(expr, f, setting);
    case CallRule::kDot:
      return CallDot(expr, f, setting);
    case CallRule::kVisit:
      return CallVisit(expr, f, setting);
    case CallRule::kSteps:
      return CallSteps(expr, f, setting);
    case CallRule::kInside:
      return CallInside(expr, f, setting);
    case CallRule::kAt:
      return CallAt(expr, f, setting);
    case CallRule::kNone:
      break;
  }
  return nullptr;
}

bool Elaborator::CheckArguments(const Expr& expr, const Operation& f) {
  const int count = static_cast<int>(expr.args.size());
  const std::string usage = "write " + std::string(f.signature);
  for (const Keyword& keyword : expr.keywords) {
    const std::string padded = " " + std::string(f.keywords) + " ";
    if (padded.find(" " + keyword.name.name + " ") == std::string::npos) {
      const std::string hint = HintForForeignArgument(expr.name, keyword.name.name);
      Error("name", keyword.name.span, "`" + expr.name + "` takes no `" + keyword.name.name + "=`",
            hint.empty() ? usage : hint);
      return false;
    }
  }
  if (count >= f.least && count <= f.most) return true;
  const bool takes_list = f.signature.find('[') != std::string_view::npos;
  const bool axis_given_by_place =
      f.most == 1 && !takes_list && f.keywords.find("axis") != std::string_view::npos;
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

NodePtr Elaborator::FloatArgument(const Expr& expr, const Setting& setting, const Operation& f) {
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

/// One float, or two that are converted to one type and shape. Constants stay weak where the row
/// folds: `sqrt(2.0) * x` takes x's type.
NodePtr Elaborator::CallFloats(const Expr& expr, const Operation& f, const Setting& setting) {
  std::vector<NodePtr> args;
  for (const ExprPtr& arg : expr.args) {
    args.push_back(FloatArgument(*arg, setting, f));
    if (!args.back()) return nullptr;
  }
  const NodePtr& x = args[0];
  if (args.size() == 1 && f.fold && IsConst(x) && IsWeak(x->dtype)) {
    return MakeFloat(f.fold(x->float_value), DType::kWeakFloat, expr.span);
  }
  const bool two = args.size() == 2;
  if (two && !Unify(args[0], args[1], expr.name.c_str(), expr.span)) return nullptr;
  Shape shape;
  for (NodePtr& arg : args) {
    arg = Decide(arg);
    if (!arg) return nullptr;
    auto joined = Broadcast(shape, arg->shape, "`" + expr.name + "`", expr.span);
    if (!joined) return nullptr;
    shape = *std::move(joined);
  }
  const DType dtype = args[0]->dtype;
  return Fold(TileNode(f.op, dtype, std::move(shape), expr.span, std::move(args)));
}

NodePtr Elaborator::CallNumber(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Elaborate(*expr.args[0], setting);
  if (!x) return nullptr;
  x = Promote(x);
  if (!IsConst(x)) x = Decide(x);
  return x ? Unary(f.op, x, setting, expr.span) : nullptr;
}

NodePtr Elaborator::CallExtreme(const Expr& expr, const Operation& f, const Setting& setting) {
  if (expr.args.size() == 1) {
    Operation reduce = f;
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

NodePtr Elaborator::CallClamp(const Expr& expr, const Operation& f, const Setting& setting) {
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

NodePtr Elaborator::CallWhere(const Expr& expr, const Operation&, const Setting& setting) {
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

NodePtr Elaborator::CallIntegers(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr a = Elaborate(*expr.args[0], setting);
  NodePtr b = Elaborate(*expr.args[1], setting);
  if (!a || !b) return nullptr;
  if (f.op != Op::kRem && (IsFloat(a->dtype) || IsFloat(b->dtype))) {
    return Error("type", expr.span, "`" + std::string(f.name) + "` needs integers",
                 f.op == Op::kCeilDiv ? "ceil(a / b) divides floats" : "a / b divides floats");
  }
  return Binary(f.op, a, b, setting, expr.span);
}

NodePtr Elaborator::CallVisit(const Expr& expr, const Operation& f, const Setting& setting) {
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
  const Ref* ref =
      symbol && symbol->kind == Symbol::Kind::kRef ? &kernel_[RefId(symbol->index)] : nullptr;
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

NodePtr Elaborator::CallSteps(const Expr& expr, const Operation&, const Setting& setting) {
  const Expr& of = *expr.args[0];
  const Symbol* symbol = of.kind == Expr::Kind::kName ? Find(of.name) : nullptr;
  if (!symbol || symbol->kind != Symbol::Kind::kAxis || !setting.axes) {
    return Error("name", of.span, "`steps` takes a grid axis");
  }
  if (const NodePtr& steps = kernel_[AxisId(symbol->index)].steps) {
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
