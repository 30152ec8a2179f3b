#include "generator/planner/fuse/rows/shared_windows.h"

#include <algorithm>
#include <vector>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/loops/turn_inside.h"

namespace kiln {
namespace {

bool Has(const std::vector<Place>& places, const Place& place) {
  return std::any_of(places.begin(), places.end(),
                     [&](const Place& p) { return SamePlace(p, place); });
}

/// What lanes of a row read that is elsewhere in another row, each once.
std::vector<Place> WindowsOf(const stage::Loop& row) {
  std::vector<Place> windows;
  const LoopId lanes = LoopOf(row.body.front());
  ForEachPlace(row.body.front(), [&](const Place& place, bool writes) {
    const auto walks = [&](LoopId loop) {
      return std::any_of(place.at.begin(), place.at.end(),
                         [&](const Coordinate& c) { return c.loop == loop; });
    };
    if (!writes && walks(row.loop) && walks(lanes) && !Has(windows, place))
      windows.push_back(place);
  });
  return windows;
}

bool ShareMost(LoopId row, const std::vector<Place>& windows) {
  // Fewer elements are as well read again, and more are not to be written out for four rows.
  constexpr size_t kLeast = 4, kMost = 32;
  if (windows.size() < kLeast || windows.size() > kMost) return false;
  std::vector<Place> once;
  for (const Place& place : windows) {
    for (int64_t k = 0; k < kFourRows; ++k) {
      const Place behind = BehindBy(place, row, k);
      if (!Has(once, behind)) once.push_back(behind);
    }
  }
  return 5 * once.size() <= 4 * kFourRows * windows.size();
}

}  // namespace

Place BehindBy(Place place, LoopId row, int64_t rows) {
  for (Coordinate& c : place.at) {
    if (c.loop != row) continue;
    const int64_t behind = rows * c.stride;
    const auto* constant = As<element::Constant>(c.offset);
    c.offset = constant ? IndexConstant(constant->int_value + behind)
                        : AddOffsets(c.offset, IndexConstant(behind));
  }
  return place;
}

bool ShareWindows(const stage::Loop& row) { return ShareMost(row.loop, WindowsOf(row)); }

bool ShareNarrowWindows(const Plan& plan, const stage::Loop& row) {
  const std::vector<Place> windows = WindowsOf(row);
  return ShareMost(row.loop, windows) &&
         std::all_of(windows.begin(), windows.end(),
                     [&](const Place& place) { return IsNarrowFloat(plan[place.buffer].dtype); });
}

}  // namespace kiln
