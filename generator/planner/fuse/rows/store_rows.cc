#include "generator/planner/fuse/rows/store_rows.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

constexpr int64_t kMostOfRow = 8;

/// One of a short row's elements, which lie side by side.
struct OfRow {
  int64_t element = 0;
  int64_t count = 0;  // of the row
  size_t along = 0;   // the dimension of the place that says which
};

/// The dimensions that a place is in, without those that its memory has one of.
std::vector<size_t> KeptDimensions(const Plan& plan, const Place& place) {
  std::vector<size_t> kept;
  for (size_t d = 0; d < place.at.size(); ++d)
    if (!plan[place.buffer].dropped[d]) kept.push_back(d);
  return kept;
}

/// The element that a statement stores, named by a constant, of rows that lanes have one each of:
/// `o[i, lane, 2]`, or `o[i, lane * 4 + 2]`.
std::optional<OfRow> ElementOf(const Plan& plan, const stage::Store& store, LoopId lanes) {
  const std::vector<Coordinate>& at = store.place.at;
  const Buffer& buffer = plan[store.place.buffer];
  const std::vector<size_t> kept = KeptDimensions(plan, store.place);
  if (store.mask || !store.row.empty() || kept.empty() || IsPacked(buffer.dtype) ||
      buffer.dtype == DType::kBool || at[kept.back()].around)
    return std::nullopt;
  const Coordinate& last = at[kept.back()];
  const auto* constant = last.offset ? As<element::Constant>(last.offset) : nullptr;
  if (last.offset && !constant) return std::nullopt;
  OfRow of{constant ? constant->int_value : 0, last.stride, kept.back()};
  if (last.loop == lanes) {
    if (!AreNeighbours(plan, store.place, lanes, last.stride)) return std::nullopt;
  } else {
    if (last.loop || kept.size() < 2) return std::nullopt;
    const Coordinate& row = at[kept[kept.size() - 2]];
    if (row.loop != lanes || row.stride != 1 || row.around) return std::nullopt;
    of.count = buffer.extents[kept.back()].Constant().value_or(0);
  }
  const bool is_short = of.count >= 2 && of.count <= kMostOfRow;
  return is_short && of.element >= 0 && of.element < of.count ? std::optional(of) : std::nullopt;
}

/// Whether nothing but the coordinate along that dimension may differ.
bool AreOfOneRow(const Place& a, const Place& b, size_t along) {
  if (a.buffer != b.buffer) return false;
  Place x = a, y = b;
  x.at[along].offset = y.at[along].offset = nullptr;
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
std::vector<size_t> ColumnsFrom(const Plan& plan, LoopId lanes, const Stages& body, size_t first) {
  const stage::Store& one = *As<stage::Store>(body[first]);
  const Place& place = one.place;
  int64_t missing = ElementOf(plan, one, lanes)->count;
  std::vector<std::optional<size_t>> found(static_cast<size_t>(missing));
  for (size_t k = first; k < body.size(); ++k) {
    const auto* store = As<stage::Store>(body[k]);
    if (k > first && Reads(plan, body[k], place.buffer)) return {};
    if (!store || RootOf(plan, store->place.buffer) != RootOf(plan, place.buffer)) continue;
    const std::optional<OfRow> of = ElementOf(plan, *store, lanes);
    if (!of || !AreOfOneRow(place, store->place, of->along) ||
        std::exchange(found[static_cast<size_t>(of->element)], k))
      return {};
    if (--missing == 0) break;
  }
  std::vector<size_t> columns;
  for (const std::optional<size_t>& k : found)
    if (k) columns.push_back(*k);
  return missing == 0 ? columns : std::vector<size_t>();
}

/// Whether vectors of all elements have as many lanes.
bool AreAlike(const Stages& body, const std::vector<size_t>& columns) {
  const DType type = As<stage::Store>(body[columns[0]])->value->dtype;
  return std::all_of(columns.begin(), columns.end(),
                     [&](size_t k) { return As<stage::Store>(body[k])->value->dtype == type; });
}

/// What a loop by vectors does, in each turn or for each of some rows.
void StoreAtOnce(const Plan& plan, LoopId lanes, Stages& body) {
  const bool simple = std::all_of(
      body.begin(), body.end(), [](const Stage& s) { return Is<stage::Define, stage::Store>(s); });
  for (size_t first = 0; simple && first < body.size(); ++first) {
    const auto* store = As<stage::Store>(body[first]);
    if (!store || !ElementOf(plan, *store, lanes)) continue;
    const std::vector<size_t> columns = ColumnsFrom(plan, lanes, body, first);
    if (columns.empty() || !AreAlike(body, columns)) continue;
    stage::Store rows = *As<stage::Store>(body[columns[0]]);
    for (size_t k = 1; k < columns.size(); ++k)
      rows.row.push_back(As<stage::Store>(body[columns[k]])->value);
    // The last of them has all values.
    const size_t last = *std::max_element(columns.begin(), columns.end());
    body[last].what = std::move(rows);
    Stages rest;
    for (size_t k = 0; k < body.size(); ++k) {
      const bool gone = k != last && std::count(columns.begin(), columns.end(), k) > 0;
      if (!gone) rest.push_back(std::move(body[k]));
    }
    body = std::move(rest);
    --first;  // another statement is there now
  }
}

}  // namespace

void StoreShortRows(Plan& plan) {
  if (plan.kernel->HasAliases()) return;
  for (BodyPlan& body : plan.bodies) {
    ChangeStages(body.stages, [&](Stage& stage) {
      if (auto* dot = As<stage::Dot>(stage)) StoreAtOnce(plan, dot->col, dot->body);
      auto* lanes = As<stage::Lanes>(stage);
      if (!lanes) return;
      StoreAtOnce(plan, lanes->loop, lanes->body);
      for (Stage& inner : lanes->body)
        if (auto* each = As<stage::EachRow>(inner)) StoreAtOnce(plan, lanes->loop, each->body);
    });
  }
}

}  // namespace kiln
