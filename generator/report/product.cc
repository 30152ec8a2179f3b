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

/// The axes that an index map mentions.
void CollectAxes(const Node& map, std::set<int>& axes) {
  if (const int axis = AxisOf(map); axis >= 0) axes.insert(axis);
  for (const NodePtr& argument : map.args) CollectAxes(*argument, axes);
  for (const Subscript& subscript : map.subscripts) CollectAxes(*subscript.start, axes);
}

bool LooksUp(const Node& map) {
  return map.op == Op::kRead ||
         std::any_of(map.args.begin(), map.args.end(),
                     [](const NodePtr& argument) { return LooksUp(*argument); });
}

/// Whether dots take matrices along the dimension, and do not multiply it: each of its places goes
/// with one place of the other operand.
bool IsBatch(const Ref& ref, size_t dim) {
  constexpr size_t kMatrix = 2;
  const std::vector<size_t>& seen = ref.view_dims;
  const auto last = seen.end() - static_cast<std::ptrdiff_t>(std::min(seen.size(), kMatrix));
  return std::find(last, seen.end(), dim) == seen.end();
}

class Dims {
 public:
  Dims(const Kernel& kernel, const Timeline& timeline) : kernel_(kernel), timeline_(timeline) {}

  /// Dimensions of an output are never left out.
  void AddOutput(size_t operand) {
    ForEachNew(operand, [&](size_t dim) { Add(operand, dim); });
  }

  /// Those of an input, but what only counts the entries of a list, and what follows from others.
  void AddInput(size_t operand) {
    const Ref& ref = RefOf(operand);
    ForEachNew(operand, [&](size_t dim) {
      const bool follows = IsBatch(ref, dim) && Follows(*ref.block[dim].index);
      if (!follows && !CountsEntriesOfList(kernel_, ref.array[dim])) Add(operand, dim);
    });
  }

  std::vector<ProductDim> Take() { return std::move(dims_); }

 private:
  const Ref& RefOf(size_t operand) const {
    return kernel_.refs[static_cast<size_t>(timeline_.operands[operand].ref)];
  }

  /// Whether the other dimensions say which place of a batch a step takes: the group of a head by
  /// arithmetic, the pages of a sequence by a list. What such a list goes along becomes a
  /// dimension.
  bool Follows(const Node& map) {
    std::set<int> others;
    CollectAxes(map, others);
    const size_t mentioned = others.size();
    std::erase_if(others, [this](int axis) { return axes_.count(axis) > 0; });
    if (!LooksUp(map)) return others.empty();
    if (others.size() == mentioned) return true;  // the list says where in the others, too
    for (const int axis : others) AddAxis(static_cast<size_t>(axis));
    return true;
  }

  template <typename Function>
  void ForEachNew(size_t operand, const Function& function) const {
    const TimelineOperand& of = timeline_.operands[operand];
    const Shape& array = RefOf(operand).array;
    for (size_t d = 0; d < of.dims.size() && d < array.size(); ++d) {
      const std::string name = array[d].ToString();
      const bool known = std::any_of(dims_.begin(), dims_.end(),
                                     [&](const ProductDim& dim) { return dim.name == name; });
      // Places that overlap, of windows that are counted in elements, cut nothing.
      const bool cut = of.dims[d].positions > 1 && of.dims[d].pitch >= of.dims[d].size;
      if (!known && cut) function(d);
    }
  }

  void Add(size_t operand, size_t dim) {
    const Ref& ref = RefOf(operand);
    const int64_t positions = timeline_.operands[operand].dims[dim].positions;
    dims_.push_back({ref.array[dim].ToString(), operand, dim, positions});
    const NodePtr& map = ref.block[dim].index;
    if (map->op == Op::kAxis) axes_.insert(map->index);
  }

  void AddAxis(size_t axis) {
    axes_.insert(static_cast<int>(axis));
    const Timeline::Axis& of = timeline_.axes[axis];
    if (of.steps > 1) dims_.push_back({of.name, 0, 0, of.steps, static_cast<int>(axis)});
  }

  const Kernel& kernel_;
  const Timeline& timeline_;
  std::vector<ProductDim> dims_;
  std::set<int> axes_;  // whose steps go along one of them
};

}  // namespace

std::vector<ProductDim> ProductDims(const Kernel& kernel, const Timeline& timeline) {
  const DotReads read(kernel);
  if (read.empty()) return {};
  Dims dims(kernel, timeline);
  using Kind = TimelineOperand::Kind;
  for (size_t o = 0; o < timeline.operands.size(); ++o) {
    const TimelineOperand& operand = timeline.operands[o];
    if (operand.kind == Kind::kOutput && operand.ref >= 0) dims.AddOutput(o);
  }
  for (size_t o = 0; o < timeline.operands.size(); ++o) {
    const TimelineOperand& operand = timeline.operands[o];
    if (operand.kind == Kind::kInput && read.Has(operand.ref)) dims.AddInput(o);
  }
  return dims.Take();
}

}  // namespace kiln
