#include <algorithm>

#include "generator/plan/walk.h"
#include "generator/render/view/body_view.h"
#include "generator/render/view/specialization_view.h"

/// Loops by lanes and over rows of them, what they store past the caches and what they request.
namespace kiln::render {
namespace {

bool IsAmong(const std::vector<BufferId>& buffers, BufferId buffer) {
  return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
}

}  // namespace

std::string BodyView::TagOf(Vectors by) {
  if (by == Vectors::kEvenOdd) return "kEvenOdd";
  return by == Vectors::kDoubles ? "kDoubles" : "kFloats";
}

void BodyView::LaneLoop(const stage::Lanes& lanes, Fields* fields) {
  const std::string tag = TagOf(lanes.by);
  std::vector<std::string> begins;
  for (const Place& row : lanes.rows) {
    const std::string begin = Pointer(row);
    const std::string name = scope_.Numbered(names_[row.buffer] + "_row");
    begins.push_back("const auto " + name + " = Kept(" + begin + ");");
    rows_.emplace_back(row, name);
  }
  fields->Set("begins", LinesOf(begins));
  lanes_ = lanes.loop;
  fields->Set("lanes_call", lanes.streamed.empty()
                                ? "ForLanes(" + tag + ", " + Count(plan_[lanes.loop].space) + ", "
                                : StreamLanes(lanes, tag));
  // As a function of its own, what is done with some rows at a time would have the step in memory,
  // and load its fields again after each store.
  const bool turns = std::any_of(lanes.body.begin(), lanes.body.end(),
                                 [](const Stage& s) { return Is<stage::For>(s); });
  const bool inside = in_rows_ || in_both_ || turns || lanes.by == Vectors::kEvenOdd;
  fields->Set("lanes_attribute", inside ? "KILN_INLINE_ATTR" : "HWY_ATTR");
  LanesBody(lanes, fields);
  rows_.clear();
}

/// What each call for some of the lanes that have begun does.
void BodyView::LanesBody(const stage::Lanes& lanes, Fields* fields) {
  fields->Set("index", LoopName(lanes.loop));
  streamed_ = lanes.streamed;
  fields->Set("prefetches", LinesOf(PrefetchLines(lanes.prefetches, lanes.loop)));
  loaded_.clear();
  fields->SetList("body", List(lanes.body));
  lanes_ = {};
  streamed_ = {};
  LeaveLoop(lanes.loop);
}

/// Whoever names a row where no loop over them has begun means the first.
void BodyView::SomeRows(const stage::Rows& rows, Fields* fields) {
  const auto* lanes = As<stage::Lanes>(rows.body.front());
  const std::string count =
      rows.loop == part_.loop ? part_.low + ", " + part_.high : Count(plan_[rows.loop].space);
  if (!rows.in_order_of.empty()) {
    const Place& read = rows.in_order_of.front();
    const LoopId inner = rows.others.front();
    fields->Set("rows_call", "ForBoth(" + count + ", " + Count(plan_[inner].space) +
                                 ", ReadOrder(" + names_[read.buffer] + ", " + Stride(read, inner) +
                                 "), ");
    fields->Set("rows_arguments", "size_t " + LoopName(rows.loop) + ", size_t " + LoopName(inner));
  } else if (rows.others.empty()) {
    fields->Set("rows_call", "ForRows(" + count + ", " + (lanes ? RowsToAdd(*lanes) : ""));
    fields->Set("rows_arguments", "auto rows, size_t first");
    loops_[rows.loop] = "first";
  } else {
    std::string each = "size_t " + LoopName(rows.loop);
    for (const LoopId other : rows.others) each += ", size_t " + LoopName(other);
    const std::string some = rows.others.size() == 1 ? "RowPairs(" : "FourRows(";
    fields->Set("rows_call", (rows.again ? "Cover" : "For") + some + count + ", ");
    fields->Set("rows_arguments", each);
  }
  in_rows_ = rows.in_order_of.empty();
  in_both_ = !in_rows_;
  fields->SetList("body", List(rows.body));
  in_rows_ = in_both_ = false;
  for (const LoopId other : rows.others) LeaveLoop(other);
  LeaveLoop(rows.loop);
  fields->SetFlag("has_rest", !rows.rest.empty());
  if (!rows.rest.empty()) fields->Set("row", LoopName(rows.loop));
  fields->SetList("rest", List(rows.rest));
  LeaveLoop(rows.loop);
}

/// Rows, as many as there are lanes, and lanes over them.
void BodyView::Squares(const stage::Rows& rows, Fields* fields) {
  const auto& lanes = *As<stage::Lanes>(rows.body.front());
  const std::string tag = TagOf(lanes.by);
  const std::string count = Count(plan_[rows.loop].space);
  std::string call = "(" + tag + ", " + count + ", " + Count(plan_[lanes.loop].space) + ", ";
  loops_[rows.loop] = "first";
  lanes_ = lanes.loop;
  if (!lanes.streamed.empty())  // by one store
    call += names_[lanes.streamed.front()] + ", " + StreamedFrom(lanes).front() + ", ";
  fields->Set("squares_call", "ForSquares" + call);
  in_rows_ = true;
  LanesBody(lanes, fields);
  in_rows_ = false;
  LeaveLoop(rows.loop);
}

void BodyView::ByParts(const stage::AtEdges& parts, Fields* fields) {
  const auto at = [&](const EdgeWindow& w, LoopId loop, int64_t offset) {
    const ElementPtr behind = offset == 0 ? nullptr : IndexConstant(offset);
    return scalars_.Print(Coordinate{loop, behind, {}, w.step});
  };
  std::string around;
  for (const EdgeWindow& w : parts.around) {
    around += (around.empty() ? "" : ", ") + ("EdgeRows{.axis = " + std::to_string(w.axis)) +
              ", .first = " + at(w, w.loop, w.first) +
              ", .last = " + at(w, w.until ? w.until : w.loop, w.last) + "}";
  }
  const EdgeWindow& along = parts.along;
  const std::string window = "EdgeWindow{.axis = " + std::to_string(along.axis) +
                             ", .step = " + std::to_string(along.step) +
                             ", .first = " + std::to_string(along.first) +
                             ", .last = " + std::to_string(along.last) +
                             ", .together = " + std::to_string(along.together) + "}";
  const SpaceId space = plan_[along.loop].space;
  fields->Set("rows_call", "ForParts(step." + names_[parts.of] + ", {" + around + "}, " + window +
                               ", " + Count(space) + ", ");
  auto& [low, high] = part_names_[space];
  if (low.empty()) {
    low = scope_.New(SpaceName(space) + "_low");
    high = scope_.New(SpaceName(space) + "_high");
  }
  fields->Set("rows_arguments",
              "const auto& " + names_[parts.of] + ", size_t " + low + ", size_t " + high);
  part_ = {along.loop, low, high};
  fields->SetList("body", List(parts.body));
  part_ = {};
  fields->SetFlag("has_rest", false);
}

void BodyView::EachOfRows(const stage::EachRow& each, Fields* fields) {
  std::vector<std::string> columns;
  std::vector<std::string> names;
  for (const Place& column : each.columns) {
    names.push_back(scope_.Numbered(names_[column.buffer] + "_columns"));
    columns.push_back("const Across " + names.back() + "(at, rows, " + Pointer(column) + ", " +
                      Stride(column, lanes_) + ");");
  }
  fields->Set("columns", LinesOf(columns));
  const std::string outside = LoopName(each.loop);
  LeaveLoop(each.loop);
  const std::string row = LoopName(each.loop);
  fields->Set("index", row);
  for (size_t i = 0; i < names.size(); ++i)
    columns_.emplace_back(each.columns[i], names[i] + ".Column(" + row + " - first)");
  fields->SetList("body", List(each.body));
  columns_.clear();
  loops_[each.loop] = outside;
}

bool BodyView::IsStreamed(BufferId buffer) const { return IsAmong(streamed_, buffer); }

/// Where the lanes of streamed outputs begin; of rows taken together those of the first, which all
/// are aligned as.
std::vector<std::string> BodyView::StreamedFrom(const stage::Lanes& lanes) {
  const stage::EachRow* const each = EachRowOf(lanes);
  std::vector<std::string> begins;
  for (const Stage& s : each ? each->body : lanes.body) {
    const auto* store = As<stage::Store>(s);
    if (!store || !IsAmong(lanes.streamed, store->place.buffer)) continue;
    Place first = store->place;
    for (Coordinate& c : first.at) {
      if (c.loop == lanes.loop || (each && c.loop == each->loop)) c.loop = {};
    }
    begins.push_back(Pointer(first));
  }
  return begins;
}

/// The beginning of a call that stores past the caches where all outputs are large and aligned
/// alike.
std::string BodyView::StreamLanes(const stage::Lanes& lanes, const std::string& tag) {
  const std::vector<std::string> begins = StreamedFrom(lanes);
  std::string streams;
  // Rows that are taken together are stored a vector at a time, which has to be whole lines.
  const std::string columns =
      (lanes.by == Vectors::kEvenOdd ? "2 * " : "") + ("hn::Lanes(" + tag + ")");
  for (const BufferId buffer : lanes.streamed) {
    const std::string& name = names_[buffer];
    streams += (streams.empty() ? "" : " && ") +
               (in_rows_ ? "StreamsPieces(" + columns + ", " + name + ")" : name + ".stream");
  }
  if (begins.size() > 1 && !in_rows_) {
    streams += " && AreAlignedAlike(";
    for (const std::string& begin : begins) streams += (&begin == &begins[0] ? "" : ", ") + begin;
    streams += ")";
  }
  const std::string streams_each =
      begins.size() > 1 && !in_rows_ ? "<" + std::to_string(begins.size()) + ">" : "";
  return "StreamLanes" + streams_each + "(" + tag + ", " + Count(plan_[lanes.loop].space) + ", " +
         streams + ", " + begins.front() + ", ";
}

/// A call that asks for a row. Where it begins is the place of the chosen one with another index.
void BodyView::RequestLines(const stage::Request& request, std::vector<std::string>* lines) {
  std::string at = names_[request.by.buffer];
  for (const Coordinate& c : request.by.at) at += ", " + scalars_.Print(c);
  std::vector<std::string> row;
  for (const Coordinate& c : request.row.at) {
    const bool chosen = c.offset && IsNamed(*c.offset, request.chosen);
    row.push_back(chosen ? "static_cast<int64_t>(LoadOne(LaterOf(" + at + ")))" : "0");
  }
  const std::string& block = names_[request.row.buffer];
  lines->push_back("if (" + block + ".stream) {");
  lines->push_back("  PrefetchRow(" + block + ".At(" + Joined(row) + "), " +
                   Count(plan_[request.lanes].space) + ");");
  lines->push_back("}");
}

/// The store to the output that statements do nothing but write.
const stage::Store* BodyView::StreamedStore(const Stages& stages, BufferId streamed) {
  for (const Stage& s : stages) {
    const auto* store = As<stage::Store>(s);
    if (streamed && store && store->place.buffer == streamed) return store;
  }
  return nullptr;
}

/// What is requested in a pass over `lanes`, or as the tiles of a dot begin, long before it is
/// read.
std::vector<std::string> BodyView::PrefetchLines(const std::vector<Prefetch>& prefetches,
                                                 LoopId lanes, const stage::Store* streamed) {
  std::vector<std::string> lines;
  for (const Prefetch& prefetch : prefetches) {
    Place place = prefetch.place, next = place;
    if (prefetch.kind == Prefetch::Kind::kElement) {
      const bool streams = streamed && SamePlace(place, streamed->place);
      lines.push_back((streams ? "at.PrefetchStored(" : "at.PrefetchRead(") + Pointer(place) +
                      ", " + Stride(place, prefetch.row) + ");");
      continue;
    }
    if (prefetch.kind == Prefetch::Kind::kStream && prefetch.by_turns) {
      const std::string to_row = prefetch.row ? ", " + Stride(place, prefetch.row) : "";
      lines.push_back("at.PrefetchParts(" + Pointer(place) + to_row + ");");
      continue;
    }
    if (prefetch.kind == Prefetch::Kind::kStream && !prefetch.row) {
      lines.push_back("at.PrefetchStream(" + Pointer(place) + ");");
      continue;
    }
    if (prefetch.kind == Prefetch::Kind::kRowsToAdd) {
      lines.push_back("PrefetchRowsToAdd(rows, " + Pointer(place) + ", " +
                      Stride(place, prefetch.row) + ");");
      continue;
    }
    if (prefetch.kind == Prefetch::Kind::kAcross) {
      lines.push_back("if (" + names_[place.buffer] + ".stream) PrefetchAcross(at, " +
                      Pointer(place) + ", " + Stride(place, lanes) + ", " + LoopName(lanes) + ", " +
                      Count(plan_[lanes].space) + ");");
      continue;
    }
    for (Coordinate& c : next.at) {
      if (c.loop == prefetch.row) c.offset = IndexConstant(1);
    }
    if (prefetch.kind == Prefetch::Kind::kRowsAhead) {
      lines.push_back("PrefetchRowsAhead(" + Pointer(place) + ", " + Pointer(next) + ");");
      continue;
    }
    place.at.back().loop = next.at.back().loop = {};
    const std::string share = std::to_string(prefetch.from) + ", " + std::to_string(prefetch.to) +
                              ", " + std::to_string(prefetch.parts);
    const std::string function = prefetch.kind == Prefetch::Kind::kStream
                                     ? "at.PrefetchStream("
                                     : "PrefetchNextRow<" + share + ">(";
    const std::string where = prefetch.far ? "if (" + names_[place.buffer] + ".stream) " : "";
    lines.push_back(where + function + Pointer(place) + ", " + Pointer(next) + ", " +
                    LoopName(lanes) + ", " + Count(plan_[lanes].space) + ");");
  }
  return lines;
}

/// What ForRows has to know of the rows that these lanes add up; nothing, if they read none.
std::string BodyView::RowsToAdd(const stage::Lanes& lanes) {
  for (const Prefetch& prefetch : lanes.prefetches) {
    if (prefetch.kind != Prefetch::Kind::kRowsToAdd) continue;
    return "RowsToAdd(" + names_[prefetch.place.buffer] + ", " +
           Stride(prefetch.place, prefetch.row) + ", " + Count(plan_[lanes.loop].space) + "), ";
  }
  return "";
}

}  // namespace kiln::render
