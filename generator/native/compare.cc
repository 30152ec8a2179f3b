#include "generator/native/compare.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace kiln {
namespace {

/// Walks a kernel's body and counts the roundings that can follow upon each other.
class Chain {
 public:
  Chain(const Binding& binding, const Ref& output) : binding_(binding), output_(output) {}

  void Run() {
    const Kernel& kernel = *binding_.kernel;
    double steps = 1;  // that one stay of a block can last
    for (size_t a = 0; a < binding_.steps.size(); ++a) {
      if (!kernel.axes[a].parallel) steps *= static_cast<double>(binding_.steps[a]);
    }
    for (const Ref& ref : kernel.refs) {
      if (ref.role == Role::kScratch) PassesThrough(ref.dtype);
    }
    roundings_ = steps * Count(kernel.body) + Count(kernel.epilogue);
  }

  double roundings() const { return roundings_; }
  /// Of the coarsest type of an intermediate value, and of the coarsest that is computed in.
  double epsilon() const { return epsilon_; }
  double compute_epsilon() const { return compute_epsilon_; }
  bool integers_from_floats() const { return integers_from_floats_; }

 private:
  void PassesThrough(DType dtype) {
    if (IsFloat(dtype) && !IsWeak(dtype)) epsilon_ = std::max(epsilon_, EpsilonOf(dtype));
  }

  double Extent(const Size& size) const {
    return static_cast<double>(Evaluate(size, binding_).value_or(1));
  }

  /// Elements that a reduction folds into one.
  double Folded(const Node& node) const {
    const Shape& of = node.args[0]->shape;
    if (node.op == Op::kDot) return Extent(of.back());
    double count = 1;
    for (const int axis : node.axes) count *= Extent(of[static_cast<size_t>(axis)]);
    return node.axes.empty() ? ExtentOfAll(of) : count;
  }

  double ExtentOfAll(const Shape& shape) const {
    double count = 1;
    for (const Size& size : shape) count *= Extent(size);
    return count;
  }

  /// A function's error in units of the last place, and what it does to the error of its argument,
  /// both in roundings; a reduction rounds at each element that it takes in.
  double Own(const Node& node) const {
    const int roundings = RowOf(node.op).roundings;
    if (roundings == 0) return 0;
    switch (ClassOf(node.op)) {
      case OpClass::kFold:
      case OpClass::kScan:
      case OpClass::kProduct:
        return Folded(node) * roundings + 1;
      case OpClass::kLeaf:
      case OpClass::kArithmetic:
      case OpClass::kComparison:
      case OpClass::kFunction:
      case OpClass::kSpecial:
      case OpClass::kLazy:
      case OpClass::kShape:
      case OpClass::kLocation:
      case OpClass::kOrder:
        return roundings;
    }
    __builtin_unreachable();
  }

  /// The longest chain in an expression. `last`: it is stored in the output as it is, so that the
  /// type of an outermost cast is that of the output.
  double Count(const Node& node, bool last) {
    if (node.op == Op::kCast) {
      if (!last) PassesThrough(node.dtype);
      integers_from_floats_ |= IsInteger(node.dtype) && IsFloat(node.args[0]->dtype);
    }
    double longest = 0;
    for (const NodePtr& arg : node.args) longest = std::max(longest, Count(*arg, false));
    const double own = IsFloat(node.dtype) ? Own(node) : 0;
    if (own > 0) compute_epsilon_ = std::max(compute_epsilon_, EpsilonOf(ComputeType(node.dtype)));
    return longest + own;
  }

  double Count(const Actions& actions) {
    double sum = 0;
    for (const Action& action : actions) {
      Match(
          action, [&](const action::Define& define) { sum += Count(*define.value, false); },
          [&](const action::Store& store) {
            const bool to_output =
                store.ref >= 0 && &(*binding_.kernel)[RefId(store.ref)] == &output_;
            sum += Count(*store.value, to_output);
          },
          [&](const action::When& when) { sum += std::max(Count(when.body), Count(when.orelse)); },
          [&](const action::For& loop) { sum += std::max(Count(loop.body) * Rounds(loop), 0.0); },
          [&](const action::While& loop) { sum += Count(loop.body) * Turns(loop); },
          [](const action::Assert&) {}, [](const action::Copy&) {}, [](const action::Wait&) {});
    }
    return sum;
  }

  double Rounds(const action::For& loop) const {
    const EvalResult low = Evaluate(*loop.low, binding_, nullptr);
    const EvalResult high = Evaluate(*loop.high, binding_, nullptr);
    const bool known = low.fault == EvalFault::kNone && high.fault == EvalFault::kNone;
    return known ? std::max(1.0, static_cast<double>(high.value) - static_cast<double>(low.value))
                 : kUnknown;
  }

  double Turns(const action::While& loop) const {
    const auto most = loop.most ? Evaluate(*loop.most, binding_) : std::nullopt;
    return most ? static_cast<double>(std::max<int64_t>(*most, 0)) : kUnknown;
  }

  static constexpr double kUnknown = 64;  // rounds of a loop over values

  const Binding& binding_;
  const Ref& output_;
  double roundings_ = 0;
  double epsilon_ = 0x1p-52;
  double compute_epsilon_ = 0x1p-52;
  bool integers_from_floats_ = false;
};

double ValueAt(const Array& array, int64_t i) {
  return IsFloat(array.dtype) ? array.GetFloat(i) : static_cast<double>(array.GetInt(i));
}

double LargestFinite(const Array& array) {
  double largest = 0;
  for (int64_t i = 0; i < array.size(); ++i) {
    const double value = std::fabs(ValueAt(array, i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

double Distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  return std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : INFINITY;
}

std::string Position(const std::vector<int64_t>& shape, int64_t at) {
  std::string text;
  int64_t rest = at, inner = 1;
  for (const int64_t extent : shape) inner *= extent;
  for (const int64_t extent : shape) {
    inner /= extent;
    text += (text.empty() ? "" : ", ") + std::to_string(rest / inner);
    rest %= inner;
  }
  return "[" + text + "]";
}

}  // namespace

Tolerance ToleranceOf(const Binding& binding, const Ref& output) {
  Chain chain(binding, output);
  chain.Run();
  Tolerance tolerance;
  if (!IsFloat(output.dtype)) {
    tolerance.absolute = output.dtype != DType::kBool && chain.integers_from_floats() ? 1 : 0;
    return tolerance;
  }
  // Sums are taken in the compute type; of many roundings some cancel, so that their errors grow
  // with the square root of their number (times a factor for the unlucky element). Values that are
  // rounded to something coarser on the way may be rounded to either neighbour.
  const double roundings = std::min(chain.roundings(), 8 * std::sqrt(chain.roundings()));
  const double compute = chain.compute_epsilon();
  const double coarse = chain.epsilon() > compute ? 2 * chain.epsilon() : 0;
  // One power of two is half of the next.
  tolerance.relative = RowOf(output.dtype).powers ? 0.5 : 2 * EpsilonOf(output.dtype);
  tolerance.magnitude = coarse + compute * roundings;
  return tolerance;
}

Difference Compare(const Array& got, const Array& want, const Tolerance& tolerance) {
  Difference found;
  const bool floats = IsFloat(got.dtype) && IsFloat(want.dtype);
  if ((got.dtype != want.dtype && !floats) || got.shape != want.shape) {
    found.elements = want.size();
    found.description =
        ToString(got.dtype, got.shape) + " instead of " + ToString(want.dtype, want.shape);
    return found;
  }
  const bool powers = RowOf(got.dtype).powers;
  const double slack = tolerance.absolute + tolerance.magnitude * LargestFinite(want);
  int64_t at = -1;
  double worst_share = -1;  // of what is allowed
  for (int64_t i = 0; i < want.size(); ++i) {
    const double expected = ValueAt(want, i);
    const double distance = Distance(ValueAt(got, i), expected);
    const double size = powers ? std::fmax(expected, ValueAt(got, i)) : std::fabs(expected);
    const double allowed = slack + (std::isfinite(expected) ? tolerance.relative * size : 0);
    if (distance > allowed) ++found.elements;
    const double share = distance == 0 ? 0 : distance / allowed;
    if (share <= worst_share) continue;
    worst_share = share;
    found.worst = distance;
    found.allowed = allowed;
    at = i;
  }
  if (at >= 0) found.where = Position(want.shape, at);
  if (found.elements == 0) return found;
  std::ostringstream text;
  text << found.elements << " of " << want.size() << " elements differ; the worst is "
       << found.where << ": " << ValueAt(got, at) << " instead of " << ValueAt(want, at) << ", and "
       << found.allowed << " is allowed";
  found.description = text.str();
  return found;
}

}  // namespace kiln
