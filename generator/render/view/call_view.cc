#include "generator/render/view/call_view.h"

#include <algorithm>
#include <cctype>
#include <functional>

#include "generator/plan/walk.h"
#include "generator/render/print/cpp.h"
#include "generator/render/view/specialization_view.h"

namespace kiln::render {

const char* const kReturnFailure = "if (!check.ok()) return check.status();";

/// Params have their names where all of the call has one value of each.
static ScalarPrinter::Names NamesInCall(const KernelNames& names, int specialization) {
  ScalarPrinter::Names of = WalkNames(names, "at", "check");
  if (specialization < 0) of.param = [&names](int param) { return names.Param(param); };
  return of;
}

CallView::CallView(const Plan& plan, const KernelNames& names, int specialization)
    : plan_(plan),
      kernel_(*plan.kernel),
      names_(names),
      printer_(plan, NamesInCall(names, specialization)),
      specialization_(specialization),
      scope_(names.scope) {
  Dims();
  Arrays();
  Defer();
  Prepare();
  Conditions();
  FirstValues();
}

std::string CallView::Print(const Node& condition) const {
  return printer_.Print(*IndexElement(kernel_, condition));
}

void CallView::Dims() {
  for (const DimId d : IdsOf(kernel_.dims)) {
    const Dim& dim = kernel_[d];
    const std::string value = "(" + Quoted(dim.name) + ", call." + names_[d] + ", ";
    const auto add = [&](const std::string& name, int64_t limit) {
      checks_.push_back("check." + name + value + std::to_string(limit) + ");");
    };
    if (dim.multiple_of != 1) add("MultipleOf", dim.multiple_of);
    if (dim.min > 0) add("Min", dim.min);
    if (dim.max) add("Max", *dim.max);
  }
}

std::string CallView::Shape(const Ref& ref) const {
  std::vector<std::string> shape;
  for (const Size& s : ref.array) shape.push_back(printer_.Print(s));
  return "{" + Joined(shape) + "}";
}

void CallView::Arrays() {
  for (const RefId r : IdsOf(kernel_.refs)) {
    const Ref& ref = kernel_[r];
    if (!IsArgument(ref)) continue;
    if (ref.role == Role::kScalar) {
      checks_.push_back("check.Scalar(" + names_[r] + ", " + Quoted(ref.name) + ");");
      continue;
    }
    const std::string alias = ref.alias >= 0 ? ", " + Quoted(kernel_[RefId(ref.alias)].name) : "";
    const bool decides = ref.role == Role::kPrefetch || ref.role == Role::kArgument;
    const std::string kind = ref.role == Role::kOutput ? "Output" : decides ? "Values" : "Input";
    checks_.push_back("check." + kind + "(" + names_[r] + ", " + Quoted(ref.name) + ", " +
                      Shape(ref) + alias + ");");
  }
}

bool IsShown(const Kernel& kernel, DimId dim) {
  const auto shows = [&](const Size& s) {
    return s.AsAtom() && s.AsAtom()->op == Op::kDim && DimId(s.AsAtom()->index) == dim;
  };
  return std::any_of(kernel.refs.begin(), kernel.refs.end(), [&](const Ref& ref) {
    return IsArgument(ref) && std::any_of(ref.array.begin(), ref.array.end(), shows);
  });
}

RefId MakerOf(const Kernel& kernel, DimId dim, size_t* dimension) {
  if (kernel[dim].fixed || IsShown(kernel, dim)) return {};
  for (const HostCall& call : kernel.prepare) {
    for (const int result : call.results) {
      const Shape& array = kernel[RefId(result)].array;
      for (size_t d = 0; d < array.size(); ++d) {
        const Node* atom = array[d].AsAtom();
        if (!atom || atom->op != Op::kDim || DimId(atom->index) != dim) continue;
        *dimension = d;
        return RefId(result);
      }
    }
  }
  return {};
}

/// Checks that mention a size which only host code knows wait for it.
void CallView::Defer() {
  for (const DimId d : IdsOf(kernel_.dims)) {
    size_t dimension = 0;
    if (!MakerOf(kernel_, d, &dimension)) continue;
    const std::string name = "call." + names_[d];
    const auto mentions = [&](const std::string& line) {
      const size_t at = line.find(name);
      if (at == std::string::npos) return false;
      const char after = line[at + name.size()];
      return after != '_' && !std::isalnum(static_cast<unsigned char>(after));
    };
    const auto moved = std::stable_partition(checks_.begin(), checks_.end(),
                                             [&](const auto& line) { return !mentions(line); });
    late_.insert(late_.end(), moved, checks_.end());
    checks_.erase(moved, checks_.end());
  }
}

/// The grid of some calls has as many steps as an argument or host code says.
void CallView::Steps() {
  for (const AxisId axis : plan_.steps.ids()) {
    bool host = false;
    ForEachElement(plan_.steps[axis], [&](const Element& e) {
      host = host || Is<element::Scalar>(e) || Is<element::Load>(e);
    });
    if (host)
      rest_.push_back("check.Steps(" + Quoted(kernel_[axis].name) + ", " +
                      printer_.Print(*plan_.steps[axis]) + ");");
  }
}

/// With the values that the condition is made of: those that it has whatever the others are.
std::string CallView::Required(const Require& require) const {
  std::vector<std::string> values;
  const std::function<void(const Node&)> collect = [&](const Node& node) {
    const bool is_leaf = node.op == Op::kDim || (node.op == Op::kRead && node.shape.empty());
    if (is_leaf && !IsNarrowFloat(node.dtype)) {
      const std::string value = "{" + Quoted(ToString(node, kernel_)) + ", " + Print(node) + "}";
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
    for (const Subscript& s : node.subscripts) {
      if (s.start) collect(*s.start);
    }
    const bool is_lazy = node.op == Op::kAnd || node.op == Op::kOr || node.op == Op::kIf;
    for (size_t i = 0; i < (is_lazy ? 1 : node.args.size()); ++i) collect(*node.args[i]);
  };
  collect(*require.condition);
  return "check.Require(" + Print(*require.condition) + ", " + Quoted(require.text) +
         (values.empty() ? "" : ",\n              {" + Joined(values) + "}") + ");";
}

/// They may read prefetch arrays, so they come when those are known to be there.
void CallView::Conditions() {
  const size_t before = rest_.size();
  Steps();
  for (const Require& require : kernel_.require) {
    rest_.push_back(Required(require));
  }
  for (const Obligation& o : kernel_.obligations) {
    const std::string compare = o.kind == Obligation::Kind::kEqual ? " == " : " >= ";
    rest_.push_back("check.Expect(" + printer_.Print(o.left) + compare + printer_.Print(o.right) +
                    ", " + Quoted(o.message) + ");");
  }
  if (rest_.size() > before) rest_.push_back(kReturnFailure);
}

/// What outputs hold where no step writes.
void CallView::FirstValues() {
  for (const RefId r : IdsOf(kernel_.refs)) {
    const Ref& ref = kernel_[r];
    if (ref.alias >= 0) {  // not the same array: then it begins as a copy
      const std::string& from = names_[RefId(ref.alias)];
      rest_.push_back("if (" + names_[r] + ".data != " + from + ".data) CopyTensor(" + from + ", " +
                      names_[r] + ");");
    }
    if (ref.role != Role::kOutput || !ref.init) continue;
    rest_.push_back("Fill(" + names_[r] + ", " + ConstantText(ref.init, ref.dtype) + ");");
  }
}

}  // namespace kiln::render
