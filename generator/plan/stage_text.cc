#include "generator/plan/stage_text.h"

namespace kiln {
namespace {

std::string EndText(End end) { return end == End::kFirst ? "first" : "last"; }

std::string PanelsName(PanelsId panels) { return "panels#" + std::to_string(panels.number()); }

std::string HowTaken(stage::InPlace in_place) {
  switch (in_place) {
    case stage::InPlace::kNever:
      return "pack ";
    case stage::InPlace::kIfSmall:
      return "pack, unless small, ";
    case stage::InPlace::kAlways:
      return "take ";
  }
  __builtin_unreachable();
}

}  // namespace

std::string StageText::Lines(const Stages& stages, int indent) {
  out_.clear();
  List(stages, indent);
  return std::move(out_);
}

void StageText::Line(const std::string& text, int indent) {
  out_ += std::string(static_cast<size_t>(indent) * 2, ' ') + text + "\n";
}

std::string StageText::BufferName(BufferId buffer) const {
  const Buffer& b = plan_[buffer];
  if (b.ref && !b.found) return b.name;
  return (b.name.empty() ? "value" : b.name) + "#" + std::to_string(buffer.number());
}

std::string StageText::UnlessFew(const stage::Pack& pack) const {
  const char* const which = plan_[pack.panels].side == Side::kA ? "columns" : "rows";
  return ", unless few " + std::string(which) + " of " + SpaceName(pack.others) + " use it";
}

std::string StageText::VariableName(VariableId variable) const {
  const Variable& v = plan_[variable];
  const std::string number = "#" + NumberOf(variable, &variables_);
  return canonical_ || v.name.empty() ? "v" + number : v.name + number;
}

std::string StageText::PlaceText(const Place& place) const {
  std::string text;
  for (const Coordinate& c : place.at) {
    std::string at = c.loop ? LoopName(c.loop) : "";
    if (c.loop && c.stride != 1) at += " * " + std::to_string(c.stride);
    if (c.offset) at += (at.empty() ? "" : " + ") + Text(*c.offset);
    if (at.empty()) at = "0";
    if (c.around) at = "(" + at + ") % " + c.around->ToString();
    text += (text.empty() ? "" : ", ") + at;
  }
  return BufferName(place.buffer) + "[" + text + "]";
}

std::string StageText::Text(const Element& e) const {
  using namespace element;
  return Match(
      e,
      [&](const Constant& constant) {
        Node node;
        node.dtype = e.dtype;
        node.int_value = constant.int_value;
        node.float_value = constant.float_value;
        return ToString(node, kernel_);
      },
      [&](const element::Operation& operation) { return OperationText(operation, e.dtype); },
      [&](const Load& load) { return PlaceText(load.place); },
      [&](const Named& named) { return VariableName(named.variable); },
      [&](const Scalar& scalar) { return NameOf(scalar.ref); },
      [&](const Step& step) { return NameOf(step.axis); },
      [&](const Steps& steps) { return "steps(" + NameOf(steps.axis) + ")"; },
      [&](const Extent& extent) { return kernel_[extent.dim].name; },
      [&](const IsStep& is) { return EndText(is.end) + "(" + NameOf(is.axis) + ")"; },
      [&](const IsVisit& is) { return EndText(is.end) + "(" + NameOf(is.ref) + ")"; },
      [&](const Iteration& iteration) { return LoopName(iteration.loop); },
      [&](const Edge& edge) {
        static constexpr const char* kNames[] = {"low", "high", "origin"};
        return std::string(kNames[static_cast<int>(edge.which)]) + "(" + NameOf(edge.ref) + ", " +
               std::to_string(edge.axis) + ")";
      },
      [](const NoValue&) { return std::string(); });  // no argument of the text
}

std::string StageText::OperationText(const element::Operation& operation, DType dtype) const {
  std::string args;
  for (const ElementPtr& arg : operation.args) {
    if (!Is<element::NoValue>(*arg)) args += (args.empty() ? "" : ", ") + Text(*arg);
  }
  const Op op = operation.op;
  return std::string(op == Op::kCast ? Name(dtype) : Name(op)) + "(" + args + ")";
}

std::string StageText::SourceText(const PanelSource& source) const {
  std::string at;
  for (const ElementPtr& index : source.matrix) at += (at.empty() ? "[" : ", ") + Text(*index);
  return (source.ref ? NameOf(source.ref) : PanelsName(source.panels)) + at +
         (at.empty() ? "" : "]");
}

std::string StageText::SlotText(const SemaphoreSlot& on) const {
  std::string out;
  for (const ElementPtr& at : on.at) out += (out.empty() ? "[" : ", ") + Text(*at);
  return NameOf(on.ref) + out + "]";
}

std::string StageText::StoreText(const stage::Store& store) const {
  std::string row;
  for (const ElementPtr& behind : store.row) row += ", " + Text(*behind);
  return PlaceText(store.place) + (row.empty() ? "" : " and those behind it") + " = " +
         Text(*store.value) + row + (store.mask ? " where " + Text(*store.mask) : "");
}

void StageText::List(const Stages& stages, int indent) {
  for (const Stage& stage : stages) One(stage, indent);
}

void StageText::Prefetches(const std::vector<Prefetch>& prefetches, int indent) {
  for (const Prefetch& a : prefetches) {
    std::string what;
    if (a.kind == Prefetch::Kind::kStream)
      what = a.by_turns ? "later lanes by turns of " : "later lanes of ";
    if (a.kind == Prefetch::Kind::kRowsAhead) what = "later rows of ";
    if (a.kind == Prefetch::Kind::kRowsToAdd) what = "the rows to add next, of ";
    if (a.kind == Prefetch::Kind::kAcross) what = "later squares of ";
    if (a.kind == Prefetch::Kind::kNextRow) {
      what = "the row after ";
      if (a.to - a.from < a.parts)
        what = "parts " + std::to_string(a.from) + " to " + std::to_string(a.to) + " of " +
               std::to_string(a.parts) + " of " + what;
    }
    Line("prefetches " + what + PlaceText(a.place) + (a.far ? ", if it is in memory" : ""), indent);
  }
}

void StageText::One(const Stage& of, int indent) {
  using namespace stage;
  const auto line = [&](const std::string& text) { Line(text, indent); };
  const auto over = [&](LoopId loop) { return LoopName(loop) + " over " + SpaceText(loop); };
  const auto within = [&](const Stages& body) { List(body, indent + 1); };
  Match(
      of,
      [&](const stage::Loop& s) {
        line("loop " + over(s.loop));
        within(s.body);
      },
      [&](const Lanes& s) { LaneLines(s, indent); },
      [&](const Rows& s) {
        if (!s.in_order_of.empty()) {
          line("loops " + over(s.loop) + ", " + over(s.others.front()) + ", or in the order of " +
               PlaceText(s.in_order_of.front()));
          return within(s.body);
        }
        std::string rows = s.others.empty() ? "" : ", " + LoopName(s.loop);
        for (const LoopId other : s.others) rows += ", " + LoopName(other);
        line((s.as_lanes ? "as many rows as lanes over " : "some rows at a time over ") +
             SpaceText(s.loop) + rows);
        within(s.body);
        if (s.rest.empty()) return;
        line((s.again ? "what is too few, " : "what is left over, ") + LoopName(s.loop));
        within(s.rest);
      },
      [&](const EachRow& s) {
        line("each of them, " + LoopName(s.loop));
        for (const Place& c : s.columns) Line("transposes " + PlaceText(c), indent + 1);
        within(s.body);
      },
      [&](const AtEdges& s) { EdgeLines(s, indent); },
      [&](const Request& s) {
        line("asks for the row of " + PlaceText(s.row) + " that a later one of " + PlaceText(s.by) +
             " chooses");
      },
      [&](const Define& s) {
        line((s.in_order ? "hold in order "
              : s.held   ? "hold "
                         : "let ") +
             VariableName(s.variable) + " = " + Text(*s.value));
      },
      [&](const Assign& s) { line(VariableName(s.variable) + " = " + Text(*s.value)); },
      [&](const Store& s) { line(StoreText(s)); }, [&](const Reduce& s) { ReduceLines(s, indent); },
      [&](const Dot& s) { DotLines(s, indent); },
      [&](const Tap& s) {
        std::string rows;
        for (const LoopId loop : s.rows) rows += (rows.empty() ? "" : ", ") + over(loop);
        line("tap " + PlaceText(s.place) + " @ " + SourceText(s.b) + ", rows " + rows +
             ", columns " + over(s.depth));
      },
      [&](const Pack& s) {
        line(HowTaken(s.in_place) + PanelsName(s.panels) + (s.by_columns ? ", by columns," : "") +
             (s.value ? " of " + Text(*s.value) : " from " + PlaceText(s.place)) + ", rows " +
             over(s.row) + ", columns " + over(s.col) +
             (s.low ? ", depth from " + Text(*s.low) : "") +
             (s.high ? ", depth before " + Text(*s.high) : "") +
             (s.others && !s.value ? UnlessFew(s) : "") + (s.body.empty() ? "" : ", after"));
        Prefetches(s.prefetches, indent + 1);
        if (s.scaled) {
          Line("rows of A, if few, multiply what is stored" +
                   (s.rows_of_call ? ": " + s.rows_of_call->ToString() + " in the call" : ""),
               indent + 1);
        }
        within(s.body);
      },
      [&](const Along& s) {
        const auto walked = [&](LoopId loop) { return loop ? ", " + over(loop) : ""; };
        line(PlaceText(s.to) + (s.into == s.loop ? "" : walked(s.into)) + " = " +
             std::string(Name(s.op)) + (s.descending ? ", descending," : "") + " of " +
             PlaceText(s.from) + walked(s.loop) +
             (s.lines ? ", side by side" + walked(s.lines) : "") +
             (s.room ? ", by way of " + BufferName(s.room->buffer) : "") +
             (s.streamed ? ", past the caches" : ""));
      },
      [&](const If& s) {
        line("when " + Text(*s.condition) + ":");
        within(s.body);
        if (s.orelse.empty()) return;
        line("else:");
        within(s.orelse);
      },
      [&](const For& s) {
        line("for " + VariableName(s.variable) + " from " + Text(*s.low) + " to " + Text(*s.high) +
             ":");
        within(s.body);
      },
      [&](const While& s) {
        line("while" + (s.most ? ", at most " + Text(*s.most) + " turns" : "") + ":");
        within(s.before);
        Line("leave unless " + Text(*s.condition), indent + 1);
        within(s.body);
      },
      [&](const Assert& s) { line("assert " + Text(*s.condition)); },
      [&](const Range& s) {
        line("check 0 <= " + Text(*s.start) + " <= " + Text(*s.extent) + " - " + Text(*s.size) +
             " of " + s.of);
      },
      [&](const Touch& s) {
        line("check that " + PlaceText(s.window.begin) + " may be " +
             (s.writes ? "written" : "read") + (s.seen_as ? ", as " + BufferName(s.seen_as) : ""));
        if (s.ahead) Line("Direct: where " + PlaceText(s.ahead->begin) + " is", indent + 1);
      },
      [&](const Copy& s) {
        line("copy " + PlaceText(s.from.begin) + " to " + PlaceText(s.to.begin) + " on " +
             SlotText(s.on));
      },
      [&](const Wait& s) {
        const std::string window =
            s.window ? "the bytes of " + PlaceText(s.window->begin) + " on " : "";
        line("wait for " + window + SlotText(s.on));
      });
}

void StageText::By(Vectors by, int indent) {
  if (by == Vectors::kDoubles) Line("lanes of 64 bits", indent);
  if (by == Vectors::kEvenOdd) Line("even lanes of a line, then odd ones", indent);
}

void StageText::Streamed(BufferId buffer, int indent) {
  if (buffer) Line("stores to " + BufferName(buffer) + " go past the caches", indent);
}

void StageText::LaneLines(const stage::Lanes& s, int indent) {
  Line("lanes " + LoopName(s.loop) + " over " + SpaceText(s.loop), indent);
  By(s.by, indent + 1);
  for (const BufferId buffer : s.streamed) Streamed(buffer, indent + 1);
  for (const Place& row : s.rows) Line("names the beginning of " + PlaceText(row), indent + 1);
  Prefetches(s.prefetches, indent + 1);
  List(s.body, indent + 1);
}

void StageText::EdgeLines(const stage::AtEdges& s, int indent) {
  std::string windows;
  const auto add = [&](const EdgeWindow& w) {
    windows += (windows.empty() ? "" : ", ") + (w.loop ? LoopName(w.loop) + " sees " : "") +
               std::to_string(w.first) + " to " + std::to_string(w.last) + " along " +
               std::to_string(w.axis);
  };
  for (const EdgeWindow& w : s.around) add(w);
  add(s.along);
  Line("where " + BufferName(s.of) + " is inside its array, and at edges (" + windows + ")",
       indent);
  List(s.body, indent + 1);
}

void StageText::ReduceLines(const stage::Reduce& s, int indent) {
  const std::string after = s.body.empty() ? "" : ", after";
  for (const Fold& fold : s.folds) {
    Line("let " + VariableName(fold.variable) + " = " + std::string(Name(fold.op)) + " of lanes " +
             LoopName(s.loop) + " over " + SpaceText(s.loop) + ": " + Text(*fold.value) +
             (&fold == &s.folds.back() ? after : ", in one pass with"),
         indent);
  }
  By(s.by, indent + 1);
  Prefetches(s.prefetches, indent + 1);
  List(s.body, indent + 1);
}

void StageText::DotLines(const stage::Dot& s, int indent) {
  Line("dot of " + std::string(Name(s.element)) + ", tiles " + LoopName(s.row) + ", " +
           LoopName(s.col) + " over " + SpaceText(s.row) + ", " + SpaceText(s.col) + ": " +
           VariableName(s.sum) + " = " + (s.start ? Text(*s.start) : "0") + " + " +
           (s.taps.empty() ? SourceText(s.a) + " @ " + SourceText(s.b)
                           : "taps, " + std::to_string(s.tap_count)),
       indent);
  if (s.gathered) Line("rows of all windows side by side in " + PanelsName(s.gathered), indent + 1);
  if (!s.taps.empty()) {
    Line("over", indent + 1);
    List(s.taps, indent + 2);
  }
  if (s.low) Line("rows from " + Text(*s.low), indent + 1);
  if (s.high) Line("rows before " + Text(*s.high), indent + 1);
  if (s.in_rows) Line("sums stay where they are stored", indent + 1);
  if (s.across_steps) {
    Line(s.in_rows ? "the first step starts from 0"
                   : "the first step starts from 0, and the last one alone does this:",
         indent + 1);
  }
  Streamed(s.streamed, indent + 1);
  Prefetches(s.prefetches, indent + 1);
  List(s.body, indent + 1);
}

}  // namespace kiln
