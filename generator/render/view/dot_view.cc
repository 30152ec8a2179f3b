#include <optional>

#include "generator/render/view/body_view.h"

namespace kiln::render {

void BodyView::Dot(const Stage& stage, Fields* fields) {
  const auto source = [&](const PanelSource& s) {
    if (s.ref >= 0) return names_.buffers[static_cast<size_t>(s.ref)];
    return names_.panels[static_cast<size_t>(s.panels)];
  };
  const std::string a = source(stage.a), b = source(stage.b);
  fields->Set("a", a);
  const bool ranged = stage.low || stage.high;
  fields->SetFlag("ranged", ranged);
  fields->Set("low", stage.low ? scalars_.Print(*stage.low) : "0");
  fields->Set("high", stage.high ? scalars_.Print(*stage.high) : "Signed(" + a + ".rows)");
  fields->Set("rows", ranged ? "live" : a + ".rows");
  fields->Set("b", b);
  fields->Set("element", StorageType(stage.element));
  // Sums that are the accumulators stay where they are: nothing loads or stores them here.
  const auto is_sum = [&](const Place& place) {
    return place.buffer == plan_.accumulator && place.buffer >= 0;
  };
  const bool goes_on =
      stage.start && stage.start->kind == Element::Kind::kLoad && is_sum(stage.start->place);
  Stages finish = stage.body;
  std::optional<Place> sums;
  if (goes_on) sums = stage.start->place;
  for (size_t i = 0; i < finish.size(); ++i) {
    const Stage& s = finish[i];
    if (s.kind != Stage::Kind::kStore || s.mask || !is_sum(s.place) ||
        s.value->kind != Element::Kind::kVariable || s.value->index != stage.variable)
      continue;
    sums = s.place;
    finish.erase(finish.begin() + static_cast<ptrdiff_t>(i));
    break;
  }
  fields->Set("sums", stage.across_steps
                          ? "SumsOf<When>(" + names_.buffers[static_cast<size_t>(sums->buffer)] +
                                ", " + AccumulatorRows(*sums) + ")"
                      : sums ? SumsOf(*sums, !goes_on)
                             : "TileSums()");
  const auto function = [&](const std::string& name) {
    return stage.across_steps ? ", AtEnd<When>(" + name + ")" : ", " + name;
  };

  std::vector<std::string> lines;
  lanes_ = stage.col;
  loaded_.clear();
  std::string start;
  if (stage.start && !goes_on) start = Vector(stage.start, &lines);
  const Stage* const streamed = StreamedStore(finish, stage.col);
  for (std::string& line : PrefetchLines(stage, streamed)) lines.push_back(std::move(line));
  if (!start.empty()) lines.push_back("return " + start + ";");
  const bool has_start = !lines.empty(), has_finish = !finish.empty();
  fields->SetFlag("has_start", has_start);
  fields->Set("start_lines", LinesOf(lines));
  std::string functions;
  if (has_start || has_finish) functions += has_start ? function("start") : ", Nothing()";
  if (has_finish) functions += function("finish");
  if (streamed) functions += ", " + names_.buffers[static_cast<size_t>(streamed->place.buffer)];
  fields->Set("functions", functions);
  // Parameters that the text does not mention have no names.
  const auto parameter = [&](int loop) {
    return loops_.count(loop) ? "size_t " + LoopName(loop) : std::string("size_t");
  };
  fields->Set("start_at", start.empty() && !streamed ? "auto" : "auto at");
  fields->Set("start_row", parameter(stage.row));
  fields->Set("start_col", parameter(stage.col));
  loaded_.clear();
  vectors_.insert(stage.variable);
  fields->SetFlag("has_finish", has_finish);
  fields->Set("sum", VariableName(stage.variable));
  fields->SetList("body", List(finish));
  fields->Set("at", "auto at");
  fields->Set("row", parameter(stage.row));
  fields->Set("col", parameter(stage.col));
  lanes_ = -1;
  LeaveLoop(stage.row);
  LeaveLoop(stage.col);
}

/// The accumulators of the block that a place is in.
std::string BodyView::SumsOf(const Place& place, bool from_zero) {
  return "Accumulators(" + names_.buffers[static_cast<size_t>(place.buffer)] + ", " +
         AccumulatorRows(place) + ", /*from_zero=*/" + (from_zero ? "true" : "false") + ")";
}

/// A packed matrix begins where both of its loops are at 0.
Place BodyView::CornerOf(const Stage& pack) {
  Place corner = pack.place;
  for (Coordinate& c : corner.at) {
    if (c.loop == pack.pack_row || c.loop == pack.pack_col) c.loop = -1;
  }
  return corner;
}

void BodyView::Pack(const Stage& stage, std::vector<std::string>* lines) {
  const Panels& panels = plan_.panels[static_cast<size_t>(stage.panels)];
  const std::string& name = names_.panels[static_cast<size_t>(stage.panels)];
  const Buffer& buffer = plan_.buffers[static_cast<size_t>(stage.place.buffer)];
  const bool is_a = panels.side == Side::kA;
  std::string rows = Count(plan_.loops[static_cast<size_t>(stage.pack_row)]);
  std::string cols = Count(plan_.loops[static_cast<size_t>(stage.pack_col)]);
  std::string corner = Pointer(CornerOf(stage));
  if (stage.live >= 0) {
    const std::string& live = names_.lives[static_cast<size_t>(stage.live)];
    const int depth = is_a ? stage.pack_col : stage.pack_row;
    std::string& count = is_a ? cols : rows;
    if (stage.live == stage.panels) {
      const auto bound = [&](const ElementPtr& e, const std::string& none) {
        return e ? scalars_.Print(*e) : none;
      };
      lines->push_back("const RowRange " + live + " = Within(  // elsewhere both operands are 0");
      lines->push_back("    " + bound(stage.low, "0") + ",");
      lines->push_back("    " + bound(stage.high, count) + ",");
      lines->push_back("    " + count + ");");
    }
    corner += " + Signed(" + live + ".begin) * " + Stride(stage.place, depth);
    count = live + ".end - " + live + ".begin";
  }
  lines->push_back("const auto " + name + " = " + (is_a ? "PackA<" : "PackB<") +
                   StorageType(panels.element) + ">(");
  lines->push_back("    Tile<const " + StorageType(buffer.dtype) + ", 2>{" + corner + ", {" +
                   Stride(stage.place, stage.pack_row) + ", " +
                   Stride(stage.place, stage.pack_col) + "}},");
  lines->push_back("    " + rows + ", " + cols + ", " + name + "_memory);");
}

}  // namespace kiln::render
