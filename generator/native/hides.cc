#include "generator/native/hides.h"

#include <algorithm>
#include <vector>

namespace kiln {
namespace {

bool IsMemory(const Ref& ref) {
  return ref.role == Role::kInput || ref.role == Role::kOutput || ref.role == Role::kScratch;
}

bool MayBeUndefined(const Ref& ref) {
  return ref.role == Role::kScratch || ref.role == Role::kOutput ||
         (ref.role == Role::kInput && !ref.pad);
}

class Body {
 public:
  explicit Body(const Kernel& kernel) : kernel_(kernel), locals_(kernel.locals.size(), false) {
    for (std::vector<bool> before; before != locals_;) {
      before = locals_;
      for (const auto* actions : {&kernel.body, &kernel.epilogue}) Follow(*actions);
    }
  }

  bool Hides() const { return Hides(kernel_.body) || Hides(kernel_.epilogue); }

 private:
  /// Which locals hold what was read from memory.
  void Follow(const Actions& actions) {
    ForEachAction(actions, [this](const Action& action) {
      if (const auto* define = As<action::Define>(action)) Follow(define->local, *define->value);
      const auto* store = As<action::Store>(action);
      if (store && store->local >= 0) Follow(store->local, *store->value);
    });
  }
  void Follow(int local, const Node& value) {
    if (IsOfMemory(value)) locals_[static_cast<size_t>(local)] = true;
  }

  bool IsOfMemory(const Node& node) const {
    if (node.op == Op::kRead && IsMemory(kernel_[RefId(node.index)])) return true;
    if (node.op == Op::kLocal && locals_[static_cast<size_t>(node.index)]) return true;
    return std::any_of(node.args.begin(), node.args.end(),
                       [&](const NodePtr& arg) { return IsOfMemory(*arg); });
  }

  /// A comparison, a cast (also to a float whose NaN says nothing), the position of the largest, a
  /// power, which is 1 if its exponent is 0 or its base 1, a place that is looked up: no NaN comes
  /// out.
  bool LosesNaN(const Node& node) const {
    const bool power = node.op == Op::kPow && IsOfMemory(node);
    return power || MayHaveNoValue(node) || LosesNaN(node.subscripts) ||
           std::any_of(node.args.begin(), node.args.end(), [&](const NodePtr& arg) {
             return (!TellsUndefined(node.dtype) && TellsUndefined(arg->dtype) &&
                     IsOfMemory(*arg)) ||
                    LosesNaN(*arg);
           });
  }
  bool LosesNaN(const std::vector<Subscript>& subscripts) const {
    return std::any_of(subscripts.begin(), subscripts.end(), [&](const Subscript& s) {
      return IsOfMemory(*s.start) || LosesNaN(*s.start);
    });
  }

  bool Hides(const Actions& actions) const {
    return AnyAction(actions, [this](const Action& action) {
      return Match(
          action, [this](const action::Define& define) { return LosesNaN(*define.value); },
          [this](const action::Store& store) {
            return (store.mask && IsOfMemory(*store.mask)) || LosesNaN(store.subscripts) ||
                   LosesNaN(*store.value);
          },
          [this](const action::When& when) { return IsOfMemory(*when.condition); },
          [this](const action::For& loop) {
            return IsOfMemory(*loop.low) || IsOfMemory(*loop.high);
          },
          [this](const action::While& loop) { return IsOfMemory(*loop.condition); },
          [this](const action::Assert& check) { return IsOfMemory(*check.condition); },
          [](const action::Copy&) { return false; }, [](const action::Wait&) { return false; });
    });
  }

  const Kernel& kernel_;
  std::vector<bool> locals_;
};

using IsWanted = bool (*)(const Node& node);

bool HasNode(const Node& node, IsWanted is) {
  return is(node) || std::any_of(node.args.begin(), node.args.end(),
                                 [&](const NodePtr& arg) { return HasNode(*arg, is); });
}

/// Whether some expression of the kernel has such a node.
bool HasNode(const Kernel& kernel, IsWanted is) {
  const auto has = [&](const Action& action) {
    bool any = false;
    ForEachExpression(action, [&](const Node& node) { any = any || HasNode(node, is); });
    return any;
  };
  return AnyAction(kernel.body, has) || AnyAction(kernel.epilogue, has);
}

}  // namespace

bool BitcastsToFloat(const Kernel& kernel) {
  return HasNode(kernel,
                 [](const Node& node) { return node.op == Op::kBitcast && IsFloat(node.dtype); });
}

bool MultipliesBf16(const Kernel& kernel) {
  return HasNode(kernel, [](const Node& node) {
    return node.op == Op::kDot &&
           std::any_of(node.args.begin(), node.args.end(),
                       [](const NodePtr& arg) { return arg->dtype == DType::kBF16; });
  });
}

bool HidesUndefined(const Kernel& kernel) {
  const bool integers = std::any_of(kernel.refs.begin(), kernel.refs.end(), [](const Ref& ref) {
    return MayBeUndefined(ref) && !TellsUndefined(ref.dtype);
  });
  return integers || Body(kernel).Hides();
}

}  // namespace kiln
