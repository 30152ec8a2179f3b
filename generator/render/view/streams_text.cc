#include <algorithm>

#include "generator/plan/walk.h"
#include "generator/render/view/body_view.h"
#include "generator/render/view/specialization_view.h"

namespace kiln::render {

bool BodyView::IsStreamed(BufferId buffer) const {
  return std::find(streamed_.begin(), streamed_.end(), buffer) != streamed_.end();
}

/// The beginning of a call that stores past the caches where all outputs are large and aligned
/// alike.
std::string BodyView::StreamLanes(const stage::Lanes& lanes, const stage::EachRow* each,
                                  const std::string& tag) {
  std::vector<std::string> begins;  // where the lanes do
  std::string streams;
  for (const Stage& s : each ? each->body : lanes.body) {
    const auto* store = As<stage::Store>(s);
    if (!store || !IsStreamed(store->place.buffer)) continue;
    // Of rows taken together those of the first, which all are aligned as.
    Place first = store->place;
    for (Coordinate& c : first.at) {
      if (c.loop == lanes.loop || (each && c.loop == each->loop)) c.loop = {};
    }
    begins.push_back(Pointer(first));
  }
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
  return "StreamLanes(" + tag + ", " + Count(plan_[lanes.loop].space) + ", " + streams + ", " +
         begins.front() + ", ";
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
