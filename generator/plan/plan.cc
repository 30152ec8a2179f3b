#include "generator/plan/plan.h"

#include <algorithm>

#include "generator/plan/walk.h"

namespace kiln {

bool IndexMap::MayFail() const {
  bool may_fail = false;
  const auto look = [&](const Element& e) {
    const auto* operation = As<element::Operation>(e);
    may_fail = may_fail || Is<element::Load>(e) || (operation && operation->line > 0);
  };
  for (const Dimension& dimension : dimensions) {
    for (const ElementPtr& e : {dimension.start, dimension.extent}) {
      if (e) ForEachElement(e, look);
    }
  }
  return may_fail;
}

bool IndexMap::IsConstant() const {
  return std::all_of(dimensions.begin(), dimensions.end(), [](const Dimension& dimension) {
    return Is<element::Constant>(*dimension.start) && !dimension.extent;
  });
}

}  // namespace kiln
