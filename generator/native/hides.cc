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
  void Follow(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (action.local >= 0 && action.value && IsOfMemory(*action.value))
        locals_[static_cast<size_t>(action.local)] = true;
      Follow(action.body);
      Follow(action.orelse);
    }
  }

  bool IsOfMemory(const Node& node) const {
    if (node.op == Op::kRead && IsMemory(kernel_.refs[static_cast<size_t>(node.index)]))
      return true;
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

  bool Hides(const std::vector<Action>& actions) const {
    return std::any_of(actions.begin(), actions.end(), [&](const Action& action) {
      for (const NodePtr& node : {action.condition, action.low, action.high, action.mask}) {
        if (node && IsOfMemory(*node)) return true;
      }
      return LosesNaN(action.subscripts) || (action.value && LosesNaN(*action.value)) ||
             Hides(action.body) || Hides(action.orelse);
    });
  }

  const Kernel& kernel_;
  std::vector<bool> locals_;
};

bool Bitcasts(const Node& node) {
  return (node.op == Op::kBitcast && IsFloat(node.dtype)) ||
         std::any_of(node.args.begin(), node.args.end(),
                     [](const NodePtr& arg) { return Bitcasts(*arg); });
}

bool Bitcasts(const std::vector<Action>& actions) {
  return std::any_of(actions.begin(), actions.end(), [](const Action& action) {
    for (const NodePtr& node : {action.value, action.condition, action.mask}) {
      if (node && Bitcasts(*node)) return true;
    }
    return Bitcasts(action.body) || Bitcasts(action.orelse);
  });
}

}  // namespace

bool BitcastsToFloat(const Kernel& kernel) {
  return Bitcasts(kernel.body) || Bitcasts(kernel.epilogue);
}

bool HidesUndefined(const Kernel& kernel) {
  const bool integers = std::any_of(kernel.refs.begin(), kernel.refs.end(), [](const Ref& ref) {
    return MayBeUndefined(ref) && !TellsUndefined(ref.dtype);
  });
  return integers || Body(kernel).Hides();
}

}  // namespace kiln
