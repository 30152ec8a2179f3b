#include "generator/planner/fuse/reduced.h"

#include "generator/planner/analyze/nodes.h"

namespace kiln {
namespace {

bool Reduces(Op op) { return IsReduction(op) || op == Op::kDot || ClassOf(op) == OpClass::kScan; }

class Search {
 public:
  explicit Search(const Kernel& kernel)
      : kernel_(kernel), refs_(kernel.refs.size()), locals_(kernel.locals.size()) {}

  Table<bool, Ref> Run() {
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
        Look(*define->value, locals_[LocalId(define->local)]);
      if (const auto* store = As<action::Store>(action)) {
        const RefId ref(store->ref);
        Look(*store->value, ref ? refs_[ref] : locals_[LocalId(store->local)]);
      }
    });
  }

  void Look(const Node& node, bool reduced) {
    if (reduced && node.op == Op::kRead) Mark(refs_, RefId(node.index));
    if (reduced && node.op == Op::kLocal) Mark(locals_, LocalId(node.index));
    for (const NodePtr& arg : node.args) Look(*arg, reduced || Reduces(node.op));
  }

  template <typename Of>
  void Mark(Table<bool, Of>& of, Id<Of> which) {
    changed_ = changed_ || !of[which];
    of[which] = true;
  }

  const Kernel& kernel_;
  Table<bool, Ref> refs_;
  Table<bool, Local> locals_;
  bool changed_ = false;
};

}  // namespace

Table<bool, Ref> ReducedRefs(const Kernel& kernel) { return Search(kernel).Run(); }

}  // namespace kiln
