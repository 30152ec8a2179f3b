#include "generator/planner/fuse/rows/store_rows.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// The element that a statement stores, named by a constant, of rows that lanes have one each of.
std::optional<int64_t> ElementOf(const Plan& plan, const stage::Store& store, LoopId lanes) {
  const std::vector<Coordinate>& at = store.place.at;
  const DType type = plan[store.place.buffer].dtype;
  if (store.mask || !store.row.empty() || at.size() < 2 || IsPacked(type) || type == DType::kBool)
    return std::nullopt;
  const Coordinate &row = at[at.size() - 2], &element = at.back();
  if (row.loop != lanes || row.stride != 1 || row.around || element.loop || element.around)
    return std::nullopt;
  if (!element.offset) return 0;
  const auto* constant = As<element::Constant>(element.offset);
  return constant ? std::optional(constant->int_value) : std::nullopt;
}

/// Whether nothing but the element may differ.
bool AreOfOneRow(const Place& a, const Place& b) {
  Place x = a, y = b;
  x.at.back() = y.at.back() = {};
  return SamePlace(x, y);
}

/// Whether the statement reads that memory, by whatever name.
bool Reads(const Plan& plan, const Stage& stage, BufferId buffer) {
  bool reads = false;
  ForEachPlace(stage, [&](const Place& place, bool writes) {
    reads = reads || (!writes && RootOf(plan, place.buffer) == RootOf(plan, buffer));
  });
  return reads;
}

/// The statements that store all elements of the rows of `first`, in the order of the elements;
/// none: not all are stored, or something is read there in between.
std::vector<size_t> ColumnsFrom(const Plan& plan, const stage::Lanes& lanes, size_t first) {
  constexpr int64_t kMostElements = 8;
  const Place& place = As<stage::Store>(lanes.body[first])->place;
  const Buffer& buffer = plan[place.buffer];
  const int64_t count = buffer.extents.back().Constant().value_or(0);
  if (count < 2 || count > kMostElements) return {};
  std::vector<std::optional<size_t>> found(static_cast<size_t>(count));
  int64_t missing = count;
  for (size_t k = first; k < lanes.body.size(); ++k) {
    const auto* store = As<stage::Store>(lanes.body[k]);
    if (k > first && Reads(plan, lanes.body[k], place.buffer)) return {};
    if (!store || RootOf(plan, store->place.buffer) != RootOf(plan, place.buffer)) continue;
    const std::optional<int64_t> element = ElementOf(plan, *store, lanes.loop);
    if (!element || *element < 0 || *element >= count || !AreOfOneRow(place, store->place) ||
        std::exchange(found[static_cast<size_t>(*element)], k))
      return {};
    if (--missing == 0) break;
  }
  std::vector<size_t> columns;
  for (const std::optional<size_t>& k : found)
    if (k) columns.push_back(*k);
  return missing == 0 ? columns : std::vector<size_t>();
}

/// Whether vectors of all elements have as many lanes.
bool AreAlike(const stage::Lanes& lanes, const std::vector<size_t>& columns) {
  const DType type = As<stage::Store>(lanes.body[columns[0]])->value->dtype;
  return std::all_of(columns.begin(), columns.end(), [&](size_t k) {
    return As<stage::Store>(lanes.body[k])->value->dtype == type;
  });
}

void StoreAtOnce(const Plan& plan, stage::Lanes& lanes) {
  const bool simple = std::all_of(lanes.body.begin(), lanes.body.end(), [](const Stage& s) {
    return Is<stage::Define, stage::Store>(s);
  });
  for (size_t first = 0; simple && first < lanes.body.size(); ++first) {
    const auto* store = As<stage::Store>(lanes.body[first]);
    if (!store || !ElementOf(plan, *store, lanes.loop)) continue;
    const std::vector<size_t> columns = ColumnsFrom(plan, lanes, first);
    if (columns.empty() || !AreAlike(lanes, columns)) continue;
    stage::Store rows = *As<stage::Store>(lanes.body[columns[0]]);
    for (size_t k = 1; k < columns.size(); ++k)
      rows.row.push_back(As<stage::Store>(lanes.body[columns[k]])->value);
    // The last of them has all values.
    const size_t last = *std::max_element(columns.begin(), columns.end());
    lanes.body[last].what = std::move(rows);
    Stages rest;
    for (size_t k = 0; k < lanes.body.size(); ++k) {
      const bool gone = k != last && std::count(columns.begin(), columns.end(), k) > 0;
      if (!gone) rest.push_back(std::move(lanes.body[k]));
    }
    lanes.body = std::move(rest);
    --first;  // another statement is there now
  }
}

}  // namespace

void StoreShortRows(Plan& plan) {
  if (plan.kernel->HasAliases()) return;
  for (BodyPlan& body : plan.bodies) {
    ChangeStages(body.stages, [&](Stage& stage) {
      if (auto* lanes = As<stage::Lanes>(stage)) StoreAtOnce(plan, *lanes);
    });
  }
}

}  // namespace kiln
