#include "generator/check/shape_rules.h"

#include <algorithm>

#include "generator/ir/evaluate.h"
#include "generator/text/integer.h"

namespace kiln {
namespace {

/// What a condition says are equal, alone or joined by `and`.
void CollectEqualities(const Node& condition, const Kernel& kernel,
                       std::vector<std::pair<Size, Size>>& equal) {
  if (condition.op == Op::kAnd) {
    for (const NodePtr& part : condition.args) CollectEqualities(*part, kernel, equal);
  } else if (condition.op == Op::kEq) {
    equal.emplace_back(SizeOf(condition.args[0], kernel), SizeOf(condition.args[1], kernel));
  }
}

/// What a condition says a dimension is a multiple of: `w % 2 == 0`.
void CollectMultiples(const Node& condition, std::vector<int64_t>& multiples) {
  if (condition.op == Op::kAnd) {
    for (const NodePtr& part : condition.args) CollectMultiples(*part, multiples);
    return;
  }
  const bool remainder = condition.op == Op::kEq && condition.args[0]->op == Op::kMod;
  if (!remainder || condition.args[0]->args[0]->op != Op::kDim) return;
  int64_t& multiple = multiples[static_cast<size_t>(condition.args[0]->args[0]->index)];
  const Node& by = *condition.args[0]->args[1];
  if (by.op == Op::kConst && by.int_value > 0)
    multiple = CheckedLcm(multiple, by.int_value).value_or(multiple);
}

/// Some sizes that dimensions may have by themselves, apart from each other.
std::vector<Environment> Samples(const Kernel& kernel) {
  std::vector<int64_t> multiples;
  for (const Dim& dim : kernel.dims) multiples.push_back(dim.multiple_of);
  for (const Require& require : kernel.require) CollectMultiples(*require.condition, multiples);
  std::vector<Environment> samples;
  for (const int64_t first : {7, 10, 25}) {
    Environment sample{&kernel, {}, {}, std::vector<const Array*>(kernel.refs.size())};
    for (size_t d = 0; d < multiples.size(); ++d)
      sample.dims.push_back(SaturatingMultiply(multiples[d], first + 2 * static_cast<int64_t>(d)));
    samples.push_back(std::move(sample));
  }
  return samples;
}

/// Whether the sides are equal at all of them: divisions by what is known to divide are no
/// unknowns.
bool HoldsAt(const std::vector<Environment>& samples, const Obligation& of) {
  return std::all_of(samples.begin(), samples.end(), [&](const Environment& sample) {
    const auto left = Evaluate(of.left, sample);
    return left && left == Evaluate(of.right, sample);
  });
}

}  // namespace

void CheckShapes(const Kernel& kernel, Diagnostics& diagnostics) {
  std::vector<std::pair<Size, Size>> equal;
  for (const Require& require : kernel.require)
    CollectEqualities(*require.condition, kernel, equal);
  const std::vector<Environment> samples = Samples(kernel);
  // The first dimension of an expression says it, and the innermost expression.
  std::vector<Span> reported;
  const auto is_reported = [&](Span span) {
    return std::any_of(reported.begin(), reported.end(), [&](Span inner) {
      return span.begin <= inner.begin && inner.end <= span.end;
    });
  };
  for (const Obligation& of : kernel.obligations) {
    if (of.kind != Obligation::Kind::kEqual || of.rule != "shape") continue;
    const bool required = std::any_of(equal.begin(), equal.end(), [&](const auto& sides) {
      const Size difference = sides.first - sides.second;
      return difference == of.left - of.right || difference == of.right - of.left;
    });
    if (required || is_reported(of.span) || HoldsAt(samples, of)) continue;
    reported.push_back(of.span);
    const std::string condition = of.left.ToString() + " == " + of.right.ToString();
    diagnostics.Warning("shape", of.span, of.message + ": that fits only where " + condition,
                        "if that is meant, say so: require: [\"" + condition + "\"]");
  }
}

}  // namespace kiln
