#include "generator/render/view/body_view.h"

#include <algorithm>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/render/print/operations.h"

namespace kiln::render {
std::string LinesOf(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

std::vector<Fields> Enumerated(const std::string& field, const std::vector<std::string>& items,
                               const std::string& end) {
  std::vector<Fields> list;
  for (const std::string& item : items)
    list.emplace_back().Set(field, item).Set("comma", list.size() == items.size() ? end : ",");
  return list;
}

bool Keeps(const Buffer& buffer, size_t dimension) { return !buffer.dropped[dimension]; }

BodyView::BodyView(const Plan& plan, const KernelNames& names, std::string spec_file)
    : plan_(plan),
      kernel_(*plan.kernel),
      names_(names),
      spec_file_(std::move(spec_file)),
      scope_(names.scope),
      scalars_(plan, MakeNames()) {}

// ---- comments ----------------------------------------------------------------------------------

/// The spec's line of a stage and everything in it; 0 if there are several.
int BodyView::LineOf(const Stage& stage) const {
  if (!Is<stage::Loop, stage::Lanes, stage::Rows, stage::EachRow, stage::AtEdges>(stage))
    return kernel_.source->Locate(stage.span.begin).line;
  int line = -1;
  for (const Stage& inner : *BodyOf(stage)) {
    const int own = LineOf(inner);
    if (line >= 0 && own != line) return 0;
    line = own;
  }
  return line;
}

std::string BodyView::Comment(const Stage& stage) {
  const auto* reduce = As<stage::Reduce>(stage);
  if (!reduce || reduce->folds.size() == 1) return CommentOf(LineOf(stage));
  std::vector<std::string> lines;  // of what is folded in one pass
  for (const Fold& fold : reduce->folds) {
    const std::string line = CommentOf(kernel_.source->Locate(fold.span.begin).line);
    if (!line.empty()) lines.push_back(line);
  }
  return LinesOf(lines);
}

std::string BodyView::CommentOf(int line) {
  if (line <= 0 || line == last_line_) return "";
  last_line_ = line;
  const std::string_view text = kernel_.source->Line(line);
  return "// " + spec_file_ + ":" + std::to_string(line) + "  " +
         CommentText(text.substr(std::min(text.find_first_not_of(" \t"), text.size())));
}

// ---- stages ------------------------------------------------------------------------------------

Fields BodyView::Make(const Stages& stages) {
  Fields fields;
  std::vector<Fields> list = List(stages);
  fields.SetList("stages", std::move(list));
  fields.SetFlag("has_counts", !count_definitions_.empty());
  fields.SetList("counts", Enumerated("count", count_definitions_, ";"));
  return fields;
}

std::vector<Fields> BodyView::List(const Stages& stages) {
  std::vector<Fields> list;
  const auto dots =
      std::count_if(stages.begin(), stages.end(), [](const Stage& s) { return Is<stage::Dot>(s); });
  for (const Stage& stage : stages) {
    const int line = last_line_;
    Fields fields = One(stage);
    // A statement of the spec is a paragraph.
    fields.SetFlag("scoped", dots > 1);  // each dot has a `start` and a `finish`
    fields.SetFlag("begins_paragraph", !list.empty() && LineOf(stage) > 0 && LineOf(stage) != line);
    list.push_back(std::move(fields));
  }
  return list;
}

Fields BodyView::One(const Stage& of) {
  using namespace stage;
  Fields fields;
  fields.Set("comment", Comment(of));
  std::string_view kind;
  const auto is = [&](std::string_view flag) {
    kind = flag;
    return &fields;
  };
  const auto text = [&](auto write) {
    std::vector<std::string> lines;
    write(&lines);
    is("is_text")->Set("text", LinesOf(lines));
  };
  Match(
      of, [&](const stage::Loop& s) { Loop(s, is("is_loop")); },
      [&](const Lanes& s) { LaneLoop(s, is("is_lanes")); },
      [&](const Rows& s) {
        if (s.as_lanes) return Squares(s, is("is_squares"));
        SomeRows(s, is("is_rows"));
      },
      [&](const EachRow& s) { EachOfRows(s, is("is_each_row")); },
      [&](const AtEdges& s) { ByParts(s, is("is_rows")); },
      [&](const Reduce& s) { Reduction(s, is(s.folds.size() == 1 ? "is_reduce" : "is_one_pass")); },
      [&](const Dot& s) { Product(s, is("is_dot")); },
      [&](const If& s) { Condition(s, is("is_if")); },
      [&](const For& s) { CountedLoop(s, is("is_for")); },
      [&](const While& s) { LoopOfTurns(s, SpecLine(of), is("is_while")); },
      [&](const Define& s) { text([&](auto* lines) { Definition(s, lines); }); },
      [&](const Assign& s) { text([&](auto* lines) { Assignment(s, lines); }); },
      [&](const Store& s) { text([&](auto* lines) { StoreLines(s, lines); }); },
      [&](const Tap& s) { text([&](auto* lines) { TapLines(s, lines); }); },
      [&](const Pack& s) {
        if (s.scaled) return ScaledPanels(s, is("is_scaled"));
        if (s.value) return ComputedPanels(s, is("is_computed"));
        text([&](auto* lines) { PackLines(s, lines); });
      },
      [&](const Along& s) { text([&](auto* lines) { AlongLines(s, lines); }); },
      [&](const Request& s) { text([&](auto* lines) { RequestLines(s, lines); }); },
      [&](const Assert& s) { text([&](auto* lines) { AssertLines(s, SpecLine(of), lines); }); },
      [&](const Range& s) { text([&](auto* lines) { RangeLines(s, SpecLine(of), lines); }); },
      [&](const Touch& s) { text([&](auto* lines) { TouchLines(s, SpecLine(of), lines); }); },
      [&](const Copy& s) { text([&](auto* lines) { CopyLines(s, SpecLine(of), lines); }); },
      [&](const Wait& s) { text([&](auto* lines) { WaitLines(s, SpecLine(of), lines); }); });
  for (const char* flag :
       {"is_loop", "is_lanes", "is_reduce", "is_one_pass", "is_dot", "is_if", "is_for", "is_while",
        "is_rows", "is_squares", "is_each_row", "is_computed", "is_scaled", "is_text"})
    fields.SetFlag(flag, kind == flag);
  return fields;
}

void BodyView::Loop(const stage::Loop& loop, Fields* fields) {
  fields->Set("index", LoopName(loop.loop));
  const bool is_part = loop.loop == part_.loop;
  fields->Set("low", is_part ? part_.low : "0");
  fields->Set("count", is_part ? part_.high : Count(plan_[loop.loop].space));
  fields->SetList("body", List(loop.body));
  LeaveLoop(loop.loop);
}

void BodyView::Reduction(const stage::Reduce& reduce, Fields* fields) {
  fields->Set("index", LoopName(reduce.loop));
  fields->Set("count", Count(plan_[reduce.loop].space));
  fields->Set("tag", TagOf(reduce.by));
  lanes_ = reduce.loop;
  fields->Set("prefetches", LinesOf(PrefetchLines(reduce.prefetches, reduce.loop)));
  loaded_.clear();
  const int line = last_line_;
  fields->SetList("body", List(reduce.body));
  last_line_ = line;
  std::vector<std::string> lines, values;
  for (const Fold& fold : reduce.folds) values.push_back(Vector(fold.value, &lines));
  fields->Set("lines", LinesOf(lines));
  lanes_ = {};
  LeaveLoop(reduce.loop);
  if (reduce.folds.size() == 1)
    OneFold(reduce.folds[0], values[0], fields);
  else
    SeveralFolds(reduce.folds, values, fields);
}

void BodyView::OneFold(const Fold& fold, const std::string& value, Fields* fields) {
  const bool of_masks = fold.op == Op::kAny || fold.op == Op::kAll;
  const bool is_place = ClassOf(fold.op) == OpClass::kLocation;
  const std::string type = ValueType(plan_[fold.variable].dtype);
  const std::string of = is_place ? ValueType(fold.value->dtype) : type;
  fields->Set("type", type);
  const DType dtype = fold.value->dtype;
  const bool of_sizes =
      fold.op == Op::kReduceMax && IsFloat(dtype) && !IsWide(dtype) && AsOp(*fold.value, Op::kAbs);
  const std::string function = of_sizes ? "MaxAbsLanes" : std::string(LaneReduction(fold.op));
  fields->Set("function", function + (of_masks ? "" : "<" + of + ">"));
  fields->Set("part", is_place ? ".index" : "");
  fields->Set("value", value);
  fields->Set("name", VariableName(fold.variable));
}

void BodyView::SeveralFolds(const std::vector<Fold>& folds, const std::vector<std::string>& values,
                            Fields* fields) {
  std::string kinds, arguments;
  std::vector<Fields> list;
  for (size_t k = 0; k < folds.size(); ++k) {
    const std::string type = ValueType(plan_[folds[k].variable].dtype);
    const std::string comma = k == 0 ? "" : ", ";
    kinds += comma + std::string(FoldOfLanes(folds[k].op)) + "<" + type + ">";
    arguments += comma + values[k];
    list.emplace_back()
        .Set("type", type)
        .Set("name", VariableName(folds[k].variable))
        .Set("number", std::to_string(k));
  }
  fields->Set("folded", scope_.Numbered("folded"));
  fields->Set("kinds", kinds);
  fields->Set("values", arguments);
  fields->SetList("folds", std::move(list));
}

void BodyView::Condition(const stage::If& when, Fields* fields) {
  fields->Set("condition", scalars_.Print(*when.condition));
  fields->SetList("body", List(when.body));
  last_line_ = 0;
  fields->SetFlag("has_else", !when.orelse.empty());
  fields->SetList("orelse", List(when.orelse));
  last_line_ = 0;
}

void BodyView::CountedLoop(const stage::For& loop, Fields* fields) {
  fields->Set("index", VariableName(loop.variable));
  fields->Set("low", scalars_.Print(*loop.low));
  fields->Set("high", scalars_.Print(*loop.high));
  // A turn loads again what another one stores, and what it loads has no name behind it.
  ForEachStage(loop.body, [&](const Stage& s) {
    if (const auto* store = As<stage::Store>(s)) ForgetLoadsOf(store->place.buffer);
    if (const auto* assign = As<stage::Assign>(s)) ForgetLoadsBy(assign->variable);
  });
  const auto known = loaded_;
  fields->SetList("body", List(loop.body));
  loaded_ = known;
  last_line_ = 0;
}

void BodyView::LoopOfTurns(const stage::While& loop, int line, Fields* fields) {
  const std::string index = VariableName(loop.turn);
  fields->Set("index", index);
  fields->SetList("before", List(loop.before));
  fields->Set("condition", scalars_.Print(*loop.condition));
  fields->Set("most", loop.most ? scalars_.Print(*loop.most) : "core.most_turns()");
  fields->Set("fail", "core.FailEndless(" + std::to_string(line) + ", " + index + ")");
  fields->SetList("body", List(loop.body));
  last_line_ = 0;
}

/// A call: the elements, how many, and where what is made of them goes.
void BodyView::AlongLines(const stage::Along& along, std::vector<std::string>* lines) {
  const auto line = [&](const Place& place, LoopId loop, bool streamed = false) {
    const std::string stride = loop ? Stride(place, loop) : "1";
    return "Line{" + Pointer(CornerOf(place, loop, along.lines ? along.lines : loop)) + ", " +
           stride + (streamed ? ", " + names_[place.buffer] + ".stream" : "") + "}";
  };
  std::string counts = Count(plan_[along.loop].space);
  if (along.op == Op::kTopPositions)
    counts += ", " + (along.into ? Count(plan_[along.into].space) : "1");
  lines->push_back(LineFunction(along.op, bool(along.lines)) +
                   (along.descending ? "<kDescending>" : "") + "(" + line(along.from, along.loop) +
                   ", " + counts + ",");
  lines->push_back("    " + line(along.to, along.into, along.streamed) +
                   (along.lines ? ", " + Count(plan_[along.lines].space) : "") +
                   (along.room ? ", " + Pointer(*along.room) : "") + ");");
}

int BodyView::SpecLine(const Stage& stage) const {
  return kernel_.source->Locate(stage.span.begin).line;
}

void BodyView::AssertLines(const stage::Assert& check, int line, std::vector<std::string>* lines) {
  lines->push_back("if (!(" + scalars_.Print(*check.condition) + ")) {");
  lines->push_back(
      "  return core.Fail(kAssert, \"%s (line " + std::to_string(line) + ") on core %d\", " +
      Quoted(check.message.empty() ? "the assertion fails" : check.message) + ", core.index());");
  lines->push_back("}");
}

void BodyView::StoreLines(const stage::Store& store, std::vector<std::string>* lines) {
  if (lanes_) return VectorStore(store, lines);
  const std::string text =
      "StoreOne(" + scalars_.Print(*store.value) + ", " + Pointer(store.place) + ");";
  lines->push_back(store.mask ? "if (" + scalars_.Print(*store.mask) + ") " + text : text);
}

/// What a variable is given: a vector where it differs between lanes.
std::string BodyView::ValueOf(VariableId variable, const ElementPtr& value,
                              std::vector<std::string>* lines) {
  if (!lanes_ || !(plan_[variable].changes || Varies(*value))) return scalars_.Print(*value);
  const std::string text = Vector(value, lines, true);
  vectors_.insert(variable);
  return text;
}

void BodyView::Assignment(const stage::Assign& assign, std::vector<std::string>* lines) {
  const std::string value = ValueOf(assign.variable, assign.value, lines);
  lines->push_back(VariableName(assign.variable) + " = " + value + ";");
  ForgetLoadsBy(assign.variable);
}

void BodyView::Definition(const stage::Define& define, std::vector<std::string>* lines) {
  const Variable& variable = plan_[define.variable];
  const Place* const place = LoadedBy(*define.value);
  if (lanes_ && place && Varies(*place) && !variable.changes && !IsLoaded(*place)) {
    vectors_.insert(define.variable);
    const std::string load = TextOfLoad(*place, lines), name = VariableName(define.variable);
    const bool held = define.held && variable.dtype != DType::kBool;
    const std::string function = define.in_order ? "HeldInOrder(" : "Held(";
    lines->push_back("const auto " + name + " = " + (held ? function + load + ")" : load) + ";");
    loaded_.push_back({*place, name});
    return;
  }
  const std::string value = ValueOf(define.variable, define.value, lines);
  const std::string name = VariableName(define.variable);
  const std::string type = vectors_.count(define.variable) ? "auto" : ValueType(variable.dtype);
  lines->push_back((variable.changes ? "" : "const ") + type + " " + name + " = " + value + ";");
}

}  // namespace kiln::render
