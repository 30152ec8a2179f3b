#include "generator/bind/least_operations.h"

#include <algorithm>

namespace kiln {
namespace {

class OperationCounter {
 public:
  explicit OperationCounter(const Binding& binding) : binding_(binding) {}

  double largest() const { return largest_; }

  double Of(const Actions& actions) {
    double sum = 0;
    for (const Action& action : actions) {
      Match(
          action, [&](const action::Define& define) { sum += Of(*define.value); },
          [&](const action::Store& store) { sum += Of(*store.value) + Elements(store.shape); },
          [&](const action::When& when) { Of(when.body), Of(when.orelse); },  // the largest value
          [&](const action::For& loop) { sum += Rounds(loop) * std::max(1.0, Of(loop.body)); },
          [&](const action::While& loop) { Of(loop.body); },  // perhaps no turn
          [](const action::Assert&) {}, [](const action::Copy&) {}, [](const action::Wait&) {});
    }
    return sum;
  }

 private:
  double Of(const Node& node) {
    double sum = Elements(node.shape);
    if (node.op == Op::kDot) sum *= Extent(node.args[0]->shape.back());
    for (const NodePtr& arg : node.args) sum += Of(*arg);
    return sum;
  }

  double Extent(const Size& size) const {
    return static_cast<double>(Evaluate(size, binding_).value_or(1));
  }

  double Elements(const Shape& shape) {
    double count = 1;
    for (const Size& size : shape) count *= Extent(size);
    largest_ = std::max(largest_, count);
    return count;
  }

  double Rounds(const action::For& loop) const {
    const EvalResult low = Evaluate(*loop.low, binding_, nullptr);
    const EvalResult high = Evaluate(*loop.high, binding_, nullptr);
    if (low.fault != EvalFault::kNone || high.fault != EvalFault::kNone) return 1;
    return std::max(static_cast<double>(high.value) - static_cast<double>(low.value), 0.0);
  }

  const Binding& binding_;
  double largest_ = 0;
};

}  // namespace

Operations LeastOperations(const Binding& binding) {
  OperationCounter counter(binding);
  Operations operations;
  operations.steps = static_cast<double>(std::max<int64_t>(binding.StepCount(), 0));
  for (size_t axis = 0; axis < binding.steps.size() && operations.steps > 0; ++axis) {
    if (binding.kernel->axes[axis].parallel)
      operations.parallel *= static_cast<double>(binding.steps[axis]);
  }
  operations.elements = operations.steps * counter.Of(binding.kernel->body);
  operations.largest = counter.largest();
  return operations;
}

}  // namespace kiln
