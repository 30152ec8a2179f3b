// [undefined] and [coverage]: what outputs and scratch hold, from the statements alone.
#include "generator/check/undefined_rules.h"

#include <algorithm>

namespace kiln {
namespace {

/// Runs the body on what is known of each buffer before a step, until that does not change: what
/// some step may define counts as defined before the next. A buffer that is surely undefined
/// before and after every step never holds a value.
class Definedness {
 public:
  explicit Definedness(const Kernel& kernel)
      : kernel_(kernel),
        undefined_(kernel.refs.size(), false),
        locals_(kernel.locals.size(), false),
        store_(kernel.refs.size()),
        spoils_(kernel.refs.size(), false) {
    for (size_t i = 0; i < kernel.refs.size(); ++i) {
      const Ref& ref = kernel.refs[i];
      undefined_[i] = (ref.role == Role::kOutput && !ref.init && ref.memory != Memory::kAny) ||
                      ref.role == Role::kScratch;
    }
    for (std::vector<bool> before; before != undefined_;) {
      before = undefined_;
      Run(kernel.body);
      Branch(kernel.epilogue, {});
      for (size_t i = 0; i < before.size(); ++i) undefined_[i] = undefined_[i] && before[i];
    }
  }

  void Report(Diagnostics& diagnostics) const {
    bool scratch_at_fault = false;
    for (const Role role : {Role::kScratch, Role::kOutput}) {
      for (size_t i = 0; i < kernel_.refs.size(); ++i) {
        const Ref& ref = kernel_.refs[i];
        if (ref.role != role || !undefined_[i]) continue;
        if (role == Role::kOutput && scratch_at_fault && store_[i]) continue;  // its consequence
        if (role == Role::kScratch && !store_[i]) continue;                    // a use reports it
        scratch_at_fault = scratch_at_fault || role == Role::kScratch;
        Report(ref, store_[i], diagnostics);
      }
    }
  }

 private:
  void Report(const Ref& ref, const Action* action, Diagnostics& diagnostics) const {
    if (!action) {
      if (ref.init_undefined) return;
      diagnostics.Error("coverage", ref.span,
                        "no statement stores into the output `" + ref.name + "`");
      return;
    }
    const auto* store = As<action::Store>(*action);  // else a copy
    const Ref* source = store ? UndefinedSource(*store->value, ref) : nullptr;
    if (source) {
      diagnostics.Error(
          "undefined", action->span,
          "`" + ref.name + "` is computed from `" + source->name + "`, which holds nothing",
          "store into `" + source->name + "`, or copy into it, before");
      return;
    }
    const bool output = ref.role == Role::kOutput;
    diagnostics.Error("undefined", action->span,
                      "`" + ref.name + "` is computed from its own undefined value: " +
                          (output ? "an output block holds nothing at the start of each stay"
                                  : "scratch holds nothing when the parallel coordinates change"),
                      std::string("set it on the first step: when first(…): ") + ref.name + " = 0" +
                          (output ? "; or give the output `init: 0`" : ""));
  }

  /// The first buffer but `target` that a value reads and that is undefined; null: none.
  const Ref* UndefinedSource(const Node& node, const Ref& target) const {
    if (node.op == Op::kRead && undefined_[static_cast<size_t>(node.index)]) {
      const Ref& source = kernel_[RefId(node.index)];
      if (&source != &target) return &source;
    }
    for (const NodePtr& arg : node.args) {
      if (const Ref* source = UndefinedSource(*arg, target)) return source;
    }
    return nullptr;
  }

  bool Undefined(const Node& node) const {
    switch (node.op) {
      case Op::kRead:
        return undefined_[static_cast<size_t>(node.index)];
      case Op::kLocal:
        return locals_[static_cast<size_t>(node.index)];
      case Op::kWhere:
      case Op::kIf:
        return Undefined(*node.args[0]) || (Undefined(*node.args[1]) && Undefined(*node.args[2]));
      case Op::kAnd:
      case Op::kOr:
        return Undefined(*node.args[0]);
      case Op::kConcat:
        return AllUndefined(node);
      case Op::kBitAnd:
      case Op::kBitOr:
        // Of bools, a defined one may decide alone.
        if (node.args[0]->dtype == DType::kBool) return AllUndefined(node);
        break;
      default:
        break;
    }
    return std::any_of(node.args.begin(), node.args.end(),
                       [&](const NodePtr& a) { return Undefined(*a); });
  }

  bool AllUndefined(const Node& node) const {
    return std::all_of(node.args.begin(), node.args.end(),
                       [&](const NodePtr& a) { return Undefined(*a); });
  }

  void Run(const Actions& actions) {
    for (const Action& action : actions) Run(action);
  }

  void Run(const Action& action) {
    Match(
        action,
        [&](const action::Define& define) {
          locals_[static_cast<size_t>(define.local)] = Undefined(*define.value);
        },
        [&](const action::Store& store) { Store(action, store); },
        [&](const action::When& when) { Branch(when.body, when.orelse); },
        [&](const action::For& loop) { Branch(loop.body, {}); },
        [&](const action::While& loop) { Branch(loop.body, {}); },
        [&](const action::Copy& copy) {
          const size_t target = static_cast<size_t>(copy.target.ref);
          undefined_[target] = false;
          if (!store_[target]) store_[target] = &action;
        },
        [](const action::Assert&) {}, [](const action::Wait&) {});
  }

  void Store(const Action& action, const action::Store& store) {
    const bool value = Undefined(*store.value);
    std::vector<bool>& state = store.ref >= 0 ? undefined_ : locals_;
    const size_t index = static_cast<size_t>(store.ref >= 0 ? store.ref : store.local);
    const bool whole = store.IsWhole();
    state[index] = whole ? value : state[index] && value;
    if (store.ref < 0) return;
    if (!store_[index] || (value && !spoils_[index])) store_[index] = &action;
    spoils_[index] = spoils_[index] || value;
  }

  /// Either list may run: undefined only if it is so after both.
  void Branch(const Actions& one, const Actions& other) {
    const auto refs = undefined_;
    const auto locals = locals_;
    Run(one);
    const auto refs_one = std::move(undefined_);
    const auto locals_one = std::move(locals_);
    undefined_ = refs;
    locals_ = locals;
    Run(other);
    for (size_t i = 0; i < undefined_.size(); ++i) undefined_[i] = undefined_[i] && refs_one[i];
    for (size_t i = 0; i < locals_.size(); ++i) locals_[i] = locals_[i] && locals_one[i];
  }

  const Kernel& kernel_;
  std::vector<bool> undefined_;  // by ref: surely undefined
  std::vector<bool> locals_;
  // By ref: the first store or copy into it, of an undefined value if there is one.
  std::vector<const Action*> store_;
  std::vector<bool> spoils_;  // by ref: whether that is of one
};

}  // namespace

void CheckUndefined(const Kernel& kernel, Diagnostics& diagnostics) {
  Definedness(kernel).Report(diagnostics);
}

}  // namespace kiln
