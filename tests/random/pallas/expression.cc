#include "tests/random/pallas/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kiln::soak {
namespace {

/// What takes functions of language.py; `T` is the result's type.
struct Form {
  Op op;
  const char* text;
};

constexpr Form kForms[] = {
    {Op::kRem, "rem($0, $1)"},
    {Op::kQuot, "quot($0, $1)"},
    {Op::kCeilDiv, "ceil_divide($0, $1)"},
    {Op::kCast, "cast($0, T)"},
    {Op::kBitcast, "bitcast($0, T)"},
    {Op::kDot, "dot($0, $1, T)"},
};

/// The text of an operation, where `$0` is the first argument; empty: it has more to say.
std::string FormOf(Op op) {
  for (const Form& form : kForms) {
    if (form.op == op) return form.text;
  }
  const Operation& row = RowOf(op);
  std::string text(row.jax);
  if (text.empty() || text.find('$') != std::string::npos) return text;
  for (int k = 0; k < row.args; ++k) text += (k == 0 ? "($" : ", $") + std::to_string(k);
  return text + ")";
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
    const int64_t size = Extent(subscript.size), stride = subscript.stride;
    const bool all = start == "0" && stride == 1 && size == Extent(of[d]) && !subscript.count;
    whole = whole && all;
    text += all ? ":"
                : "pl.ds(" + start + ", " +
                      (subscript.count ? Index(*subscript.count) : std::to_string(size)) +
                      (stride == 1 ? ")" : ", " + std::to_string(stride) + ")");
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
  switch (AsLeaf(node.op)) {
    case LeafOp::kConst:
      return ConstantText(node);
    case LeafOp::kAxis:
      return as_type(kernel_.axes[index].name);
    case LeafOp::kSteps:
      return PythonType(node.dtype) + "(" + StepsOf(index) + ")";
    case LeafOp::kDim:
      return PythonType(node.dtype) + "(" + std::to_string(*binding_.dims[index]) + ")";
    case LeafOp::kFirstStep:
      return "(" + kernel_.axes[index].name + " == 0)";
    case LeafOp::kLastStep:
      return "(" + kernel_.axes[index].name + " == " + StepsOf(index) + " - 1)";
    case LeafOp::kFirstVisit:
      return "first_" + RefAt(node.index).name;
    case LeafOp::kLastVisit:
      return "last_" + RefAt(node.index).name;
    case LeafOp::kLocal: {
      const Local& local = kernel_.locals[index];
      if (local.kind == Local::Kind::kVar) return local.name + "[...]";
      return local.kind == Local::Kind::kLoop ? as_type(local.name) : local.name;
    }
    case LeafOp::kRead:
      return Read(node);
    case LeafOp::kInside:
      return InsideText(node);
    case LeafOp::kAt:
      return AtText(node);
  }
  __builtin_unreachable();
}

std::string Expressions::Reduction(const Node& node, const std::string& function) const {
  const bool position = node.op == Op::kArgmax || node.op == Op::kArgmin;
  std::string text = "jnp." + function + "(" + Text(*node.args[0]) +
                     ", axis=" + (position ? std::to_string(node.axes[0]) : AxisTuple(node.axes));
  if (node.op == Op::kSum || node.op == Op::kProd) text += ", dtype=" + PythonType(node.dtype);
  text += node.keep ? ", keepdims=True)" : ")";
  return position ? "cast(" + text + ", i32)" : text;
}

std::string Expressions::Ordered(const Node& node) const {
  const std::string axis = ", axis=" + std::to_string(node.axes[0]);
  if (node.op == Op::kTopPositions) {
    const Size& k = node.shape[static_cast<size_t>(node.axes[0])];
    return "jax.lax.top_k(" + Text(*node.args[0]) + ", " + std::to_string(Extent(k)) + axis +
           ")[1]";
  }
  const std::string sorted = "jnp." + std::string(Name(node.op)) + "(" + Text(*node.args[0]) +
                             axis + (node.descending ? ", descending=True)" : ")");
  return node.op == Op::kArgsort ? "cast(" + sorted + ", i32)" : sorted;
}

std::string Expressions::Moved(const Node& node) const {
  const auto argument = [&](size_t k) { return Text(*node.args[k]); };
  const std::string shape = ShapeText(node.shape);
  switch (AsShape(node.op)) {
    case ShapeOp::kIota:
      return "iota(" + shape + ", " + std::to_string(node.axes[0]) + ")";
    case ShapeOp::kBroadcast:
      return "jnp.broadcast_to(" + argument(0) + ", " + shape + ")";
    case ShapeOp::kReshape:
      return "jnp.reshape(" + argument(0) + ", " + shape + ")";
    case ShapeOp::kTranspose:
      return "jnp.transpose(" + argument(0) + ", " + AxisTuple(node.axes) + ")";
    case ShapeOp::kConcat: {
      std::string list;
      for (size_t k = 0; k < node.args.size(); ++k) list += (k > 0 ? ", " : "") + argument(k);
      return "jnp.concatenate([" + list + "], axis=" + std::to_string(node.axes[0]) + ")";
    }
    case ShapeOp::kRoll:
      return "jnp.roll(" + argument(0) + ", " + Index(*node.args[1]) +
             ", axis=" + std::to_string(node.axes[0]) + ")";
    case ShapeOp::kTake:
      return "jnp.take(" + argument(0) + ", " + argument(1) +
             ", axis=" + std::to_string(node.axes[0]) + ")";
    case ShapeOp::kTakeAlong:
      return "jnp.take_along_axis(" + argument(0) + ", " + argument(1) +
             ", axis=" + std::to_string(node.axes[0]) + ")";
    case ShapeOp::kFlip:
      return "jnp.flip(" + argument(0) + ", axis=" + AxisTuple(node.axes) + ")";
    case ShapeOp::kSlice:
      return "part(" + argument(0) + ")" + Subscripts(node.subscripts, node.args[0]->shape);
  }
  __builtin_unreachable();
}

std::string Expressions::Call(const Node& node) const {
  switch (ClassOf(node.op)) {
    case OpClass::kLeaf:
      return Leaf(node);
    case OpClass::kShape:
      return Moved(node);
    case OpClass::kFold:
    case OpClass::kLocation:  // JAX's names are ours
      return Reduction(node, std::string(Name(node.op)));
    case OpClass::kScan:
      return "jax.lax." + std::string(Name(node.op)) + "(" + Text(*node.args[0]) +
             ", axis=" + std::to_string(node.axes[0]) + ")";
    case OpClass::kOrder:
      return Ordered(node);
    case OpClass::kLazy:  // kIf: the others have forms
      return "choose(" + Text(*node.args[0]) + ", lambda: " + Text(*node.args[1]) +
             ", lambda: " + Text(*node.args[2]) + ", " + ShapeText(node.shape) + ")";
    case OpClass::kArithmetic:
    case OpClass::kComparison:
    case OpClass::kFunction:
    case OpClass::kSpecial:
    case OpClass::kProduct:
      break;
  }
  throw CannotSay("the operation `" + std::string(Name(node.op)) + "`");
}

std::string Expressions::Text(const Node& node) const {
  const std::string form = FormOf(node.op);
  if (form.empty()) return Call(node);
  std::string out;
  for (const char* c = form.c_str(); *c; ++c) {
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
