#include "generator/elaborate/reference.h"

#include <algorithm>
#include <set>

#include "generator/syntax/names.h"

/// [name], [key] What `reference` names is an output, once; a file has one size.
namespace kiln {
namespace {

const Ref* OutputNamed(const Kernel& kernel, const std::string& name) {
  const int index = kernel.FindRef(name);
  if (index < 0) return nullptr;
  const Ref& ref = kernel[RefId(index)];
  return ref.role == Role::kOutput ? &ref : nullptr;
}

/// Declared, with a condition that does not hold.
bool IsAbsent(const Spec& spec, const Kernel& kernel, const std::string& output) {
  return !OutputNamed(kernel, output) &&
         std::any_of(spec.outputs.begin(), spec.outputs.end(),
                     [&](const OperandEntry& entry) { return entry.name.name == output; });
}

bool HasOneSize(const Ref& ref) {
  return std::all_of(ref.array.begin(), ref.array.end(),
                     [](const Size& size) { return size.Constant().has_value(); });
}

/// False after an error, which is reported.
bool CheckReference(const ReferenceSpec& reference, const Kernel& kernel,
                    Diagnostics& diagnostics) {
  const Ref* output = OutputNamed(kernel, reference.output.name);
  if (!output) {
    std::vector<std::string> names;
    for (const Ref& ref : kernel.refs) {
      if (ref.role == Role::kOutput) names.push_back(ref.name);
    }
    const std::string hint = DidYouMean(reference.output.name, names);
    diagnostics.Error("name", reference.output.span,
                      "`" + reference.output.name + "` is not an output of this kernel",
                      hint.empty() ? "a reference says what an output ought to be" : hint);
    return false;
  }
  if (reference.file.empty() || HasOneSize(*output)) return true;
  diagnostics.Error("key", reference.span,
                    "`" + output->name + "` is of shape " + ToString(output->array) +
                        ", but a file holds one size",
                    "fix the dimensions, as in dims: {m: 256}, or write an expression");
  return false;
}

ExprPtr NameExpr(const std::string& name, Span span) {
  auto expr = std::make_shared<Expr>();
  expr->kind = Expr::Kind::kName;
  expr->name = name;
  expr->span = expr->name_span = span;
  return expr;
}

/// Floats are computed in double precision; an integer is what the output's type makes of it.
std::string TypeOfReference(const Ref& output) {
  return IsFloat(output.dtype) ? "f64" : std::string(Name(output.dtype));
}

Stmt Assignment(const ReferenceSpec& reference, const Ref& output) {
  auto cast = std::make_shared<Expr>();
  cast->kind = Expr::Kind::kCall;
  cast->name = TypeOfReference(output);
  cast->span = cast->name_span = reference.value->span;
  cast->args = {reference.value};
  Stmt statement;
  statement.span = reference.value->span;
  statement.op = "=";
  statement.target = NameExpr(reference.output.name, reference.output.span);
  statement.value = output.dtype == DType::kBool ? reference.value : cast;
  return statement;
}

bool Mentions(const Expr& expr, const std::set<std::string>& names) {
  if (expr.kind == Expr::Kind::kName && names.count(expr.name) > 0) return true;
  const auto mentions = [&](const ExprPtr& part) { return part && Mentions(*part, names); };
  return std::any_of(expr.args.begin(), expr.args.end(), mentions) ||
         std::any_of(expr.keywords.begin(), expr.keywords.end(),
                     [&](const Keyword& keyword) { return mentions(keyword.value); });
}

/// Lets that look at the grid mean nothing without one.
void DropLetsOfAxes(Spec& spec) {
  std::set<std::string> of_axes;
  for (const AxisSpec& axis : spec.grid) of_axes.insert(axis.name.name);
  std::erase_if(spec.lets, [&](const LetSpec& let) {
    const bool drop = Mentions(*let.value, of_axes);
    if (drop) of_axes.insert(let.name.name);
    return drop;
  });
}

/// The operand as a whole array in VMEM.
void Unblock(OperandSpec& operand) {
  operand.block.reset();
  operand.index.reset();
  operand.like = operand.memory = operand.alias = {};
  operand.pad = operand.init = operand.buffers = nullptr;
  operand.init_undefined = false;
}

/// An output is described as `references` say, or left alone.
void MakeOutput(OperandEntry& entry, const Ref& output) {
  for (OperandSpec& operand : entry.alternatives) {
    operand.init_undefined = true;
    if (operand.array) operand.array->dtype.name = TypeOfReference(output);
  }
}

}  // namespace

Spec ReferenceSpecOf(const Spec& spec, Kernel& kernel, Diagnostics& diagnostics) {
  Spec out = spec;
  DropLetsOfAxes(out);
  out.grid.clear();
  out.semantics.clear();
  out.require.clear();
  out.scratch.clear();
  out.body.clear();
  out.epilogue.clear();
  out.variants.clear();
  out.golden.clear();
  out.reference.clear();
  out.lock = nullptr;
  for (auto* entries : {&out.inputs, &out.outputs}) {
    for (OperandEntry& entry : *entries) {
      std::for_each(entry.alternatives.begin(), entry.alternatives.end(), Unblock);
    }
  }
  for (OperandEntry& entry : out.outputs) {
    if (const Ref* output = OutputNamed(kernel, entry.name.name)) MakeOutput(entry, *output);
  }
  for (const ReferenceSpec& reference : spec.reference) {
    if (IsAbsent(spec, kernel, reference.output.name)) continue;  // there is nothing to compare
    if (!CheckReference(reference, kernel, diagnostics)) continue;
    const Ref& output = *OutputNamed(kernel, reference.output.name);
    kernel.references.push_back({kernel.FindRef(output.name), reference.span, reference.file});
    if (reference.value) out.body.push_back(Assignment(reference, output));
  }
  return out;
}

}  // namespace kiln
