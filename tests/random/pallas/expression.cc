#include "tests/random/pallas/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kiln::soak {
namespace {

/// `$0` is the first argument, `T` the result's type.
struct Form {
  Op op;
  const char* text;
};

constexpr Form kForms[] = {
    {Op::kNeg, "(-$0)"},
    {Op::kBitNot, "(~$0)"},
    {Op::kNot, "(~$0)"},
    {Op::kAdd, "($0 + $1)"},
    {Op::kSub, "($0 - $1)"},
    {Op::kMul, "($0 * $1)"},
    {Op::kDiv, "($0 / $1)"},
    {Op::kFloorDiv, "($0 // $1)"},
    {Op::kMod, "($0 % $1)"},
    {Op::kPow, "jnp.power($0, $1)"},
    {Op::kRem, "rem($0, $1)"},
    {Op::kCeilDiv, "ceil_divide($0, $1)"},
    {Op::kShl, "($0 << $1)"},
    {Op::kShr, "($0 >> $1)"},
    {Op::kBitAnd, "($0 & $1)"},
    {Op::kBitOr, "($0 | $1)"},
    {Op::kBitXor, "($0 ^ $1)"},
    {Op::kLt, "($0 < $1)"},
    {Op::kLe, "($0 <= $1)"},
    {Op::kGt, "($0 > $1)"},
    {Op::kGe, "($0 >= $1)"},
    {Op::kEq, "($0 == $1)"},
    {Op::kNe, "($0 != $1)"},
    {Op::kWhere, "jnp.where($0, $1, $2)"},
    {Op::kMax, "jnp.maximum($0, $1)"},
    {Op::kMin, "jnp.minimum($0, $1)"},
    {Op::kClamp, "jnp.minimum(jnp.maximum($0, $1), $2)"},
    {Op::kAbs, "jnp.abs($0)"},
    {Op::kSign, "jnp.sign($0)"},
    {Op::kFloor, "jnp.floor($0)"},
    {Op::kCeil, "jnp.ceil($0)"},
    {Op::kRound, "jnp.round($0)"},
    {Op::kExp, "jnp.exp($0)"},
    {Op::kExp2, "jnp.exp2($0)"},
    {Op::kLog, "jnp.log($0)"},
    {Op::kLog2, "jnp.log2($0)"},
    {Op::kLog1p, "jnp.log1p($0)"},
    {Op::kTanh, "jnp.tanh($0)"},
    {Op::kErf, "jax.lax.erf($0)"},
    {Op::kSigmoid, "jax.nn.sigmoid($0)"},
    {Op::kSqrt, "jnp.sqrt($0)"},
    {Op::kRsqrt, "jax.lax.rsqrt($0)"},
    {Op::kSin, "jnp.sin($0)"},
    {Op::kCos, "jnp.cos($0)"},
    {Op::kRelu, "jax.nn.relu($0)"},
    {Op::kGelu, "jax.nn.gelu($0, approximate=False)"},
    {Op::kGeluTanh, "jax.nn.gelu($0)"},
    {Op::kSilu, "jax.nn.silu($0)"},
    {Op::kCast, "cast($0, T)"},
    {Op::kBitcast, "bitcast($0, T)"},
    {Op::kAnd, "($0 & $1)"},
    {Op::kOr, "($0 | $1)"},
    {Op::kDot, "dot($0, $1, T)"},
};

const char* FormOf(Op op) {
  for (const Form& form : kForms) {
    if (form.op == op) return form.text;
  }
  return nullptr;
}

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

std::string ConstantText(const Node& node) {
  if (node.dtype == DType::kBool) return node.int_value ? "bool_(True)" : "bool_(False)";
  return PythonType(node.dtype) + "(" +
         (IsFloat(node.dtype) ? FloatText(node.float_value) : std::to_string(node.int_value)) + ")";
}

std::string AxisTuple(const std::vector<int>& axes) {
  std::vector<std::string> parts;
  for (const int axis : axes) parts.push_back(std::to_string(axis));
  return Tuple(parts);
}

bool ReadsHost(const Node& node) {
  return node.op == Op::kRead || std::any_of(node.args.begin(), node.args.end(),
                                             [](const NodePtr& arg) { return ReadsHost(*arg); });
}

/// Whether the sizes of the call alone decide it.
bool IsSize(const Node& node) {
  if (node.args.empty()) return node.op == Op::kConst || node.op == Op::kDim;
  return std::all_of(node.args.begin(), node.args.end(),
                     [](const NodePtr& arg) { return IsSize(*arg); });
}

}  // namespace

std::string PythonType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool_";
    case DType::kIndex:
    case DType::kWeakInt:
      return "i64";
    case DType::kWeakFloat:
      return "f64";
    default:
      return std::string(Name(dtype));
  }
}

std::string Tuple(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return "(" + text + (parts.size() == 1 ? ",)" : ")");
}

int64_t Expressions::Extent(const Size& size) const {
  const auto extent = Evaluate(size, binding_);
  if (!extent) throw CannotSay("a size that the call does not decide");
  return *extent;
}

std::string Expressions::ShapeText(const Shape& shape) const {
  std::vector<std::string> parts;
  for (const Size& size : shape) parts.push_back(std::to_string(Extent(size)));
  return Tuple(parts);
}

bool Expressions::IsDynamic(const Axis& axis) const { return ReadsHost(*axis.steps); }

std::string Expressions::StepsOf(size_t axis) const {
  const Axis& of = kernel_.axes[axis];
  return IsDynamic(of) ? Text(*of.steps) : std::to_string(binding_.steps[axis]);
}

std::string Expressions::Index(const Node& node) const {
  if (IsSize(node)) {
    const EvalResult known = Evaluate(node, binding_, nullptr);
    if (known.fault == EvalFault::kNone) return std::to_string(known.value);
  }
  return Text(node);
}

std::string Expressions::Subscripts(const std::vector<Subscript>& subscripts,
                                    const Shape& of) const {
  std::string text;
  bool whole = true;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const Subscript& subscript = subscripts[d];
    const std::string start = Index(*subscript.start);
    text += d > 0 ? ", " : "";
    if (!subscript.range) {
      whole = false;
      text += start;
      continue;
    }
    const int64_t size = Extent(subscript.size);
    const bool all = start == "0" && size == Extent(of[d]);
    whole = whole && all;
    text += all ? ":" : "pl.ds(" + start + ", " + std::to_string(size) + ")";
  }
  return whole ? "[...]" : "[" + text + "]";
}

std::string Expressions::StartOf(int ref, size_t dimension) const {
  const BlockDim& dim = RefAt(ref).block[dimension];
  const std::string index = Index(*dim.index);
  switch (dim.kind) {
    case BlockDim::Kind::kBlocked:
      return index + " * " + std::to_string(Extent(dim.size));
    case BlockDim::Kind::kElement:
      return index + " - " + std::to_string(Extent(dim.halo_low));
    default:
      return index;
  }
}

std::string Expressions::InsideText(const Node& node) const {
  const Ref& ref = RefAt(node.index);
  std::string text = "inside(" + ShapeText(ref.view);
  for (const int of : ref.view_dims) {
    const auto d = static_cast<size_t>(of);
    const BlockDim& dim = ref.block[d];
    const std::string start = StartOf(node.index, d);
    const bool bounded = dim.kind == BlockDim::Kind::kBounded;
    text += ", (" + start + ", " +
            (bounded ? start + " + " + Index(*dim.extent)
                     : std::to_string(binding_.arrays[static_cast<size_t>(node.index)][d])) +
            ")";
  }
  return text + ")";
}

std::string Expressions::AtText(const Node& node) const {
  const Ref& ref = RefAt(node.index);
  const auto view_axis = static_cast<size_t>(node.axes[0]);
  return "at(" + ShapeText(ref.view) + ", " + std::to_string(view_axis) + ", " +
         StartOf(node.index, static_cast<size_t>(ref.view_dims[view_axis])) + ")";
}

std::string Expressions::Read(const Node& node) const {
  const Ref& ref = RefAt(node.index);
  const std::string text =
      ref.name + (ref.role == Role::kScalar ? "[0]" : Subscripts(node.subscripts, ref.view));
  // Index maps read elements of any type as numbers of 64 bits.
  return node.dtype == ref.dtype ? text : "cast(" + text + ", " + PythonType(node.dtype) + ")";
}

std::string Expressions::Leaf(const Node& node) const {
  const auto index = static_cast<size_t>(node.index);
  const auto as_type = [&](const std::string& text) {
    return PythonType(node.dtype) == "i64" ? text
                                           : "cast(" + text + ", " + PythonType(node.dtype) + ")";
  };
  switch (node.op) {
    case Op::kConst:
      return ConstantText(node);
    case Op::kAxis:
      return as_type(kernel_.axes[index].name);
    case Op::kSteps:
      return PythonType(node.dtype) + "(" + StepsOf(index) + ")";
    case Op::kDim:
      return PythonType(node.dtype) + "(" + std::to_string(*binding_.dims[index]) + ")";
    case Op::kFirstStep:
      return "(" + kernel_.axes[index].name + " == 0)";
    case Op::kLastStep:
      return "(" + kernel_.axes[index].name + " == " + StepsOf(index) + " - 1)";
    case Op::kFirstVisit:
      return "first_" + RefAt(node.index).name;
    case Op::kLastVisit:
      return "last_" + RefAt(node.index).name;
    case Op::kLocal: {
      const Local& local = kernel_.locals[index];
      if (local.kind == Local::Kind::kVar) return local.name + "[...]";
      return local.kind == Local::Kind::kLoop ? as_type(local.name) : local.name;
    }
    case Op::kRead:
      return Read(node);
    case Op::kInside:
      return InsideText(node);
    case Op::kAt:
      return AtText(node);
    case Op::kIota:
      return "iota(" + ShapeText(node.shape) + ", " + std::to_string(node.axes[0]) + ")";
    default:
      return "";
  }
}

std::string Expressions::Reduction(const Node& node, const std::string& function) const {
  const bool position = node.op == Op::kArgmax || node.op == Op::kArgmin;
  std::string text = "jnp." + function + "(" + Text(*node.args[0]) +
                     ", axis=" + (position ? std::to_string(node.axes[0]) : AxisTuple(node.axes));
  if (node.op == Op::kSum || node.op == Op::kProd) text += ", dtype=" + PythonType(node.dtype);
  text += node.keep ? ", keepdims=True)" : ")";
  return position ? "cast(" + text + ", i32)" : text;
}

std::string Expressions::Call(const Node& node) const {
  const auto argument = [&](size_t k) { return Text(*node.args[k]); };
  const std::string shape = ShapeText(node.shape);
  switch (node.op) {
    case Op::kIf:
      return "choose(" + argument(0) + ", lambda: " + argument(1) + ", lambda: " + argument(2) +
             ", " + shape + ")";
    case Op::kBroadcast:
      return "jnp.broadcast_to(" + argument(0) + ", " + shape + ")";
    case Op::kReshape:
      return "jnp.reshape(" + argument(0) + ", " + shape + ")";
    case Op::kTranspose:
      return "jnp.transpose(" + argument(0) + ", " + AxisTuple(node.axes) + ")";
    case Op::kConcat: {
      std::string list;
      for (size_t k = 0; k < node.args.size(); ++k) list += (k > 0 ? ", " : "") + argument(k);
      return "jnp.concatenate([" + list + "], axis=" + std::to_string(node.axes[0]) + ")";
    }
    case Op::kRoll:
      return "jnp.roll(" + argument(0) + ", " + Index(*node.args[1]) +
             ", axis=" + std::to_string(node.axes[0]) + ")";
    case Op::kSlice:
      return "part(" + argument(0) + ")" + Subscripts(node.subscripts, node.args[0]->shape);
    case Op::kSum:
      return Reduction(node, "sum");
    case Op::kProd:
      return Reduction(node, "prod");
    case Op::kReduceMax:
      return Reduction(node, "max");
    case Op::kReduceMin:
      return Reduction(node, "min");
    case Op::kMean:
      return Reduction(node, "mean");
    case Op::kAny:
      return Reduction(node, "any");
    case Op::kAll:
      return Reduction(node, "all");
    case Op::kArgmax:
      return Reduction(node, "argmax");
    case Op::kArgmin:
      return Reduction(node, "argmin");
    case Op::kCumsum:
      return "jnp.cumsum(" + argument(0) + ", axis=" + std::to_string(node.axes[0]) +
             ", dtype=" + PythonType(node.dtype) + ")";
    default:
      throw CannotSay("the operation `" + std::string(Name(node.op)) + "`");
  }
}

std::string Expressions::Text(const Node& node) const {
  const char* form = FormOf(node.op);
  if (!form) {
    const std::string leaf = Leaf(node);
    return leaf.empty() ? Call(node) : leaf;
  }
  std::string out;
  for (const char* c = form; *c; ++c) {
    if (*c == '$')
      out += Text(*node.args[static_cast<size_t>(*++c - '0')]);
    else if (*c == 'T')
      out += PythonType(node.dtype);
    else
      out += *c;
  }
  return out;
}

}  // namespace kiln::soak
