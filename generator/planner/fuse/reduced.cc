#include "generator/planner/fuse/reduced.h"

#include "generator/planner/analyze/nodes.h"

namespace kiln {
namespace {

bool Reduces(Op op) { return IsReduction(op) || op == Op::kDot || op == Op::kCumsum; }

class Search {
 public:
  explicit Search(const Kernel& kernel)
      : kernel_(kernel), refs_(kernel.refs.size()), locals_(kernel.locals.size()) {}

  std::vector<bool> Run() {
    do {
      changed_ = false;
      Look(kernel_.body);
      Look(kernel_.epilogue);
    } while (changed_);
    return refs_;
  }

 private:
  void Look(const Actions& actions) {
    ForEachAction(actions, [&](const Action& action) {
      if (const auto* define = As<action::Define>(action))
        Look(*define->value, IsMarked(locals_, define->local));
      if (const auto* store = As<action::Store>(action)) {
        Look(*store->value,
             store->ref >= 0 ? IsMarked(refs_, store->ref) : IsMarked(locals_, store->local));
      }
    });
  }

  void Look(const Node& node, bool reduced) {
    if (reduced && node.op == Op::kRead) Mark(refs_, node.index);
    if (reduced && node.op == Op::kLocal) Mark(locals_, node.index);
    for (const NodePtr& arg : node.args) Look(*arg, reduced || Reduces(node.op));
  }

  static bool IsMarked(const std::vector<bool>& of, int index) {
    return of[static_cast<size_t>(index)];
  }
  void Mark(std::vector<bool>& of, int index) {
    changed_ = changed_ || !IsMarked(of, index);
    of[static_cast<size_t>(index)] = true;
  }

  const Kernel& kernel_;
  std::vector<bool> refs_, locals_;
  bool changed_ = false;
};

}  // namespace

std::vector<bool> ReducedRefs(const Kernel& kernel) { return Search(kernel).Run(); }

}  // namespace kiln
