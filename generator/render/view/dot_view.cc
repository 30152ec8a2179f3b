#include <algorithm>
#include <optional>

#include "generator/plan/scaled.h"
#include "generator/plan/walk.h"
#include "generator/render/view/body_view.h"
#include "generator/render/view/mentions.h"

namespace kiln::render {
namespace {

std::string FunctionOf(stage::InPlace in_place) {
  switch (in_place) {
    case stage::InPlace::kNever:
      return "Pack";
    case stage::InPlace::kIfSmall:
      return "Small";
    case stage::InPlace::kAlways:
      return "Matrix";
  }
  __builtin_unreachable();
}

/// What a lambda captures that is these stages and these lines: what it reads by value, so that it
/// stays in registers, but for what is no value.
std::string CapturesOf(const std::vector<Fields>& stages, const std::string& lines) {
  std::string captures = "=";
  for (const char* name : {"core", "call"})
    if (Mentions(stages, name) || Mentions(lines, name)) captures += std::string(", &") + name;
  return captures;
}

}  // namespace

void BodyView::Product(const stage::Dot& dot, Fields* fields) {
  fields->SetFlag("ranged", dot.low || dot.high);
  fields->SetFlag("has_taps", !dot.taps.empty());
  fields->Set("element", StorageType(dot.element));
  fields->Set("multiply", dot.b.panels && computed_.count(dot.b.panels) > 0 ? "MultiplyComputed"
                                                                            : "MultiplyTiles");
  if (dot.taps.empty())
    MatricesOf(dot, fields);
  else
    TapsOf(dot, fields);
  if (dot.in_rows) return SumsInRows(dot, fields);

  // Sums that are the accumulators stay where they are: nothing loads or stores them here.
  Stages finish = dot.body;
  std::optional<Place> sums = TakeKeptSums(dot, &finish);
  const Place* start_at = dot.start ? LoadedBy(*dot.start) : nullptr;
  const bool goes_on = start_at && plan_.IsAccumulator(start_at->buffer);
  if (!sums && goes_on) sums = *start_at;
  fields->Set("sums", dot.across_steps ? "SumsOf(when, " + names_[sums->buffer] + ", " +
                                             AccumulatorRows(*sums) + ")"
                      : sums ? SumsOf(*sums, !goes_on)
                             : "TileSums()");
  StartAndFinish(dot, goes_on ? nullptr : dot.start, finish, fields);
}

void BodyView::MatricesOf(const stage::Dot& dot, Fields* fields) {
  const std::string a = SourceName(dot.a);
  fields->Set("a", a);
  fields->Set("low", dot.low ? scalars_.Print(*dot.low) : "0");
  fields->Set("high", dot.high ? scalars_.Print(*dot.high) : "Signed(" + a + ".rows)");
  fields->Set("rows", dot.low || dot.high ? "live" : a + ".rows");
  fields->Set("b", SourceName(dot.b));
}

/// Where the sums are kept as they come out of the tiles; the statement that says so is taken from
/// the list.
std::optional<Place> BodyView::TakeKeptSums(const stage::Dot& dot, Stages* finish) {
  for (auto i = finish->begin(); i != finish->end(); ++i) {
    const auto* store = As<stage::Store>(*i);
    if (!store || !KeepsSums(plan_, dot, *store)) continue;
    const Place sums = store->place;
    finish->erase(i);
    return sums;
  }
  return std::nullopt;
}

/// The functions that a product calls for each vector: what its sums start from, if that is not
/// zero, and what becomes of them.
void BodyView::StartAndFinish(const stage::Dot& dot, const ElementPtr& from, const Stages& finish,
                              Fields* fields) {
  std::vector<std::string> lines;
  lanes_ = dot.col;
  loaded_.clear();
  std::string start;
  if (from) start = Vector(from, &lines);
  const stage::Store* const streamed = StreamedStore(finish, dot.streamed);
  for (std::string& line : PrefetchLines(dot.prefetches, dot.col, streamed))
    lines.push_back(std::move(line));
  if (!start.empty()) lines.push_back("return " + start + ";");
  const bool has_start = !lines.empty(), has_finish = !finish.empty();
  fields->SetFlag("has_start", has_start);
  fields->Set("start_lines", LinesOf(lines));
  fields->Set("start_captures", CapturesOf({}, LinesOf(lines)));
  std::string functions;
  if (has_start || has_finish) functions += has_start ? ", start" : ", Nothing()";
  if (has_finish) functions += ", finish";
  if (streamed) functions += ", " + names_[streamed->place.buffer];
  fields->Set("functions", functions);
  // Parameters that the text does not mention have no names.
  const auto parameter = [&](LoopId loop) {
    return loops_.count(loop) ? "size_t " + LoopName(loop) : std::string("size_t");
  };
  fields->Set("start_at", Mentions(LinesOf(lines), "at") ? "auto at" : "auto");
  fields->Set("start_row", parameter(dot.row));
  fields->Set("start_col", parameter(dot.col));
  loaded_.clear();
  vectors_.insert(dot.sum);
  fields->SetFlag("has_finish", has_finish);
  fields->Set("sum", VariableName(dot.sum));
  std::vector<Fields> body = List(finish);
  fields->Set("captures", CapturesOf(body, ""));
  fields->SetList("body", std::move(body));
  fields->Set("at", "auto at");
  fields->Set("row", parameter(dot.row));
  fields->Set("col", parameter(dot.col));
  lanes_ = {};
  LeaveLoop(dot.row);
  LeaveLoop(dot.col);
}

std::string BodyView::SourceName(const PanelSource& source) {
  std::string at;
  for (const ElementPtr& index : source.matrix)
    at += (at.empty() ? ".At(" : ", ") + scalars_.Print(*index);
  return (source.ref ? names_[source.ref] : names_[source.panels]) + at + (at.empty() ? "" : ")");
}

/// What all windows have in common, and the statements that add them to the list.
void BodyView::TapsOf(const stage::Dot& dot, Fields* fields) {
  const stage::Tap* tap = nullptr;
  ForEachStage(dot.taps, [&](const Stage& s) {
    if (!tap) tap = As<stage::Tap>(s);
  });
  taps_ = scope_.Numbered("products");
  std::string rows;
  for (const LoopId loop : tap->rows) {
    rows += (rows.empty() ? "{" : ", {") + Count(plan_[loop].space) + ", " +
            Stride(tap->place, loop) + "}";
  }
  fields->Set("taps_name", taps_);
  fields->Set("rows", Count(plan_[dot.row].space));
  fields->Set("most_taps", std::to_string(dot.tap_count));
  fields->Set("tap_rows", "{" + rows + "}");
  fields->Set("depth", Count(dot.depth));
  fields->Set("gathered", dot.gathered ? ", step." + names_[dot.gathered] + "_memory" : "");
  fields->SetList("taps", List(dot.taps));
}

void BodyView::TapLines(const stage::Tap& tap, std::vector<std::string>* lines) {
  Place first = tap.place;
  for (Coordinate& c : first.at) {
    const bool walked = c.loop == tap.depth ||
                        std::find(tap.rows.begin(), tap.rows.end(), c.loop) != tap.rows.end();
    if (walked) c.loop = {};
  }
  lines->push_back(taps_ + ".Add(" + Pointer(first) + ", " + SourceName(tap.b) + ");");
}

/// The dot does nothing but add to rows of a block, or set them.
void BodyView::SumsInRows(const stage::Dot& dot, Fields* fields) {
  const Place& place = As<stage::Store>(dot.body.front())->place;
  const std::string zero = dot.across_steps ? FirstStep() : dot.start ? "false" : "true";
  fields->Set("sums", "SumsInRows(" + Pointer(CornerOf(place, dot.row, dot.col)) + ", " +
                          Stride(place, dot.row) + ", /*from_zero=*/" + zero + ")");
  fields->Set("functions", "");
  fields->SetFlag("has_start", false);
  fields->SetFlag("has_finish", false);
}

/// The accumulators of the block that a place is in.
std::string BodyView::SumsOf(const Place& place, bool from_zero) {
  return "Accumulators(" + names_[place.buffer] + ", " + AccumulatorRows(place) +
         ", /*from_zero=*/" + (from_zero ? "true" : "false") + ")";
}

/// A matrix begins where both of its loops are at 0.
Place BodyView::CornerOf(Place place, LoopId row, LoopId col) {
  for (Coordinate& c : place.at) {
    if (c.loop == row || c.loop == col) c.loop = {};
  }
  return place;
}

/// Where elements of few bits are scaled, as their copy packs them or few rows multiply them.
void BodyView::ScaledPanels(const stage::Pack& pack, Fields* fields) {
  const Scaled scaled = *ScaledBy(plan_, pack);
  const std::string rows = Count(pack.others), depth = Count(plan_[pack.row].space);
  fields->Set("name", names_[pack.panels]);
  fields->Set("memory", "step." + names_[pack.panels] + "_memory");
  fields->Set("types", StorageType(plan_[pack.panels].element) +
                           (scaled.run == 0 ? "" : ", " + std::to_string(scaled.run)));
  fields->Set("stored", Matrix(scaled.stored, pack.row, pack.col));
  fields->Set("extents", depth + ", " + Count(plan_[pack.col].space));
  fields->Set(
      "rows",
      rows + ", " +
          (pack.rows_of_call ? "Unsigned(" + scalars_.Print(*pack.rows_of_call) + ")" : rows));
  fields->SetFlag("has_scale", bool(scaled.scale));
  fields->Set("row", scaled.run == 0 ? "" : " " + LoopName(pack.row));
  fields->Set("index", LoopName(pack.col));
  std::vector<std::string> lines;
  lanes_ = pack.col;
  loaded_.clear();
  std::string value;
  if (scaled.scale) value = Vector(scaled.scale, &lines, /*whole=*/true);
  fields->Set("captures", CapturesOf({}, LinesOf(lines) + value));
  fields->Set("value", value);
  fields->Set("lines", LinesOf(lines));
  lanes_ = {};
  LeaveLoop(pack.col);
  LeaveLoop(pack.row);
  computed_.insert(pack.panels);
}

/// A matrix in memory, whose rows and columns the loops walk: all of a block, or a part of one.
std::string BodyView::Matrix(const Place& place, LoopId row, LoopId col) {
  const bool whole = place.at.size() == 2 && place.at[0].IsPlain() && place.at[1].IsPlain();
  if (whole && plan_.RefOf(place.buffer)) return names_[place.buffer];
  return MatrixAt(Pointer(CornerOf(place, row, col)), place, row, col);
}
std::string BodyView::MatrixAt(const std::string& corner, const Place& place, LoopId row,
                               LoopId col) {
  return "Tile<const " + StorageType(plan_[place.buffer].dtype) + ", 2>{" + corner + ", {" +
         Stride(place, row) + ", " + Stride(place, col) + "}}";
}

/// Where the elements of an operand are computed, as its copy packs them.
void BodyView::ComputedPanels(const stage::Pack& pack, Fields* fields) {
  const Panels& panels = plan_[pack.panels];
  const std::string& name = names_[pack.panels];
  const bool is_a = panels.side == Side::kA;
  const std::string rows_of_a = is_a ? "" : Count(pack.others) + ", ";
  const char* const function = is_a ? "PackAOf<" : pack.by_columns ? "PackBTOf<" : "PackBOf<";
  fields->Set("name", name);
  fields->Set("memory", "step." + name + "_memory");
  fields->Set("function", function + StorageType(panels.element) + ">");
  fields->Set("extents",
              rows_of_a + Count(plan_[pack.row].space) + ", " + Count(plan_[pack.col].space));
  fields->Set("row", LoopName(pack.by_columns ? pack.col : pack.row));
  fields->Set("index", LoopName(LanesOf(pack)));
  lanes_ = LanesOf(pack);
  loaded_.clear();
  const int line = last_line_;
  std::vector<Fields> body = List(pack.body);
  last_line_ = line;
  std::vector<std::string> lines = PrefetchLines(pack.prefetches, LanesOf(pack), nullptr);
  const std::string value = VectorToStore(pack.value, panels.element, &lines);
  fields->Set("captures", CapturesOf(body, LinesOf(lines) + value));
  fields->SetList("body", std::move(body));
  fields->Set("value", value);
  fields->Set("lines", LinesOf(lines));
  lanes_ = {};
  LeaveLoop(pack.col);
  LeaveLoop(pack.row);
  if (!is_a) computed_.insert(pack.panels);
}

void BodyView::PackLines(const stage::Pack& pack, std::vector<std::string>* lines) {
  const Panels& panels = plan_[pack.panels];
  const std::string& name = names_[pack.panels];
  const bool is_a = panels.side == Side::kA;
  std::string rows = Count(plan_[pack.row].space);
  std::string cols = Count(plan_[pack.col].space);
  std::string corner = Pointer(CornerOf(pack.place, pack.row, pack.col));
  if (pack.live) {
    const std::string& live = names_.lives[pack.live];
    const LoopId depth = is_a ? pack.col : pack.row;
    std::string& count = is_a ? cols : rows;
    if (pack.live == pack.panels) {
      const auto bound = [&](const ElementPtr& e, const std::string& none) {
        return e ? scalars_.Print(*e) : none;
      };
      lines->push_back("const RowRange " + live + " = Within(  // elsewhere both operands are 0");
      lines->push_back("    " + bound(pack.low, "0") + ",");
      lines->push_back("    " + bound(pack.high, count) + ",");
      lines->push_back("    " + count + ");");
    }
    corner += " + Signed(" + live + ".begin) * " + Stride(pack.place, depth);
    count = live + ".end - " + live + ".begin";
  }
  const std::string function = FunctionOf(pack.in_place) + (is_a ? "A" : "B");
  const std::string for_others = pack.others ? "For" : "";
  lines->push_back("const auto " + name + " = " + function + for_others + "<" +
                   StorageType(panels.element) + ">(");
  lines->push_back("    " + (pack.others ? Count(pack.others) + ", " : "") +
                   MatrixAt(corner, pack.place, pack.row, pack.col) + ",");
  const std::string memory = NeedsMemory(plan_, pack) ? ", step." + name + "_memory" : "";
  const BufferId buffer = pack.place.buffer;
  const bool in_pages = plan_[RootOf(plan_, buffer)].in_pages;
  const std::string pages = in_pages ? ", copies.PagesOf(" + names_[buffer] + ".data)" : "";
  lines->push_back("    " + rows + ", " + cols + memory + pages + ");");
}

}  // namespace kiln::render
