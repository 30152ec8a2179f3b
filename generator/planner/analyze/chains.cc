#include "generator/planner/analyze/chains.h"

#include <algorithm>

namespace kiln {
namespace {

bool IsSame(const Kernel& kernel, const std::vector<Subscript>& a,
            const std::vector<Subscript>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Subscript& x, const Subscript& y) {
                      return x.range == y.range && x.stride == y.stride && x.size == y.size &&
                             ToString(*x.start, kernel) == ToString(*y.start, kernel);
                    });
}

bool Mentions(const Node& node, int local) {
  return (node.op == Op::kLocal && node.index == local) ||
         std::any_of(node.args.begin(), node.args.end(),
                     [&](const NodePtr& arg) { return Mentions(*arg, local); });
}

class Chains {
 public:
  explicit Chains(const Kernel& kernel) : kernel_(kernel) {}

  std::set<const Node*> Run() {
    Visit(kernel_.body);
    Visit(kernel_.epilogue);
    return std::move(dots_);
  }

 private:
  void Visit(const Actions& actions) {
    const action::Store* before = nullptr;
    for (const Action& action : actions) {
      const auto* store = As<action::Store>(action);
      if (store && before && DotAddedBy(*store) && IsSameTarget(*store, *before)) {
        dots_.insert(DotAddedBy(*store));
        dots_.insert(DotOf(*before));
      }
      before = store && DotOf(*store) ? store : nullptr;
      if (const auto* loop = As<action::For>(action)) VisitLoop(*loop);
      ForEachBlock(action, [&](const Actions& block) { Visit(block); });
    }
  }

  /// A loop of more than one turn, or loops within each other, whose last statement adds a dot to
  /// sums that the turns do not choose.
  void VisitLoop(const action::For& outermost) {
    int64_t turns = 1;
    std::vector<int> variables;
    for (const action::For* loop = &outermost; loop && !loop->body.empty();
         loop = As<action::For>(loop->body.back())) {
      if (loop->low->op != Op::kConst || loop->high->op != Op::kConst) return;
      turns *= loop->high->int_value - loop->low->int_value;
      variables.push_back(loop->local);
      const auto* store = As<action::Store>(loop->body.back());
      if (store && turns > 1 && DotAddedBy(*store) && !Chooses(*store, variables))
        dots_.insert(DotAddedBy(*store));
    }
  }

  static bool Chooses(const action::Store& store, const std::vector<int>& variables) {
    return std::any_of(variables.begin(), variables.end(), [&](int variable) {
      return std::any_of(store.subscripts.begin(), store.subscripts.end(),
                         [&](const Subscript& s) { return Mentions(*s.start, variable); });
    });
  }

  bool IsSameTarget(const action::Store& a, const action::Store& b) const {
    return a.ref == b.ref && a.local == b.local && IsSame(kernel_, a.subscripts, b.subscripts);
  }

  /// The dot that is all of what is stored, or that is added to it.
  const Node* DotOf(const action::Store& store) const {
    return !store.mask && store.value->op == Op::kDot ? store.value.get() : DotAddedBy(store);
  }

  const Node* DotAddedBy(const action::Store& store) const {
    if (store.mask || store.value->op != Op::kAdd) return nullptr;
    const NodePtr &left = store.value->args[0], &right = store.value->args[1];
    for (const auto& [sums, dot] : {std::pair(left, right), std::pair(right, left)}) {
      const bool reads = store.ref >= 0 ? sums->op == Op::kRead && sums->index == store.ref
                                        : sums->op == Op::kLocal && sums->index == store.local;
      const bool same = reads && IsSame(kernel_, sums->subscripts, store.subscripts);
      if (same && dot->op == Op::kDot) return dot.get();
    }
    return nullptr;
  }

  const Kernel& kernel_;
  std::set<const Node*> dots_;
};

}  // namespace

std::set<const Node*> DotsInChains(const Kernel& kernel) { return Chains(kernel).Run(); }

}  // namespace kiln
