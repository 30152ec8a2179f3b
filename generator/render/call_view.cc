#include "generator/render/call_view.h"

#include "generator/plan/lower.h"
#include "generator/render/cpp.h"
#include "generator/render/form_view.h"

namespace kiln::render {

const char* const kReturnFailure = "if (!check.ok()) return check.status();";

CallView::CallView(const Plan& plan, const KernelNames& names)
    : kernel_(*plan.kernel), names_(names), printer_(plan, WalkNames(names, "at", "check")) {
  Dims();
  Arrays();
  Conditions();
  FirstValues();
}

std::string CallView::Print(const Node& condition) const {
  return printer_.Print(*LowerIndex(kernel_, condition));
}

void CallView::Dims() {
  for (size_t d = 0; d < kernel_.dims.size(); ++d) {
    const Dim& dim = kernel_.dims[d];
    const std::string value = "(" + Quoted(dim.name) + ", call." + names_.dims[d] + ", ";
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
  for (size_t r = 0; r < kernel_.refs.size(); ++r) {
    const Ref& ref = kernel_.refs[r];
    if (!IsArgument(ref) || ref.role == Role::kScalar) continue;
    const std::string alias =
        ref.alias >= 0 ? ", " + Quoted(kernel_.refs[static_cast<size_t>(ref.alias)].name) : "";
    checks_.push_back((ref.role == Role::kOutput ? "check.Output(" : "check.Input(") + NameOf(r) +
                      ", " + Quoted(ref.name) + ", " + Shape(ref) + alias + ");");
  }
}

/// They may read prefetch arrays, so they come when those are known to be there.
void CallView::Conditions() {
  const size_t before = rest_.size();
  for (const Require& require : kernel_.require) {
    rest_.push_back("check.Require(" + Print(*require.condition) + ", " + Quoted(require.text) +
                    ");");
  }
  for (const Obligation& o : kernel_.obligations) {
    const std::string compare = o.kind == Obligation::Kind::kEqual ? " == " : " >= ";
    rest_.push_back("check.Require(" + printer_.Print(o.left) + compare + printer_.Print(o.right) +
                    ", " + Quoted(o.message) + ");");
  }
  if (rest_.size() > before) rest_.push_back(kReturnFailure);
}

/// What outputs hold where no step writes.
void CallView::FirstValues() {
  for (size_t r = 0; r < kernel_.refs.size(); ++r) {
    const Ref& ref = kernel_.refs[r];
    if (ref.alias >= 0) {  // not the same array: then it begins as a copy
      const std::string& from = NameOf(static_cast<size_t>(ref.alias));
      rest_.push_back("if (" + NameOf(r) + ".data != " + from + ".data) CopyTensor(" + from + ", " +
                      NameOf(r) + ");");
    }
    if (ref.role != Role::kOutput || !ref.init) continue;
    rest_.push_back("Fill(" + NameOf(r) + ", " + ConstantText(ref.init, ref.dtype) + ");");
  }
}

}  // namespace kiln::render
