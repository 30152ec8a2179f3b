#include "generator/planner/fuse/rows/shared_windows.h"

#include <algorithm>
#include <utility>
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

/// A row behind others, by the loops of which it is another iteration.
using Behind = std::vector<std::pair<LoopId, int64_t>>;

/// How many elements rows read, each once.
size_t ReadBy(const std::vector<Behind>& rows, const std::vector<Place>& windows) {
  std::vector<Place> once;
  for (const Place& place : windows) {
    for (const Behind& row : rows) {
      Place behind = place;
      for (const auto& [loop, by] : row) behind = BehindBy(std::move(behind), loop, by);
      if (!Has(once, behind)) once.push_back(std::move(behind));
    }
  }
  return once.size();
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

Together ShareWindows(LoopId outer, const stage::Loop& row) {
  // Fewer elements are as well read again, and more are not to be written out for four rows.
  constexpr size_t kLeast = 4, kMost = 32;
  const std::vector<Place> windows = WindowsOf(row);
  if (windows.size() < kLeast || windows.size() > kMost) return Together::kNone;
  const LoopId inner = row.loop;
  const size_t of_four = ReadBy({{}, {{inner, 1}}, {{inner, 2}}, {{inner, 3}}}, windows);
  const size_t of_pairs =
      outer ? ReadBy({{}, {{inner, 1}}, {{outer, 1}}, {{outer, 1}, {inner, 1}}}, windows) : of_four;
  const size_t each = static_cast<size_t>(kFourRows) * windows.size();
  if (5 * std::min(of_four, of_pairs) > 4 * each) return Together::kNone;
  return of_pairs < of_four ? Together::kPairs : Together::kFour;
}

}  // namespace kiln
