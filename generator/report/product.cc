#include "generator/report/product.h"

#include <algorithm>
#include <set>

namespace kiln {
namespace {

/// The refs that the dots of a body read, through names that `let` gave.
class DotReads {
 public:
  explicit DotReads(const Kernel& kernel) {
    Visit(kernel.body);
    Visit(kernel.epilogue);
  }

  bool Has(int ref) const { return refs_.count(ref) > 0; }
  bool empty() const { return refs_.empty(); }

 private:
  void Visit(const Actions& actions) {
    ForEachAction(actions, [this](const Action& action) {
      if (const auto* define = As<action::Define>(action)) {
        values_[define->local] = define->value;
        Visit(*define->value, /*in_dot=*/false);
      }
      if (const auto* store = As<action::Store>(action)) Visit(*store->value, /*in_dot=*/false);
    });
  }

  void Visit(const Node& node, bool in_dot) {
    if (in_dot && node.op == Op::kRead) refs_.insert(node.index);
    if (in_dot && node.op == Op::kLocal) VisitLocal(node.index);
    for (const NodePtr& argument : node.args) Visit(*argument, in_dot || node.op == Op::kDot);
  }

  void VisitLocal(int local) {
    const auto value = values_.find(local);
    if (value != values_.end() && followed_.insert(local).second) Visit(*value->second, true);
  }

  std::map<int, NodePtr> values_;
  std::set<int> followed_;
  std::set<int> refs_;
};

bool CountsEntriesOfList(const Kernel& kernel, const Size& extent) {
  return std::any_of(kernel.refs.begin(), kernel.refs.end(), [&](const Ref& ref) {
    return ref.role == Role::kPrefetch &&
           std::find(ref.array.begin(), ref.array.end(), extent) != ref.array.end();
  });
}

/// Adds the dimensions of an operand that the former ones lack.
void AddDims(const Kernel& kernel, const Timeline& timeline, size_t operand, bool lists,
             std::vector<ProductDim>& dims) {
  const TimelineOperand& of = timeline.operands[operand];
  const Shape& array = kernel.refs[static_cast<size_t>(of.ref)].array;
  for (size_t d = 0; d < of.dims.size() && d < array.size(); ++d) {
    const std::string name = array[d].ToString();
    const bool known = std::any_of(dims.begin(), dims.end(),
                                   [&](const ProductDim& dim) { return dim.name == name; });
    if (known || of.dims[d].positions <= 1) continue;
    if (!lists && CountsEntriesOfList(kernel, array[d])) continue;
    dims.push_back({name, operand, d, of.dims[d].positions});
  }
}

}  // namespace

std::vector<ProductDim> ProductDims(const Kernel& kernel, const Timeline& timeline) {
  const DotReads read(kernel);
  std::vector<ProductDim> dims;
  if (read.empty()) return dims;
  for (size_t o = 0; o < timeline.operands.size(); ++o) {
    const TimelineOperand& operand = timeline.operands[o];
    if (operand.kind == TimelineOperand::Kind::kOutput && operand.ref >= 0)
      AddDims(kernel, timeline, o, /*lists=*/true, dims);
  }
  for (size_t o = 0; o < timeline.operands.size(); ++o) {
    const TimelineOperand& operand = timeline.operands[o];
    if (operand.kind == TimelineOperand::Kind::kInput && read.Has(operand.ref))
      AddDims(kernel, timeline, o, /*lists=*/false, dims);
  }
  return dims;
}

}  // namespace kiln
