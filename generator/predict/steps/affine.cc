#include "generator/predict/steps/affine.h"

#include <algorithm>

namespace kiln {
namespace {

bool IsConstant(const Affine& a) {
  return std::all_of(a.factors.begin(), a.factors.end(), [](int64_t f) { return f == 0; });
}

/// a + b * by.
std::optional<Affine> Sum(Affine a, const Affine& b, int64_t by) {
  const auto add = [by](int64_t& to, int64_t what) {
    int64_t product = 0;
    return !__builtin_mul_overflow(what, by, &product) && !__builtin_add_overflow(to, product, &to);
  };
  bool fine = add(a.constant, b.constant);
  for (size_t i = 0; i < a.factors.size(); ++i) fine = fine && add(a.factors[i], b.factors[i]);
  if (!fine) return std::nullopt;
  return a;
}

}  // namespace

std::optional<Affine> AffineOf(const Node& node, const Binding& binding) {
  Affine zero{0, std::vector<int64_t>(binding.kernel->axes.size())};
  const auto arg = [&](size_t i) { return AffineOf(*node.args[i], binding); };
  switch (node.op) {
    case Op::kAxis:
      zero.factors[static_cast<size_t>(node.index)] = 1;
      return zero;
    case Op::kNeg: {
      const auto a = arg(0);
      return a ? Sum(zero, *a, -1) : std::nullopt;
    }
    case Op::kAdd:
    case Op::kSub: {
      const auto a = arg(0), b = arg(1);
      return a && b ? Sum(*a, *b, node.op == Op::kAdd ? 1 : -1) : std::nullopt;
    }
    case Op::kMul: {
      auto a = arg(0), b = arg(1);
      if (!a || !b) return std::nullopt;
      if (!IsConstant(*a)) std::swap(a, b);
      return IsConstant(*a) ? Sum(zero, *b, a->constant) : std::nullopt;
    }
    default: {
      // Anything else is fine if no coordinate is in it.
      const EvalResult value = Evaluate(node, binding, nullptr);
      if (value.fault != EvalFault::kNone) return std::nullopt;
      zero.constant = value.value;
      return zero;
    }
  }
}

}  // namespace kiln
