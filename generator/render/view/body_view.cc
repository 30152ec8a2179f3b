#include "generator/render/view/body_view.h"

#include <algorithm>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/render/print/operations.h"

namespace kiln::render {
namespace {

using Layout = OperandPlan::Layout;

}  // namespace

std::string LinesOf(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

bool Keeps(const Buffer& buffer, size_t dimension) { return !buffer.dropped[dimension]; }

BodyView::BodyView(const Plan& plan, const KernelNames& names, std::string spec_file)
    : plan_(plan),
      kernel_(*plan.kernel),
      names_(names),
      spec_file_(std::move(spec_file)),
      scope_(names.scope),
      scalars_(plan, MakeNames()) {}

ScalarPrinter::Names BodyView::MakeNames() {
  ScalarPrinter::Names names;
  names.axis = [](int axis) { return "point[" + std::to_string(axis) + "]"; };
  names.steps = [](int axis) { return "steps[" + std::to_string(axis) + "]"; };
  names.first_visit = [this](int ref) { return Visit(ref, true); };
  names.last_visit = [this](int ref) { return Visit(ref, false); };
  names.loop = [this](int loop) { return LoopName(loop); };
  names.variable = [this](int variable) { return VariableName(variable); };
  names.pointer = [this](const Place& place) { return Pointer(place); };
  names.edge = [this](const Element& e) {
    const char* member = e.kind == Element::Kind::kLow    ? ".low["
                         : e.kind == Element::Kind::kHigh ? ".high["
                                                          : ".origin[";
    return names_.buffers[static_cast<size_t>(e.index)] + member + std::to_string(e.axis) + "]";
  };
  names.scalar = [this](int ref) { return "call." + names_.buffers[static_cast<size_t>(ref)]; };
  names.dim = [this](int dim) { return "call." + names_.dims[static_cast<size_t>(dim)]; };
  names.core = "core";
  return names;
}

/// The first or last step of a stay: by the axes it walks over where they tell it.
std::string BodyView::Visit(int ref, bool first) {
  const std::vector<int> axes = StayAxes(kernel_, ref);
  if (!axes.empty() && axes[0] < 0) {
    return (first ? "first_" : "last_") + names_.buffers[static_cast<size_t>(ref)];
  }
  std::string all;
  for (int axis : axes) {
    const std::string a = "point[" + std::to_string(axis) + "]";
    all += (all.empty() ? "" : " && ") +
           (first ? a + " == 0" : a + " + 1 == steps[" + std::to_string(axis) + "]");
  }
  return axes.empty() ? "true" : all;
}

// ---- names -------------------------------------------------------------------------------------

/// The dimension that a space walks, as the spec calls it.
std::string BodyView::SpaceName(int space) const {
  for (size_t r = 0; r < kernel_.refs.size(); ++r) {
    const Ref& ref = kernel_.refs[r];
    const Buffer& buffer = plan_.buffers[r];
    for (size_t a = 0; a < ref.view_dims.size() && a < buffer.spaces.size(); ++a) {
      if (buffer.spaces[a] != space) continue;
      const Node* atom = ref.array[static_cast<size_t>(ref.view_dims[a])].AsAtom();
      if (atom && atom->op == Op::kDim) return kernel_.dims[static_cast<size_t>(atom->index)].name;
    }
  }
  const Node* atom = plan_.spaces[static_cast<size_t>(space)].extent.AsAtom();
  if (atom && atom->op == Op::kDim) return kernel_.dims[static_cast<size_t>(atom->index)].name;
  return "tile";
}

std::string BodyView::LoopName(int loop) {
  std::string& name = loops_[loop];
  if (!name.empty()) return name;
  // A name of a loop that is over may be used again.
  const std::string base = SpaceName(plan_.loops[static_cast<size_t>(loop)]) + "_";
  const auto taken = [&](const std::string& candidate) {
    return std::any_of(loops_.begin(), loops_.end(),
                       [&](const auto& entry) { return entry.second == candidate; });
  };
  for (const char* letter : {"i", "j", "k", "l"}) {
    const std::string candidate = base + letter;
    if (taken(candidate)) continue;
    if (!loop_names_.count(candidate)) {
      if (scope_.New(candidate) != candidate) continue;
      loop_names_.insert(candidate);
    }
    return name = candidate;
  }
  return name = scope_.Numbered(base + "i");
}

void BodyView::LeaveLoop(int loop) { loops_.erase(loop); }

std::string BodyView::VariableName(int variable) {
  std::string& name = variables_[variable];
  if (name.empty()) name = scope_.New(plan_.variables[static_cast<size_t>(variable)].name);
  return name;
}

/// How many elements a loop over the space visits.
std::string BodyView::Count(int space) {
  const Space& s = plan_.spaces[static_cast<size_t>(space)];
  if (!s.clipped && s.extent.Constant()) return std::to_string(*s.extent.Constant());
  std::string& name = counts_[space];
  if (name.empty()) {
    name = scope_.New(SpaceName(space) + "_size");
    count_lines_.push_back("const size_t " + name + " = " + ExtentOf(space) + ";");
  }
  return name;
}

/// A clipped space ends where an operand's block does; panels know only some of their extents.
std::string BodyView::ExtentOf(int space) {
  const Space& s = plan_.spaces[static_cast<size_t>(space)];
  if (!s.clipped) return "Unsigned(" + scalars_.Print(s.extent) + ")";
  std::string panel_extent;
  for (size_t r = 0; r < kernel_.refs.size(); ++r) {
    const Buffer& buffer = plan_.buffers[r];
    if (kernel_.refs[r].block.empty()) continue;
    for (size_t a = 0; a < buffer.spaces.size(); ++a) {
      if (buffer.spaces[a] != space) continue;
      const Layout layout = plan_.operands[r].layout;
      if (layout == Layout::kRows) {
        return names_.buffers[r] + ".high[" + std::to_string(a) + "]";
      }
      const bool is_a = layout == Layout::kPackedA || layout == Layout::kPackedAT;
      const bool transposed = layout == Layout::kPackedAT || layout == Layout::kPackedBT;
      const size_t outer = is_a == transposed ? 1 : 0;
      if (a == outer && panel_extent.empty())
        panel_extent = names_.buffers[r] + (is_a ? ".rows" : ".cols");
    }
  }
  return panel_extent;
}

/// The rows of a block of accumulators; a dimension of extent 1 has no loop.
std::string BodyView::AccumulatorRows(const Place& place) {
  const Coordinate& row = place.at[place.at.size() - 2];
  return row.loop < 0 ? "1" : Count(plan_.loops[static_cast<size_t>(row.loop)]);
}

std::string BodyView::Pointer(const Place& place) {
  const Buffer& buffer = plan_.buffers[static_cast<size_t>(place.buffer)];
  const std::string& name = names_.buffers[static_cast<size_t>(place.buffer)];
  if (place.buffer == plan_.accumulator) {
    return "AccumulatorAt(" + name + ", " + AccumulatorRows(place) + ", " +
           scalars_.Print(place.at[place.at.size() - 2]) + ", " + scalars_.Print(place.at.back()) +
           ")";
  }
  std::string text = name + ".At(";
  bool first = true;
  for (size_t d = 0; d < place.at.size(); ++d) {
    if (!Keeps(buffer, d)) continue;
    text += (first ? "" : ", ") + scalars_.Print(place.at[d]);
    first = false;
  }
  return text + ")";
}

/// The distance between elements of a place along a loop.
std::string BodyView::Stride(const Place& place, int loop) {
  const Buffer& buffer = plan_.buffers[static_cast<size_t>(place.buffer)];
  int kept = 0;
  for (size_t d = 0; d < place.at.size(); ++d) {
    if (!Keeps(buffer, d)) continue;
    if (place.at[d].loop == loop) {
      return names_.buffers[static_cast<size_t>(place.buffer)] + ".stride[" + std::to_string(kept) +
             "]";
    }
    ++kept;
  }
  return "1";
}

// ---- comments ----------------------------------------------------------------------------------

/// The spec's line of a stage and everything in it; 0 if there are several.
int BodyView::LineOf(const Stage& stage) const {
  const bool nests = stage.kind == Stage::Kind::kLoop || stage.kind == Stage::Kind::kLanes ||
                     stage.kind == Stage::Kind::kRows || stage.kind == Stage::Kind::kEachRow;
  if (!nests) return kernel_.source->Locate(stage.span.begin).line;
  int line = -1;
  for (const Stage& inner : stage.body) {
    const int own = LineOf(inner);
    if (line >= 0 && own != line) return 0;
    line = own;
  }
  return line;
}

std::string BodyView::Comment(const Stage& stage) {
  const int line = LineOf(stage);
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
  fields.Set("prelude", LinesOf(count_lines_));
  return fields;
}

std::vector<Fields> BodyView::List(const Stages& stages) {
  std::vector<Fields> list;
  const auto dots = std::count_if(stages.begin(), stages.end(),
                                  [](const Stage& s) { return s.kind == Stage::Kind::kDot; });
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

Fields BodyView::One(const Stage& stage) {
  Fields fields;
  fields.Set("comment", Comment(stage));
  using Kind = Stage::Kind;
  const std::pair<const char*, Kind> flags[] = {
      {"is_loop", Kind::kLoop}, {"is_lanes", Kind::kLanes},     {"is_reduce", Kind::kReduce},
      {"is_dot", Kind::kDot},   {"is_if", Kind::kIf},           {"is_for", Kind::kFor},
      {"is_rows", Kind::kRows}, {"is_each_row", Kind::kEachRow}};
  bool structure = false;
  for (const auto& [name, kind] : flags) {
    fields.SetFlag(name, stage.kind == kind);
    structure = structure || stage.kind == kind;
  }
  fields.SetFlag("is_text", !structure);
  switch (stage.kind) {
    case Kind::kLoop:
      Loop(stage, &fields);
      break;
    case Kind::kRows:
      fields.Set("count", Count(plan_.loops[static_cast<size_t>(stage.loop)]));
      fields.SetList("body", List(stage.body));
      break;
    case Kind::kEachRow:
      fields.Set("index", LoopName(stage.loop));
      fields.SetList("body", List(stage.body));
      LeaveLoop(stage.loop);
      break;
    case Kind::kLanes:
      Lanes(stage, &fields);
      break;
    case Kind::kReduce:
      Reduce(stage, &fields);
      break;
    case Kind::kDot:
      Dot(stage, &fields);
      break;
    case Kind::kIf:
      If(stage, &fields);
      break;
    case Kind::kFor:
      For(stage, &fields);
      break;
    default: {
      std::vector<std::string> lines;
      Lines(stage, &lines);
      fields.Set("text", LinesOf(lines));
    }
  }
  return fields;
}

void BodyView::Loop(const Stage& stage, Fields* fields) {
  const int space = plan_.loops[static_cast<size_t>(stage.loop)];
  fields->Set("index", LoopName(stage.loop));
  fields->Set("count", Count(space));
  fields->SetList("body", List(stage.body));
  LeaveLoop(stage.loop);
}

void BodyView::Lanes(const Stage& stage, Fields* fields) {
  const int space = plan_.loops[static_cast<size_t>(stage.loop)];
  fields->Set("index", LoopName(stage.loop));
  fields->Set("count", Count(space));
  const std::string tag = HasWide(stage.body) ? "kDoubles" : "kFloats";
  lanes_ = stage.loop;
  fields->Set("prefetches", LinesOf(PrefetchLines(stage)));
  std::string call = "ForLanes(" + tag + ", " + Count(space) + ", ";
  if (const Stage* store = StreamedStore(stage.body, stage.loop)) {
    // Where the lanes begin.
    Place first = store->place;
    for (Coordinate& c : first.at) {
      if (c.loop == stage.loop) c.loop = -1;
    }
    call = "StreamLanes(" + tag + ", " + Count(space) + ", " +
           names_.buffers[static_cast<size_t>(first.buffer)] + ".stream, " + Pointer(first) + ", ";
  }
  fields->Set("lanes_call", call);
  loaded_.clear();
  fields->SetList("body", List(stage.body));
  lanes_ = -1;
  LeaveLoop(stage.loop);
}

/// The store of statements that do nothing but write, along `loop`, an output that no statement
/// reads: it may go past the caches.
const Stage* BodyView::StreamedStore(const std::vector<Stage>& stages, int loop) const {
  const Stage* store = nullptr;
  for (const Stage& s : stages) {
    if (s.kind == Stage::Kind::kDefine) continue;
    if (store || s.kind != Stage::Kind::kStore || s.mask) return nullptr;
    store = &s;
  }
  if (!store || store->place.at.empty() || store->place.at.back().loop != loop) return nullptr;
  const int ref = plan_.buffers[static_cast<size_t>(store->place.buffer)].ref;
  if (ref < 0 || kernel_.refs[static_cast<size_t>(ref)].role != Role::kOutput) return nullptr;
  bool read = false;
  for (const BodyPlan& body : plan_.bodies) {
    ForEachPlace(body.stages, [&](const Place& p, bool writes) {
      read = read || (!writes && p.buffer == store->place.buffer);
    });
  }
  return read ? nullptr : store;
}

/// What the stage prefetches, long before it is read.
std::vector<std::string> BodyView::PrefetchLines(const Stage& stage, const Stage* streamed) {
  std::vector<std::string> lines;
  for (const Prefetch& prefetch : stage.prefetches) {
    Place place = prefetch.place, next = place;
    if (prefetch.kind == Prefetch::Kind::kElement) {
      const bool streams = streamed && SamePlace(place, streamed->place);
      lines.push_back((streams ? "at.Prefetch(" : "hwy::Prefetch(") + Pointer(place) + ");");
      continue;
    }
    if (prefetch.kind == Prefetch::Kind::kStream && prefetch.row < 0) {
      lines.push_back("at.PrefetchStream(" + Pointer(place) + ");");
      continue;
    }
    for (Coordinate& c : next.at) {
      if (c.loop == prefetch.row) c.offset = IndexConstant(1);
    }
    place.at.back().loop = next.at.back().loop = -1;
    const std::string share = std::to_string(prefetch.from) + ", " + std::to_string(prefetch.to) +
                              ", " + std::to_string(prefetch.parts);
    lines.push_back((prefetch.kind == Prefetch::Kind::kStream ? "at.PrefetchStream("
                                                              : "PrefetchNextRow<" + share + ">(") +
                    Pointer(place) + ", " + Pointer(next) + ", " + LoopName(stage.loop) + ", " +
                    Count(plan_.loops[static_cast<size_t>(stage.loop)]) + ");");
  }
  return lines;
}

void BodyView::Reduce(const Stage& stage, Fields* fields) {
  const int space = plan_.loops[static_cast<size_t>(stage.loop)];
  const DType dtype = plan_.variables[static_cast<size_t>(stage.variable)].dtype;
  const bool of_masks = stage.op == Op::kAny || stage.op == Op::kAll;
  fields->Set("index", LoopName(stage.loop));
  fields->Set("count", Count(space));
  fields->Set("type", ValueType(dtype));
  fields->Set("function", std::string(LaneReduction(stage.op)) +
                              (of_masks ? "" : "<" + ValueType(dtype) + ">"));
  fields->Set("tag", HasWide({stage}) || IsWide(dtype) ? "kDoubles" : "kFloats");
  lanes_ = stage.loop;
  fields->Set("prefetches", LinesOf(PrefetchLines(stage)));
  loaded_.clear();
  const int line = last_line_;
  fields->SetList("body", List(stage.body));
  last_line_ = line;
  std::vector<std::string> lines;
  fields->Set("value", Vector(stage.value, &lines));
  fields->Set("lines", LinesOf(lines));
  lanes_ = -1;
  LeaveLoop(stage.loop);
  fields->Set("name", VariableName(stage.variable));
}

void BodyView::If(const Stage& stage, Fields* fields) {
  fields->Set("condition", scalars_.Print(*stage.value));
  fields->SetList("body", List(stage.body));
  last_line_ = 0;
  fields->SetFlag("has_else", !stage.orelse.empty());
  fields->SetList("orelse", List(stage.orelse));
  last_line_ = 0;
}

void BodyView::For(const Stage& stage, Fields* fields) {
  fields->Set("index", VariableName(stage.variable));
  fields->Set("low", scalars_.Print(*stage.low));
  fields->Set("high", scalars_.Print(*stage.high));
  fields->SetList("body", List(stage.body));
  last_line_ = 0;
}

void BodyView::Lines(const Stage& stage, std::vector<std::string>* lines) {
  using Kind = Stage::Kind;
  if (stage.kind == Kind::kPack) return Pack(stage, lines);
  if (stage.kind == Kind::kCopy) return Copy(stage, lines);
  if (stage.kind == Kind::kWait) return Wait(stage, lines);
  if (stage.kind == Kind::kRange) return Range(stage, lines);
  if (stage.kind == Kind::kTouch) return Touch(stage, lines);
  if (stage.kind == Kind::kAssert) {
    lines->push_back("if (!(" + scalars_.Print(*stage.value) + ")) {");
    lines->push_back(
        "  return core.Fail(" + std::string(stage.op == Op::kRead ? "kIndexRange" : "kAssert") +
        ", \"%s (line " + std::to_string(SpecLine(stage)) + ") on core %d\", " +
        Quoted(stage.text.empty() ? "the assertion fails" : stage.text) + ", core.index());");
    lines->push_back("}");
    return;
  }
  const bool vector = lanes_ >= 0;
  if (stage.kind == Kind::kStore && vector) return VectorStore(stage, lines);
  if (stage.kind == Kind::kStore) {
    const std::string store =
        "StoreOne(" + scalars_.Print(*stage.value) + ", " + Pointer(stage.place) + ");";
    lines->push_back(stage.mask ? "if (" + scalars_.Print(*stage.mask) + ") " + store : store);
    return;
  }
  const Variable& variable = plan_.variables[static_cast<size_t>(stage.variable)];
  const bool differs = vector && (variable.changes || Varies(*stage.value));
  const std::string value =
      differs ? Vector(stage.value, lines, true) : scalars_.Print(*stage.value);
  if (differs) vectors_.insert(stage.variable);
  const std::string name = VariableName(stage.variable);
  if (stage.kind == Kind::kAssign) {
    lines->push_back(name + " = " + value + ";");
    return;
  }
  const std::string type = differs ? "auto" : ValueType(variable.dtype);
  lines->push_back((variable.changes ? "" : "const ") + type + " " + name + " = " + value + ";");
}

}  // namespace kiln::render
