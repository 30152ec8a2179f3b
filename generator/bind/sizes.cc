#include <algorithm>
#include <functional>
#include <limits>

#include "generator/bind/binder.h"
#include "generator/syntax/names.h"

/// [call] What must hold once sizes are known: extents, constraints, steps, `require`, and the
/// obligations that CheckSpec left ([shape], …).
namespace kiln {
namespace {

void ForEachNode(const Node& node, const std::function<void(const Node&)>& visit) {
  visit(node);
  for (const NodePtr& arg : node.args) ForEachNode(*arg, visit);
  for (const Subscript& subscript : node.subscripts) {
    if (subscript.start) ForEachNode(*subscript.start, visit);
  }
}

}  // namespace

void Binder::BindSizes() {
  CheckConstraints();
  Extents();
  Steps();
  Requirements();
  Obligations();
}

bool Binder::Excused(const Node& node) const {
  bool excused = false;
  ForEachNode(node, [&](const Node& part) {
    const auto index = static_cast<size_t>(part.index);
    if (part.op == Op::kDim) excused = excused || !binding_.dims[index];
    if (part.op == Op::kRead) excused = excused || !binding_.host[index];
    if (part.op == Op::kSteps) {
      excused = excused || index >= binding_.steps.size() || binding_.steps[index] < 0;
    }
  });
  return excused;
}

bool Binder::Excused(const Size& size) const {
  bool excused = false;
  size.ForEachAtom([&](const Node& atom) {
    excused = excused || Evaluate(atom, binding_, nullptr).fault == EvalFault::kUnknown;
  });
  return excused;
}

std::string Binder::Values(const Node& node) const {
  std::vector<std::string> values;
  const auto add = [&](std::string text) {
    if (std::find(values.begin(), values.end(), text) == values.end()) {
      values.push_back(std::move(text));
    }
  };
  ForEachNode(node, [&](const Node& part) {
    if (part.op == Op::kDim && binding_.dims[static_cast<size_t>(part.index)]) {
      add(kernel_[DimId(part.index)].name + " is " +
          std::to_string(*binding_.dims[static_cast<size_t>(part.index)]));
    }
    if (part.op != Op::kRead || !part.shape.empty()) return;
    const Array* array = binding_.host[static_cast<size_t>(part.index)];
    if (array && IsFloat(array->dtype) && array->size() == 1) {
      std::string number = std::to_string(array->GetFloat(0));
      number.erase(std::max(number.find_last_not_of('0'), number.find('.') + 1) + 1);
      add(ToString(part, kernel_) + " is " + number);
    }
    Node index = part;
    index.dtype = DType::kIndex;
    const EvalResult value = Evaluate(index, binding_, nullptr);
    if (value.fault == EvalFault::kNone)
      add(ToString(part, kernel_) + " is " + std::to_string(value.value));
  });
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : i + 1 < values.size() ? ", " : " and ") + values[i];
  }
  return text;
}

std::string Binder::Valued(const Size& size, int64_t value) const {
  return size.Constant() ? std::to_string(value) : size.ToString() + " = " + std::to_string(value);
}

void Binder::Explain(const EvalResult& result, const Node& node, const std::string& what) {
  const std::string values = Values(node);
  const std::string where = values.empty() ? "" : ", where " + values;
  switch (result.fault) {
    case EvalFault::kNone:
      return;
    case EvalFault::kUnknown:
      if (Excused(node)) return;
      return Error("call", node.span,
                   what + " cannot be computed before the grid starts: " + ToString(node, kernel_));
    case EvalFault::kOverflow:
      return Error("index-range", result.span,
                   what + " overflows 64 bits: " + ToString(node, kernel_) + where);
    case EvalFault::kDivideByZero:
      return Error("undefined", result.span,
                   what + " divides by zero: " + ToString(node, kernel_) + where);
    case EvalFault::kHostRange: {
      const Ref& ref = kernel_[RefId(result.ref)];
      return Error("index-range", result.span,
                   what + " reads element " + std::to_string(result.at) + " of " + Quote(ref.name) +
                       " (dimension " + std::to_string(result.dimension) + "), which has " +
                       std::to_string(result.extent) + where);
    }
  }
}

/// [call] `multiple_of`, `min` and `max` of dims.
void Binder::CheckConstraints() {
  for (size_t d = 0; d < kernel_.dims.size(); ++d) {
    const Dim& dim = kernel_.dims[d];
    if (!binding_.dims[d] || dim.fixed) continue;
    const int64_t value = *binding_.dims[d];
    const std::string is =
        dim.name + " is " + std::to_string(value) + " " + Where(origins_[d]) + ", but ";
    if (dim.multiple_of > 1 && value % dim.multiple_of != 0) {
      Error("call", dim.span, is + "must be a multiple of " + std::to_string(dim.multiple_of));
    }
    if (value < dim.min)
      Error("call", dim.span, is + "must be at least " + std::to_string(dim.min));
    if (dim.max && value > *dim.max) {
      Error("call", dim.span, is + "must be at most " + std::to_string(*dim.max));
    }
  }
}

void Binder::Extents() {
  for (size_t index = 0; index < kernel_.refs.size(); ++index) {
    const Ref& ref = kernel_.refs[index];
    if (ref.role == Role::kSemaphore) continue;
    binding_.arrays[index] = ExtentsOf(ref.array, ref, "");
    CompareGiven(index);
    CheckBytes(ref, binding_.arrays[index]);
    const bool whole = ref.view == ref.array;
    binding_.views[index] =
        whole ? binding_.arrays[index] : ExtentsOf(ref.view, ref, "the block of ");
    if (!whole) CheckBytes(ref, binding_.views[index]);
  }
}

std::vector<int64_t> Binder::ExtentsOf(const Shape& shape, const Ref& ref, const char* what) {
  std::vector<int64_t> extents;
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::string name = "dimension " + std::to_string(d) + " of " + what + Quote(ref.name);
    const std::optional<int64_t> value = Evaluate(shape[d], binding_);
    if (!value && !Excused(shape[d])) {
      Error("call", ref.span,
            name + " cannot be computed (it overflows or divides by zero): " +
                Values(*shape[d].ToNode()) + " in " + shape[d].ToString());
    } else if (value && *value < 0) {
      Error("call", ref.span, name + " is negative: " + Valued(shape[d], *value));
    }
    extents.push_back(value && *value >= 0 ? *value : -1);
  }
  return extents;
}

/// The extents that did not give a dim its size: constants and expressions.
void Binder::CompareGiven(size_t index) {
  const Array* array = given_[index];
  if (!array) return;
  const Ref& ref = kernel_.refs[index];
  for (size_t d = 0; d < ref.array.size(); ++d) {
    const int64_t expected = binding_.arrays[index][d];
    if (expected < 0 || expected == array->shape[d]) continue;
    Error("call", ref.span,
          Quote(ref.name) + " is " + ToString(array->dtype, array->shape) + ", but its dimension " +
              std::to_string(d) + " must be " + Valued(ref.array[d], expected));
  }
}

void Binder::CheckBytes(const Ref& ref, const std::vector<int64_t>& extents) {
  if (std::find(extents.begin(), extents.end(), -1) != extents.end()) return;
  const std::optional<int64_t> bytes = ByteSize(ref.dtype, extents);
  if (bytes && *bytes <= kMaxArrayBytes) return;
  Error("call", ref.span,
        Quote(ref.name) + " would be " + ToString(ref.dtype, extents) + ", more than 1 TiB");
}

void Binder::Steps() {
  // An axis may ask for the steps of any other, so that one pass may not be enough.
  binding_.steps.assign(kernel_.axes.size(), -1);
  std::vector<EvalResult> results(kernel_.axes.size());
  for (size_t pass = 0; pass < kernel_.axes.size(); ++pass) {
    for (size_t i = 0; i < kernel_.axes.size(); ++i) {
      results[i] = Evaluate(*kernel_.axes[i].steps, binding_, nullptr);
      if (results[i].fault == EvalFault::kNone) binding_.steps[i] = results[i].value;
    }
  }
  bool known = true;
  for (size_t i = 0; i < kernel_.axes.size(); ++i) {
    const Axis& axis = kernel_.axes[i];
    Explain(results[i], *axis.steps, "the number of steps of " + Quote(axis.name));
    if (results[i].fault == EvalFault::kNone && results[i].value < 0) {
      const std::string values = Values(*axis.steps);
      Error("call", axis.span,
            Quote(axis.name) + " has " + std::to_string(results[i].value) + " steps: " +
                ToString(*axis.steps, kernel_) + (values.empty() ? "" : ", where " + values));
    }
    known = known && binding_.steps[i] >= 0;
  }
  if (!known) {
    binding_.steps.clear();
  } else if (binding_.StepCount() == std::numeric_limits<int64_t>::max()) {
    Error("call", kernel_.axes[0].span, "the grid has 2^63 steps or more");
  }
}

/// [call] The conditions of `require`.
void Binder::Requirements() {
  for (const Require& require : kernel_.require) {
    const EvalResult holds = Evaluate(*require.condition, binding_, nullptr);
    if (holds.fault != EvalFault::kNone) {
      Explain(holds, *require.condition, "a condition of `require`");
    } else if (holds.value == 0) {
      const std::string values = Values(*require.condition);
      diagnostics_.Error(
          "call", require.condition->span,
          Quote(require.text) + " must hold" + (values.empty() ? "" : ", but " + values));
    }
  }
}

/// [shape] and others: what CheckSpec could not prove.
void Binder::Obligations() {
  // One dimension of an expression is enough, and the innermost expression.
  std::vector<const Obligation*> reported;
  const auto is_reported = [&](const Obligation& outer) {
    return std::any_of(reported.begin(), reported.end(), [&](const Obligation* inner) {
      return inner->rule == outer.rule && outer.span.begin <= inner->span.begin &&
             inner->span.end <= outer.span.end;
    });
  };
  for (const Obligation& obligation : kernel_.obligations) {
    if (is_reported(obligation)) continue;
    const std::optional<int64_t> left = Evaluate(obligation.left, binding_);
    const std::optional<int64_t> right = Evaluate(obligation.right, binding_);
    if (!left || !right) {
      if (Excused(obligation.left) || Excused(obligation.right)) continue;
      reported.push_back(&obligation);
      diagnostics_.Error(obligation.rule, obligation.span,
                         obligation.message +
                             ": cannot be computed (it overflows or divides by "
                             "zero): " +
                             (left ? obligation.right : obligation.left).ToString());
      continue;
    }
    const bool equal = obligation.kind == Obligation::Kind::kEqual;
    if (equal ? *left == *right : *left >= *right) continue;
    reported.push_back(&obligation);
    diagnostics_.Error(obligation.rule, obligation.span,
                       obligation.message + ": " + Valued(obligation.left, *left) +
                           (equal ? ", but " : " is less than ") +
                           Valued(obligation.right, *right));
  }
}

}  // namespace kiln
