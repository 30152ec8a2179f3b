#include "generator/planner/analyze/regroup.h"

#include <algorithm>
#include <utility>

#include "generator/ir/tile_node.h"
#include "generator/planner/analyze/nodes.h"

namespace kiln {
namespace {

/// Whether `node` is dim // factor.
bool IsQuotient(const Node& node, const Node& dim, int64_t factor) {
  if (node.op != Op::kFloorDiv || dim.op != Op::kDim) return false;
  const Node &dividend = *node.args[0], &divisor = *node.args[1];
  return dividend.op == Op::kDim && dividend.index == dim.index && divisor.op == Op::kConst &&
         divisor.int_value == factor;
}

/// The factor of which `to` is the largest multiple in `from`, as h // 2 * 2 is of h; 0: it is
/// none.
int64_t RoundedDownTo(const Size& from, const Size& to) {
  constexpr int64_t kMostParts = 64;
  const Node* const dim = from.AsAtom();
  for (int64_t factor = 2; dim != nullptr && factor <= kMostParts; ++factor) {
    const std::optional<Size> quotient = to.DividedBy(factor);
    const Node* const atom = quotient ? quotient->AsAtom() : nullptr;
    if (atom != nullptr && IsQuotient(*atom, *dim, factor)) return factor;
  }
  return 0;
}

/// Whether `to` is `from`, or that rounded down.
bool IsRoundedDown(const Size& from, const Size& to) {
  return from == to || RoundedDownTo(from, to) > 0;
}

/// Whether the condition says that a dimension is a multiple of the factor.
bool SaysMultiple(const Node& condition, const Node& dim, int64_t factor) {
  if (condition.op == Op::kAnd) {
    return SaysMultiple(*condition.args[0], dim, factor) ||
           SaysMultiple(*condition.args[1], dim, factor);
  }
  if (condition.op != Op::kEq || condition.args[0]->op != Op::kMod) return false;
  const Node &divided = *condition.args[0]->args[0], &by = *condition.args[0]->args[1];
  return divided.op == Op::kDim && divided.index == dim.index && by.op == Op::kConst &&
         by.int_value % factor == 0 && IsZero(condition.args[1]);
}

/// Whether every call checks that a dimension is a multiple of the factor.
bool IsMultiple(const Kernel& kernel, const Size& size, int64_t factor) {
  const Node& dim = *size.AsAtom();
  return kernel[DimId(dim.index)].multiple_of % factor == 0 ||
         std::any_of(kernel.require.begin(), kernel.require.end(), [&](const Require& require) {
           return SaysMultiple(*require.condition, dim, factor);
         });
}

/// `is_same(from, to)`: whether sizes are alike. `takes_rest`: whether what is left, in which they
/// are not, may be a group.
template <class IsSame>
std::vector<Group> GroupsBy(const Shape& from, const Shape& to, const IsSame& is_same,
                            bool takes_rest) {
  const auto beyond_one = [](const Shape& shape) {
    std::vector<size_t> dims;
    for (size_t d = 0; d < shape.size(); ++d)
      if (!shape[d].IsOne()) dims.push_back(d);
    return dims;
  };
  const std::vector<size_t> a = beyond_one(from), b = beyond_one(to);
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    size_t m = 0, n = 0;
    // One of the two has a single dimension: nothing else is read without a copy.
    Size product = from[a[i]];
    for (size_t k = j; k < b.size() && m == 0; ++k) {
      product = k == j ? to[b[k]] : product * to[b[k]];
      if (is_same(from[a[i]], product)) m = 1, n = k - j + 1;
    }
    for (size_t k = i; k < a.size() && m == 0; ++k) {
      product = k == i ? from[a[k]] : product * from[a[k]];
      if (is_same(product, to[b[j]])) m = k - i + 1, n = 1;
    }
    if (m == 0 && !takes_rest) return {};
    if (m == 0) {
      // What only a call can prove, as w = w // 2 * 2: all but the dimensions that are alike at the
      // end have as many elements, since both shapes do.
      size_t alike = 0;
      while (i + alike + 1 < a.size() && j + alike + 1 < b.size() &&
             from[a[a.size() - 1 - alike]] == to[b[b.size() - 1 - alike]])
        ++alike;
      m = a.size() - alike - i, n = b.size() - alike - j;
      if (m > 1 && n > 1) return {};
    }
    groups.push_back({{a.begin() + static_cast<std::ptrdiff_t>(i),
                       a.begin() + static_cast<std::ptrdiff_t>(i + m)},
                      {b.begin() + static_cast<std::ptrdiff_t>(j),
                       b.begin() + static_cast<std::ptrdiff_t>(j + n)}});
    i += m, j += n;
  }
  return i == a.size() && j == b.size() ? groups : std::vector<Group>();
}

}  // namespace

bool AreSame(const Kernel& kernel, const Size& a, const Size& b) {
  if (a == b) return true;
  for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const int64_t factor = RoundedDownTo(*from, *to);
    if (factor > 0 && IsMultiple(kernel, *from, factor)) return true;
  }
  return false;
}

std::optional<Size> QuotientOf(const Kernel& kernel, const Size& size, const Size& by) {
  if (std::optional<Size> exact = size.DividedBy(by)) return exact;
  const Node* const dim = size.AsAtom();
  const std::optional<int64_t> factor = by.Constant();
  const bool is_multiple = dim != nullptr && dim->op == Op::kDim && factor && *factor > 1 &&
                           IsMultiple(kernel, size, *factor);
  if (!is_multiple) return std::nullopt;
  return SizeOf(Share(TileNode(Op::kFloorDiv, DType::kIndex, {}, {}, {size.ToNode(), by.ToNode()})),
                kernel);
}

std::vector<Group> GroupsOf(const Shape& from, const Shape& to) {
  const auto equal = [](const Size& x, const Size& y) { return x == y; };
  std::vector<Group> groups = GroupsBy(from, to, equal, /*takes_rest=*/true);
  // As each call checks that both shapes have as many elements, and none of these groups has more
  // than before, all have as many.
  return groups.empty() ? GroupsBy(from, to, IsRoundedDown, /*takes_rest=*/false) : groups;
}

}  // namespace kiln
