#include "generator/planner/rewrite/as_one.h"

#include <algorithm>
#include <map>
#include <utility>

#include "generator/ir/tile_node.h"
#include "generator/planner/rewrite/joined_shapes.h"
#include "generator/planner/rewrite/neighbours.h"

namespace kiln {
namespace {

using Bonded = Neighbours::Bonded;

/// The first dimension of each that is one.
std::vector<size_t> FirstOfEach(size_t rank, const Bonded& bonded) {
  std::vector<size_t> first;
  for (size_t d = 0; d < rank; ++d)
    if (d == 0 || !bonded[d - 1]) first.push_back(d);
  return first;
}

Shape AsOne(const Shape& shape, const Bonded& bonded) {
  Shape as_one;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d == 0 || !bonded[d - 1])
      as_one.push_back(shape[d]);
    else
      as_one.back() = as_one.back() * shape[d];
  }
  return as_one;
}

/// Of dimensions that become one, all but the first are whole in a window.
std::vector<Subscript> AsOne(const Kernel& kernel, const std::vector<Subscript>& subscripts,
                             const Bonded& bonded) {
  std::vector<Subscript> as_one;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const Subscript& s = subscripts[d];
    if (d == 0 || !bonded[d - 1]) {
      as_one.push_back(s);
      continue;
    }
    Subscript& before = as_one.back();
    before.size = before.size * s.size;
    before.start = (SizeOf(before.start, kernel) * s.size).ToNode();
  }
  return as_one;
}

/// The same of axes, which are all or none of those that become one.
std::vector<int> AsOne(const std::vector<int>& axes, size_t rank, const Bonded& bonded) {
  const std::vector<size_t> first = FirstOfEach(rank, bonded);
  std::vector<int> as_one;
  for (const int axis : axes) {
    const auto at = std::find(first.begin(), first.end(), static_cast<size_t>(axis));
    if (at != first.end()) as_one.push_back(static_cast<int>(at - first.begin()));
  }
  return as_one;
}

class Rewriter {
 public:
  explicit Rewriter(const Kernel& kernel) : kernel_(kernel), neighbours_(kernel) {}

  std::shared_ptr<const Kernel> Run() {
    auto kernel = std::make_shared<Kernel>(kernel_);
    bool joins = false;
    for (const RefId r : IdsOf(kernel_.refs)) {
      const Shape& view = kernel_[r].view;
      const Shape as = AsOne(view, neighbours_.Of(r));
      if (BeyondOne(as) == BeyondOne(view)) continue;
      joins = joins || kernel_[r].role != Role::kScratch;
    }
    if (!joins) return nullptr;
    for (const RefId r : IdsOf(kernel_.refs)) {
      const Shape as = AsOne(kernel_[r].view, neighbours_.Of(r));
      if (as != kernel_[r].view) JoinView(kernel_, (*kernel)[r], as);
    }
    for (const LocalId l : IdsOf(kernel_.locals))
      (*kernel)[l].shape = AsOne(kernel_[l].shape, neighbours_.Of(l));
    Rewrite(kernel->body);
    Rewrite(kernel->epilogue);
    return kernel;
  }

 private:
  NodePtr Rewritten(const NodePtr& node) {
    const auto known = rewritten_.find(node.get());
    if (known != rewritten_.end()) return known->second;
    return rewritten_[node.get()] = Compute(*node);
  }

  NodePtr Compute(const Node& node) {
    Node as_one = node;
    as_one.shape = AsOne(node.shape, neighbours_.Of(node));
    for (NodePtr& arg : as_one.args) arg = Rewritten(arg);
    if (node.op == Op::kReshape && as_one.args[0]->shape == as_one.shape) return as_one.args[0];
    RewriteSubscripts(as_one.subscripts);
    if (node.op == Op::kRead)
      as_one.subscripts = AsOne(kernel_, as_one.subscripts, neighbours_.Of(RefId(node.index)));
    if (node.op == Op::kSlice)
      as_one.subscripts = AsOne(kernel_, as_one.subscripts, neighbours_.Of(*node.args[0]));
    const Node& of = node.args.empty() ? node : *node.args[0];
    as_one.axes = AsOne(node.axes, of.shape.size(), neighbours_.Of(of));
    return Share(std::move(as_one));
  }

  void RewriteSubscripts(std::vector<Subscript>& subscripts) {
    ChangeExpressions(subscripts, [&](NodePtr& node) { node = Rewritten(node); });
  }

  void Rewrite(Actions& actions) {
    for (Action& action : actions) {
      if (auto* store = std::get_if<action::Store>(&action.what))
        RewriteStore(*store);
      else
        ChangeExpressions(action, [&](NodePtr& node) { node = Rewritten(node); });
      ChangeBlocks(action, [&](Actions& block) { Rewrite(block); });
    }
  }

  void RewriteStore(action::Store& store) {
    const RefId ref(store.ref);
    const LocalId local(store.local);
    const Bonded bonded = ref ? neighbours_.Of(ref) : neighbours_.Of(local);
    if (store.subscripts.empty()) {
      store.shape = AsOne(store.shape, bonded);
    } else {
      RewriteSubscripts(store.subscripts);
      store.subscripts = AsOne(kernel_, store.subscripts, bonded);
      store.shape.clear();
      for (const Subscript& s : store.subscripts)
        if (s.range) store.shape.push_back(s.size);
    }
    store.value = Rewritten(store.value);
    if (store.mask) store.mask = Rewritten(store.mask);
  }

  const Kernel& kernel_;
  const Neighbours neighbours_;
  std::map<const Node*, NodePtr> rewritten_;
};

}  // namespace

std::shared_ptr<const Kernel> WithNeighboursAsOne(const Kernel& kernel) {
  return Rewriter(kernel).Run();
}

}  // namespace kiln
