#include "generator/render/view/body_view.h"

namespace kiln::render {

void BodyView::Dot(const Stage& stage, Fields* fields) {
  const auto source = [&](const PanelSource& s) {
    if (s.ref >= 0) return names_.buffers[static_cast<size_t>(s.ref)];
    return names_.panels[static_cast<size_t>(s.panels)];
  };
  const std::string left = source(stage.left), right = source(stage.right);
  fields->Set("left", left);
  const bool ranged = stage.low || stage.high;
  fields->SetFlag("ranged", ranged);
  fields->Set("low", stage.low ? scalars_.Print(*stage.low) : "0");
  fields->Set("high",
              stage.high ? scalars_.Print(*stage.high) : "static_cast<int64_t>(" + left + ".rows)");
  fields->Set("rows", ranged ? "live" : left + ".rows");
  fields->Set("right", right);
  fields->Set("element", StorageType(stage.element));
  const std::string acc_tag = stage.element == DType::kI8 || stage.element == DType::kI32 ? "kInts"
                              : stage.element == DType::kF64 ? "kDoubles"
                                                             : "kFloats";
  std::vector<std::string> lines;
  lanes_ = stage.col;
  loaded_.clear();
  std::string start;
  const bool own = stage.start && stage.start->kind == Element::Kind::kLoad &&
                   stage.start->place.buffer == plan_.accumulator;
  if (own) {
    start = "hn::Load(" + acc_tag + ", " + Pointer(stage.start->place) + ")";
  } else if (stage.start) {
    start = Vector(stage.start, &lines);
  } else {
    start = "hn::Zero(" + acc_tag + ")";
  }
  const Stage* const streamed = StreamedStore(stage.body, stage.col);
  for (std::string& line : PrefetchLines(stage, streamed)) lines.push_back(std::move(line));
  fields->SetFlag("streams", streamed != nullptr);
  if (streamed) fields->Set("to", names_.buffers[static_cast<size_t>(streamed->place.buffer)]);
  fields->Set("start", start);
  fields->SetFlag("short_start", !stage.start && lines.empty());
  fields->Set("start_lines", LinesOf(lines));
  // Parameters that the text does not mention have no names.
  const auto parameter = [&](int loop) {
    return loops_.count(loop) ? "size_t " + LoopName(loop) : std::string("size_t");
  };
  fields->Set("start_at", (own || !stage.start) && !streamed ? "auto" : "auto at");
  fields->Set("start_row", parameter(stage.row));
  fields->Set("start_col", parameter(stage.col));
  loaded_.clear();
  vectors_.insert(stage.variable);
  fields->Set("sum", VariableName(stage.variable));
  fields->SetList("body", List(stage.body));
  bool uses_at = false;
  for (const Stage& s : stage.body) {
    uses_at = uses_at || s.kind != Stage::Kind::kStore || s.place.buffer != plan_.accumulator;
  }
  fields->Set("at", uses_at ? "auto at" : "auto");
  fields->Set("row", parameter(stage.row));
  fields->Set("col", parameter(stage.col));
  lanes_ = -1;
  LeaveLoop(stage.row);
  LeaveLoop(stage.col);
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
  const bool left = panels.side == Side::kLeft;
  std::string rows = Count(plan_.loops[static_cast<size_t>(stage.pack_row)]);
  std::string cols = Count(plan_.loops[static_cast<size_t>(stage.pack_col)]);
  std::string corner = Pointer(CornerOf(stage));
  if (stage.live >= 0) {
    const std::string& live = names_.lives[static_cast<size_t>(stage.live)];
    const int depth = left ? stage.pack_col : stage.pack_row;
    std::string& count = left ? cols : rows;
    if (stage.live == stage.panels) {
      const auto bound = [&](const ElementPtr& e, const std::string& none) {
        return e ? scalars_.Print(*e) : none;
      };
      lines->push_back("const RowRange " + live + " = Within(  // elsewhere both operands are 0");
      lines->push_back("    " + bound(stage.low, "0") + ",");
      lines->push_back("    " + bound(stage.high, count) + ",");
      lines->push_back("    " + count + ");");
    }
    corner += " + static_cast<int64_t>(" + live + ".begin) * " + Stride(stage.place, depth);
    count = live + ".end - " + live + ".begin";
  }
  lines->push_back("const auto " + name + " = " + (left ? "PackA<" : "PackB<") +
                   StorageType(panels.element) + ">(");
  lines->push_back("    Tile<const " + StorageType(buffer.dtype) + ", 2>{" + corner + ", {" +
                   Stride(stage.place, stage.pack_row) + ", " +
                   Stride(stage.place, stage.pack_col) + "}},");
  lines->push_back("    " + rows + ", " + cols + ", " + name + "_memory);");
}

}  // namespace kiln::render
