#include "generator/planner/lower/regroup.h"

namespace kiln {

std::vector<Group> GroupsOf(const Shape& from, const Shape& to) {
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
      if (product == from[a[i]]) m = 1, n = k - j + 1;
    }
    for (size_t k = i; k < a.size() && m == 0; ++k) {
      product = k == i ? from[a[k]] : product * from[a[k]];
      if (product == to[b[j]]) m = k - i + 1, n = 1;
    }
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

}  // namespace kiln
