#include "generator/planner/rewrite/divided.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "generator/ir/tile_node.h"
#include "generator/planner/analyze/nodes.h"
#include "generator/planner/analyze/regroup.h"
#include "generator/planner/rewrite/joined_shapes.h"

namespace kiln {
namespace {

/// A dimension of that extent, and what it is made of.
struct Division {
  Size whole;
  Shape parts;
};

/// The first dimension of `to` that is made of a part of one of `from` and of others.
std::optional<Division> DivisionOf(const Kernel& kernel, const Shape& from, const Shape& to) {
  std::optional<Division> first;
  size_t i = 0, j = 0;
  if (from.empty() || to.empty()) return std::nullopt;
  Size a = from[0], b = to[0];
  Shape parts;  // of to[j] so far
  while (true) {
    const std::optional<Size> less_of_a = QuotientOf(kernel, a, b);
    const std::optional<Size> less_of_b = less_of_a ? std::nullopt : QuotientOf(kernel, b, a);
    if (!less_of_a && !less_of_b) return std::nullopt;
    const bool ends_a = !less_of_a || less_of_a->IsOne();
    const bool ends_b = less_of_a.has_value();
    parts.push_back(ends_b ? b : a);
    if (ends_b) {
      if (parts.size() > 1 && !first) first = Division{to[j], parts};
      parts.clear();
      ++j;
    }
    i += ends_a;
    if (i == from.size() || j == to.size()) break;
    a = ends_a ? from[i] : *less_of_a;
    b = ends_b ? to[j] : *less_of_b;
  }
  return i == from.size() && j == to.size() ? first : std::nullopt;
}

/// Rewrites a body for one dimension in parts.
class Divider {
 public:
  Divider(const Kernel& kernel, Division division)
      : kernel_(kernel), division_(std::move(division)) {}

  /// Null: a statement looks at the dimension as a whole.
  std::shared_ptr<const Kernel> Run() {
    for (const Ref& ref : kernel_.refs)
      if (Has(ref.view)) return nullptr;
    auto kernel = std::make_shared<Kernel>(kernel_);
    for (const LocalId l : IdsOf(kernel_.locals)) (*kernel)[l].shape = InParts(kernel_[l].shape);
    Rewrite(kernel->body);
    Rewrite(kernel->epilogue);
    return may_ ? kernel : nullptr;
  }

 private:
  bool Has(const Shape& shape) const {
    return std::count(shape.begin(), shape.end(), division_.whole) > 0;
  }

  Shape InParts(const Shape& shape) const {
    Shape parts;
    for (const Size& size : shape) {
      if (size == division_.whole)
        parts.insert(parts.end(), division_.parts.begin(), division_.parts.end());
      else
        parts.push_back(size);
    }
    return parts;
  }

  /// A value that broadcasts to `shape`, and to that in parts when it has been rewritten.
  NodePtr Beside(const NodePtr& value, const Shape& shape) {
    NodePtr rewritten = Rewritten(value);
    const size_t missing = shape.size() - value->shape.size();
    Shape wanted;
    for (size_t d = 0; d < value->shape.size(); ++d) {
      const bool is_divided = shape[d + missing] == division_.whole;
      if (is_divided && value->shape[d].IsOne())
        wanted.insert(wanted.end(), division_.parts.size(), Size(1));
      else if (is_divided)
        wanted.insert(wanted.end(), division_.parts.begin(), division_.parts.end());
      else
        wanted.push_back(value->shape[d]);
    }
    return Reshaped(rewritten, wanted);
  }

  NodePtr Rewritten(const NodePtr& node) {
    const auto known = rewritten_.find(node.get());
    if (known != rewritten_.end()) return known->second;
    return rewritten_[node.get()] = Compute(node);
  }

  NodePtr Compute(const NodePtr& node) {
    Node divided = *node;
    divided.shape = InParts(node->shape);
    ChangeExpressions(divided.subscripts, [&](NodePtr& at) { at = Rewritten(at); });
    if (IsFold(node->op)) return Folded(*node);
    const bool each = IsElementwise(node->op) || node->op == Op::kBroadcast ||
                      ClassOf(node->op) == OpClass::kLazy;
    for (NodePtr& arg : divided.args) {
      may_ = may_ && (each || node->op == Op::kReshape || !Has(arg->shape));
      arg = each ? Beside(arg, node->shape) : Rewritten(arg);
    }
    may_ =
        may_ && (each || node->op == Op::kReshape || node->op == Op::kLocal || !Has(node->shape));
    return Share(std::move(divided));
  }

  /// Over all parts of the dimension, if over it.
  NodePtr Folded(const Node& fold) {
    const Shape& of = fold.args[0]->shape;
    Node divided = fold;
    divided.args = {Rewritten(fold.args[0])};
    divided.axes.clear();
    divided.shape.clear();
    int at = 0;
    for (size_t d = 0; d < of.size(); ++d) {
      for (const Size& part : InParts({of[d]})) {
        if (HasAxis(fold, d)) divided.axes.push_back(at);
        ++at;
        if (HasAxis(fold, d) && !fold.keep) continue;
        divided.shape.push_back(HasAxis(fold, d) ? Size(1) : part);
      }
    }
    return Reshaped(Share(std::move(divided)), InParts(fold.shape));
  }

  void Rewrite(Actions& actions) {
    for (Action& action : actions) {
      if (auto* store = std::get_if<action::Store>(&action.what))
        RewriteStore(*store);
      else if (auto* define = std::get_if<action::Define>(&action.what))
        define->value = Beside(define->value, kernel_[LocalId(define->local)].shape);
      else
        ChangeExpressions(action, [&](NodePtr& node) { node = Rewritten(node); });
      ChangeBlocks(action, [&](Actions& block) { Rewrite(block); });
    }
  }

  void RewriteStore(action::Store& store) {
    ChangeExpressions(store.subscripts, [&](NodePtr& node) { node = Rewritten(node); });
    const bool is_local = store.local >= 0;  // refs have no dimension of that extent
    const bool divides = is_local && Has(kernel_[LocalId(store.local)].shape);
    may_ = may_ && (store.subscripts.empty() || !(divides || Has(store.shape)));
    store.value = Beside(store.value, store.shape);
    if (store.mask) store.mask = Beside(store.mask, store.shape);
    store.shape = InParts(store.shape);
  }

  const Kernel& kernel_;
  const Division division_;
  bool may_ = true;
  std::map<const Node*, NodePtr> rewritten_;
};

/// Calls `use` with each reshape of the expression.
template <typename Use>
void ForEachReshape(const Node& node, const Use& use) {
  if (node.op == Op::kReshape) use(node);
  for (const NodePtr& arg : node.args) ForEachReshape(*arg, use);
}

}  // namespace

std::shared_ptr<const Kernel> WithDividedDimensions(const Kernel& kernel) {
  std::vector<Division> divisions;
  for (const Actions* body : {&kernel.body, &kernel.epilogue}) {
    ForEachAction(*body, [&](const Action& action) {
      ForEachExpression(action, [&](const Node& expression) {
        ForEachReshape(expression, [&](const Node& reshape) {
          const Shape &from = reshape.args[0]->shape, &to = reshape.shape;
          if (!GroupsOf(from, to).empty()) return;
          if (auto division = DivisionOf(kernel, BeyondOne(from), BeyondOne(to)))
            divisions.push_back(*division);
        });
      });
    });
  }
  for (const Division& division : divisions)
    if (auto divided = Divider(kernel, division).Run()) return divided;
  return nullptr;
}

}  // namespace kiln
