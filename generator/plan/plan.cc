#include "generator/plan/plan.h"

#include <algorithm>

#include "generator/plan/walk.h"

namespace kiln {

bool IndexMap::LooksUp() const {
  bool looks_up = false;
  for (const Dimension& dimension : dimensions) {
    for (const ElementPtr& e : {dimension.start, dimension.extent})
      ForEachLoad(e, [&](const Place&) { looks_up = true; });
  }
  return looks_up;
}

bool IndexMap::IsConstant() const {
  return std::all_of(dimensions.begin(), dimensions.end(), [](const Dimension& dimension) {
    return Is<element::Constant>(*dimension.start) && !dimension.extent;
  });
}

}  // namespace kiln
