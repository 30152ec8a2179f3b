#include "generator/render/kernel_view.h"

#include <algorithm>
#include <cstdio>

#include "generator/plan/lower.h"
#include "generator/plan/walk.h"
#include "generator/render/body_view.h"
#include "generator/render/cpp.h"
#include "generator/render/kernel_names.h"
#include "generator/render/render.h"
#include "generator/render/scalars.h"

namespace kiln::render {
namespace {

using Hold = OperandPlan::Hold;

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

class KernelView {
 public:
  KernelView(const Plan& plan, std::string_view spec_file)
      : plan_(plan),
        kernel_(*plan.kernel),
        spec_file_(spec_file),
        names_(NamesOf(plan)),
        call_(plan, WalkNames("at", "check")),
        walk_(plan, WalkNames("at", "core")),
        ahead_(plan, WalkNames("next", "core")) {}

  Fields Make();

 private:
  ScalarPrinter::Names WalkNames(const std::string& point, const std::string& reporter) const;
  const std::string& NameOf(size_t ref) const { return names_.buffers[ref]; }
  int Line(const Ref& ref) const { return kernel_.source->Locate(ref.span.begin).line; }

  void Banner();
  void Arguments();
  void Sizes();
  void Checks();
  void Grid();
  void Operands();
  void Memory();
  void Bodies();

  std::string Type(const Ref& ref) const;
  std::string Format(size_t ref) const;
  std::string StepType(size_t ref) const;
  std::string Blocks(size_t ref) const;
  std::string Index(size_t ref, const ScalarPrinter& printer) const;
  std::string Constant(const NodePtr& value, const Ref& ref) const;
  std::string Window(size_t ref) const;
  std::string Operand(size_t ref) const;
  std::string ExtentList(const Buffer& buffer) const;
  bool IsPipelined(const Ref& ref) const {
    return ref.role == Role::kInput || ref.role == Role::kOutput;
  }
  bool IsArgument(const Ref& ref) const { return ref.view_of < 0 && !ref.prepared; }
  size_t ArrayOf(size_t ref) const {
    return static_cast<size_t>(kernel_.ArrayOf(static_cast<int>(ref)));
  }
  bool Touched(int buffer) const;
  bool NeedsVisits(int ref, Element::Kind kind) const;

  const Plan& plan_;
  const Kernel& kernel_;
  const std::string spec_file_;
  KernelNames names_;
  ScalarPrinter call_, walk_, ahead_;
  Fields fields_;
};

ScalarPrinter::Names KernelView::WalkNames(const std::string& point,
                                           const std::string& reporter) const {
  ScalarPrinter::Names names;
  names.axis = [point](int axis) { return point + "[" + std::to_string(axis) + "]"; };
  names.steps = [](int axis) { return "steps[" + std::to_string(axis) + "]"; };
  names.scalar = [this](int ref) { return "call." + NameOf(static_cast<size_t>(ref)); };
  names.dim = [this](int dim) { return "call." + names_.dims[static_cast<size_t>(dim)]; };
  names.core = reporter;
  return names;
}

Fields KernelView::Make() {
  fields_.Set("name", GeneratedName(kernel_));
  fields_.Set("spec_file", spec_file_);
  Banner();
  Arguments();
  Sizes();
  Checks();
  Grid();
  Operands();
  Memory();
  Bodies();
  return std::move(fields_);
}

// ---- what the reader sees first ----------------------------------------------------------------

std::string HoldText(Hold hold) {
  switch (hold) {
    case Hold::kLeft:
      return "packed as left panels";
    case Hold::kLeftTransposed:
      return "packed as left panels, transposed";
    case Hold::kRight:
      return "packed as right panels";
    case Hold::kRightTransposed:
      return "packed as right panels, transposed";
    default:
      return "in rows";
  }
}

void KernelView::Banner() {
  fields_.Set("doc",
              kernel_.doc.empty() ? "The kernel " + GeneratedName(kernel_) + "." : kernel_.doc);
  fields_.Set("instance", kernel_.instance.empty() ? "" : " (" + kernel_.instance + ")");
  std::vector<Fields> lines;
  const auto add = [&](const std::string& text) { lines.emplace_back().Set("text", text); };
  std::string grid;
  for (const Axis& axis : kernel_.axes) {
    grid += (grid.empty() ? "" : ", ") + axis.name + ": " + ToString(*axis.steps, kernel_) +
            (axis.parallel ? " parallel" : "");
  }
  add("grid  " + (grid.empty() ? "one step" : grid));
  for (size_t r = 0; r < kernel_.refs.size(); ++r) {
    const Ref& ref = kernel_.refs[r];
    std::string text = ref.name + "  " + std::string(kiln::Name(ref.dtype)) + ToString(ref.array);
    if (!ref.block.empty()) {
      std::vector<std::string> block, index;
      for (const BlockDim& dim : ref.block) {
        block.push_back(dim.kind == BlockDim::Kind::kAll        ? "all"
                        : dim.kind == BlockDim::Kind::kSqueezed ? "null"
                                                                : dim.size.ToString());
        index.push_back(ToString(*dim.index, kernel_));
      }
      text += "  block (" + Joined(block) + ")  index (" + Joined(index) + ")";
      if (ref.pad) text += "  pad " + ToString(*ref.pad, kernel_);
      text += "  " + HoldText(plan_.operands[r].hold);
    } else if (static_cast<int>(r) == plan_.accumulator) {
      text += "  accumulators, tile by tile";
    } else if (ref.role == Role::kScratch) {
      text += "  scratch";
    }
    add(text);
  }
  fields_.SetList("banner", std::move(lines));
}

std::string KernelView::Type(const Ref& ref) const {
  return (ref.role == Role::kOutput ? "" : "const ") + StorageType(ref.dtype);
}

void KernelView::Arguments() {
  std::vector<Fields> arguments;
  std::vector<std::string> values;  // of Call's members
  for (size_t r = 0; r < kernel_.refs.size(); ++r) {
    const Ref& ref = kernel_.refs[r];
    if (!IsArgument(ref) || ref.role == Role::kScratch || ref.role == Role::kSemaphore) continue;
    Fields& a = arguments.emplace_back();
    a.Set("argument", NameOf(r));
    a.Set("quoted", Quoted(ref.name));
    a.SetFlag("is_scalar", ref.role == Role::kScalar);
    a.SetFlag("is_tensor", ref.role != Role::kScalar);
    a.Set("type", ref.role == Role::kScalar ? ValueType(ref.dtype) : Type(ref));
    const bool half = ref.dtype == DType::kBF16 || ref.dtype == DType::kF16;
    a.Set("c_type", std::string(ref.role == Role::kOutput ? "" : "const ") +
                        (half ? "kiln::" : "") + StorageType(ref.dtype));
    a.Set("spec",
          std::string(kiln::Name(ref.dtype)) + (ref.array.empty() ? "" : ToString(ref.array)));
    a.Set("passed", ref.role == Role::kScalar ? NameOf(r) : NameOf(r) + "_tensor");
    values.push_back(NameOf(r));
  }
  // Dimensions that no array shows are passed by value, after the arrays.
  for (size_t d = 0; d < kernel_.dims.size(); ++d) {
    const bool shown = std::any_of(kernel_.refs.begin(), kernel_.refs.end(), [&](const Ref& ref) {
      return IsArgument(ref) && ref.role != Role::kScratch &&
             std::any_of(ref.array.begin(), ref.array.end(), [&](const Size& s) {
               return s.AsAtom() && s.AsAtom()->op == Op::kDim &&
                      s.AsAtom()->index == static_cast<int>(d);
             });
    });
    if (shown || kernel_.dims[d].fixed) continue;
    Fields& a = arguments.emplace_back();
    a.Set("argument", names_.dims[d]);
    a.Set("quoted", Quoted(kernel_.dims[d].name));
    a.SetFlag("is_scalar", true);
    a.SetFlag("is_tensor", false);
    a.Set("type", "int64_t");
    a.Set("c_type", "int64_t");
    a.Set("spec", "size");
    a.Set("passed", names_.dims[d]);
  }
  fields_.SetList("arguments", std::move(arguments));
  for (size_t d = 0; d < kernel_.dims.size(); ++d) values.push_back("0");
  fields_.Set("call_values", Joined(values));
  fields_.Set("quoted_name", Quoted(GeneratedName(kernel_)));
}

/// Dimensions as members of Call, and where the call finds them.
void KernelView::Sizes() {
  std::vector<Fields> dims;
  for (size_t d = 0; d < kernel_.dims.size(); ++d) {
    const Dim& dim = kernel_.dims[d];
    Fields& f = dims.emplace_back();
    f.Set("dim", names_.dims[d]);
    f.Set("quoted_dim", Quoted(dim.name));
    std::string source;
    for (size_t r = 0; r < kernel_.refs.size() && source.empty(); ++r) {
      const Ref& ref = kernel_.refs[r];
      if (!IsArgument(ref) || ref.role == Role::kScratch || ref.role == Role::kScalar) continue;
      for (size_t k = 0; k < ref.array.size() && source.empty(); ++k) {
        const Node* atom = ref.array[k].AsAtom();
        if (!atom || atom->op != Op::kDim || atom->index != static_cast<int>(d)) continue;
        source =
            "check.Dim(" + NameOf(r) + ", " + Quoted(ref.name) + ", " + std::to_string(k) + ")";
      }
    }
    if (dim.fixed) source = std::to_string(*dim.fixed);
    f.Set("source", source.empty() ? names_.dims[d] : source);
  }
  fields_.SetList("dims", std::move(dims));
}

void KernelView::Checks() {
  std::vector<Fields> checks;
  const auto add = [&](const std::string& text) {
    checks.emplace_back().Set("text", "check." + text + ";");
  };
  for (size_t d = 0; d < kernel_.dims.size(); ++d) {
    const Dim& dim = kernel_.dims[d];
    const std::string value = Quoted(dim.name) + ", call." + names_.dims[d] + ", ";
    if (dim.multiple_of != 1) add("MultipleOf(" + value + std::to_string(dim.multiple_of) + ")");
    if (dim.min > 0) add("Min(" + value + std::to_string(dim.min) + ")");
    if (dim.max) add("Max(" + value + std::to_string(*dim.max) + ")");
  }
  for (size_t r = 0; r < kernel_.refs.size(); ++r) {
    const Ref& ref = kernel_.refs[r];
    if (!IsArgument(ref) || ref.role == Role::kScratch || ref.role == Role::kScalar ||
        ref.role == Role::kSemaphore)
      continue;
    std::vector<std::string> shape;
    for (const Size& s : ref.array) shape.push_back(walk_.Print(s));
    add((ref.role == Role::kOutput ? "Output(" : "Input(") + NameOf(r) + ", " + Quoted(ref.name) +
        ", {" + Joined(shape) + "})");
  }
  fields_.SetList("checks", std::move(checks));

  // Conditions may read prefetch arrays, so they come when those are known to be there.
  std::vector<Fields> conditions;
  for (const Require& require : kernel_.require) {
    conditions.emplace_back().Set(
        "text", "check.Require(" + call_.Print(*LowerIndex(kernel_, *require.condition)) + ", " +
                    Quoted(require.text) + ");");
  }
  for (const Obligation& o : kernel_.obligations) {
    const std::string compare = o.kind == Obligation::Kind::kEqual ? " == " : " >= ";
    conditions.emplace_back().Set("text", "check.Require(" + call_.Print(o.left) + compare +
                                              call_.Print(o.right) + ", " + Quoted(o.message) +
                                              ");");
  }
  fields_.SetFlag("has_conditions", !conditions.empty());
  fields_.SetList("conditions", std::move(conditions));
}

// ---- the walk ----------------------------------------------------------------------------------

void KernelView::Grid() {
  std::vector<std::string> steps, cut;
  int parallel = 0;
  for (const Axis& axis : kernel_.axes) {
    steps.push_back(walk_.Print(*LowerIndex(kernel_, *axis.steps)));
    parallel += axis.parallel;
  }
  for (int axis : plan_.cut_axes) cut.push_back(std::to_string(axis));
  fields_.Set("rank", std::to_string(kernel_.axes.size()));
  fields_.Set("steps", Joined(steps));
  fields_.Set("parallel", std::to_string(parallel));
  fields_.Set("cut_first", Joined(cut));
  std::string axes;
  for (size_t a = 0; a < kernel_.axes.size(); ++a) {
    axes += (a == 0 ? "" : ", ") + std::to_string(a) + ": " + kernel_.axes[a].name;
  }
  fields_.Set("axis_names", axes);
}

std::string KernelView::Format(size_t r) const {
  const Ref& ref = kernel_.refs[r];
  const std::string type = StorageType(ref.dtype);
  switch (plan_.operands[r].hold) {
    case Hold::kLeft:
      return "LeftPanels<" + type + ">";
    case Hold::kLeftTransposed:
      return "LeftPanelsT<" + type + ">";
    case Hold::kRight:
      return "RightPanels<" + type + ">";
    case Hold::kRightTransposed:
      return "RightPanelsT<" + type + ">";
    default:
      return "Rows<" + type + ", " + std::to_string(ref.view.size()) + ">";
  }
}

std::string KernelView::StepType(size_t r) const {
  const Ref& ref = kernel_.refs[r];
  if (plan_.operands[r].hold != Hold::kRows) return Format(r) + "::View";
  return "Tile<" + Type(ref) + ", " + std::to_string(ref.view.size()) + ">";
}

std::string KernelView::Blocks(size_t r) const {
  const Ref& ref = kernel_.refs[r];
  std::vector<std::string> dims;
  for (size_t d = 0; d < ref.block.size(); ++d) {
    const BlockDim& dim = ref.block[d];
    const std::string clip = plan_.operands[r].clipped[d] ? ", Clip::kYes" : "";
    switch (dim.kind) {
      case BlockDim::Kind::kAll:
        dims.push_back("All(" + walk_.Print(ref.array[d]) + ")");
        break;
      case BlockDim::Kind::kSqueezed:
        dims.push_back("Squeezed()");
        break;
      case BlockDim::Kind::kElement:
        dims.push_back("Element(" + walk_.Print(dim.size) + ", " + walk_.Print(dim.halo_low) +
                       ", " + walk_.Print(dim.halo_high) + clip + ")");
        break;
      default:
        dims.push_back("Blocked(" + walk_.Print(dim.size) + clip + ")");
    }
  }
  return "{" + Joined(dims) + "}";
}

std::string KernelView::Index(size_t r, const ScalarPrinter& printer) const {
  std::vector<std::string> index;
  for (const BlockDim& dim : kernel_.refs[r].block) {
    index.push_back(printer.Print(*LowerIndex(kernel_, *dim.index)));
  }
  return "{" + Joined(index) + "}";
}

std::string KernelView::Constant(const NodePtr& value, const Ref& ref) const {
  char bits[8];
  switch (ref.dtype) {
    case DType::kBF16:
      std::snprintf(bits, sizeof bits, "0x%04X", FloatToBF16(value->float_value));
      return "FromBits<bf16>(" + std::string(bits) + ")";
    case DType::kF16:
      std::snprintf(bits, sizeof bits, "0x%04X", FloatToF16(value->float_value));
      return "FromBits<f16>(" + std::string(bits) + ")";
    default:
      return IsFloat(ref.dtype) ? FloatLiteral(value->float_value, ref.dtype)
                                : IntLiteral(value->int_value, ref.dtype);
  }
}

std::string KernelView::Window(size_t r) const {
  std::string text;
  for (int axis : plan_.operands[r].window_axes) {
    text += (text.empty() ? "" : " * ") + walk_.names().steps(axis);
  }
  return text.empty() ? "1" : text;
}

std::string KernelView::Operand(size_t r) const {
  const Ref& ref = kernel_.refs[r];
  return "{" + Quoted(ref.name) + ", " + std::to_string(r) + ", " + std::to_string(Line(ref)) +
         (ref.memory == kiln::Memory::kSmem || ref.role == Role::kPrefetch ? ", Memory::kSmem"
                                                                           : "") +
         "}";
}

/// Whether a body asks for a stay whose ends the axes alone do not tell.
bool KernelView::NeedsVisits(int ref, Element::Kind kind) const {
  const std::vector<int> axes = StayAxes(kernel_, ref);
  if (axes.empty() || axes[0] >= 0) return false;
  bool needs = false;
  for (const BodyPlan& body : plan_.bodies) {
    for (const Stage& stage : body.stages) {
      ForEachElement(
          stage, [&](const Element& e) { needs = needs || (e.kind == kind && e.index == ref); });
    }
  }
  return needs;
}

void KernelView::Operands() {
  std::vector<Fields> members, ins, outs, holds, visits;
  std::vector<std::string> step;
  for (size_t r = 0; r < kernel_.refs.size(); ++r) {
    const Ref& ref = kernel_.refs[r];
    if (ref.role == Role::kPrefetch || ref.role == Role::kScalar) {
      Fields& h = holds.emplace_back();
      h.Set("type", StorageType(ref.dtype));
      h.Set("operand", "{" + Quoted(ref.name) + ", " + std::to_string(r) + ", " +
                           std::to_string(Line(ref)) + ", Memory::kSmem}");
      std::vector<std::string> extents;
      for (const Size& s : ref.array) extents.push_back(walk_.Print(s));
      h.Set("extents", "{" + Joined(extents) + "}");
    }
    if (!IsPipelined(ref)) continue;
    const bool output = ref.role == Role::kOutput;
    Fields& m = members.emplace_back();
    m.Set("member", NameOf(r));
    m.Set("type", StepType(r));
    Fields& f = (output ? outs : ins).emplace_back();
    f.Set("operand_name", NameOf(r));
    f.Set("format", Format(r));
    f.Set("array_rank", std::to_string(ref.array.size()));
    f.Set("operand", Operand(r));
    f.Set("tensor", "call." + NameOf(ArrayOf(r)));
    f.Set("blocks", Blocks(r));
    f.Set("buffers", std::to_string(ref.buffers));
    f.Set("at_index", Index(r, walk_));
    f.Set("next_index", Index(r, ahead_));
    const std::string type = StorageType(ref.dtype);
    if (output) {
      f.Set("init", ref.init             ? "Init<" + type + ">(" + Constant(ref.init, ref) + ")"
                    : ref.init_undefined ? "UndefinedInit()"
                                         : "NoInit()");
      f.SetFlag("fills", ref.init != nullptr);
      f.Set("value", ref.init ? Constant(ref.init, ref) : "");
      step.push_back(NameOf(r) + ".Open(" + Index(r, walk_) + ", at.run)");
    } else {
      f.Set("pad", ref.pad ? "Pad<" + type + ">(" + Constant(ref.pad, ref) + ")" : "NoPad()");
      f.Set("window", Window(r));
      step.push_back(NameOf(r) + ".WaitIn(" + Index(r, walk_) + ")");
    }
    for (const bool first : {true, false}) {
      const auto kind = first ? Element::Kind::kFirstVisit : Element::Kind::kLastVisit;
      if (!NeedsVisits(static_cast<int>(r), kind)) continue;
      Fields& v = visits.emplace_back();
      const std::string prefix = first ? "first_" : "last_";
      v.Set("visit", prefix + NameOf(r));
      v.SetFlag("is_first", first);
      v.Set("block", "Index<" + std::to_string(ref.array.size()) + ">");
      v.Set("block_name", prefix + NameOf(r) + "_at");
      v.Set("at_index", Index(r, walk_));
      v.Set("next_index", Index(r, ahead_));
    }
  }
  fields_.SetList("members", std::move(members));
  fields_.SetFlag("has_inputs", !ins.empty());
  fields_.SetList("ins", std::move(ins));
  fields_.SetList("outs", std::move(outs));
  fields_.SetList("holds", std::move(holds));
  fields_.SetList("visits", std::move(visits));
  std::vector<Fields> step_values;
  for (const std::string& value : step) step_values.emplace_back().Set("value", value);
  fields_.SetList("step_values", std::move(step_values));
}

std::string KernelView::ExtentList(const Buffer& buffer) const {
  std::vector<std::string> extents;
  for (size_t d = 0; d < buffer.extents.size(); ++d) {
    if (Keeps(buffer, d)) extents.push_back(walk_.Print(buffer.extents[d]));
  }
  return Joined(extents);
}

bool KernelView::Touched(int buffer) const {
  bool touched = false;
  for (const BodyPlan& body : plan_.bodies) {
    ForEachPlace(body.stages, [&](const Place& p, bool) {
      for (int b = p.buffer; b >= 0; b = plan_.buffers[static_cast<size_t>(b)].same_as) {
        touched = touched || b == buffer;
      }
    });
  }
  return touched;
}

/// Scratch, values that need a place, and panels packed where they are used.
void KernelView::Memory() {
  std::vector<Fields> scratch, panels;
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    const Buffer& buffer = plan_.buffers[b];
    const bool of_spec = buffer.ref >= 0;
    if (of_spec && kernel_.refs[b].role != Role::kScratch) continue;
    if (!of_spec && (buffer.in_register || !Touched(static_cast<int>(b)))) continue;
    Fields& f = scratch.emplace_back();
    const std::string type = StorageType(buffer.dtype);
    const std::string extents = ExtentList(buffer);
    int rank = 0;
    for (size_t d = 0; d < buffer.extents.size(); ++d) rank += Keeps(buffer, d);
    const bool accumulator = static_cast<int>(b) == plan_.accumulator;
    f.Set("buffer", names_.buffers[b]);
    f.Set("type", type);
    f.Set("member_type",
          accumulator ? type + "*" : "Tile<" + type + ", " + std::to_string(rank) + ">");
    f.Set("operand",
          of_spec ? Operand(b) : "{" + Quoted(names_.buffers[b]) + ", " + std::to_string(b) + "}");
    f.Set("count", accumulator    ? "AccumulatorSize(" + extents + ")"
                   : buffer.dense ? "DenseSize<" + type + ">(" + extents + ")"
                                  : "TileSize<" + type + ">(" + extents + ")");
    f.Set("extents", "{" + extents + "}");
    const std::string memory = buffer.same_as >= 0
                                   ? names_.buffers[static_cast<size_t>(buffer.same_as)] + "_memory"
                                   : names_.buffers[b] + "_memory";
    f.SetFlag("owns", buffer.same_as < 0);
    f.SetFlag("forgets", of_spec);
    f.Set("tile", accumulator ? memory
                  : buffer.dense
                      ? "MakeDenseTile(" + memory + (extents.empty() ? "" : ", " + extents) + ")"
                      : "MakeTile(" + memory + (extents.empty() ? "" : ", " + extents) + ")");
  }
  for (size_t p = 0; p < plan_.panels.size(); ++p) {
    const Panels& source = plan_.panels[p];
    Fields& f = panels.emplace_back();
    f.Set("panel", names_.panels[p]);
    f.Set("bytes", std::string(source.side == Side::kLeft ? "LeftPanels<" : "RightPanels<") +
                       StorageType(source.element) + ">::Bytes(" + walk_.Print(source.rows) + ", " +
                       walk_.Print(source.cols) + ")");
    f.Set("operand",
          "{" + Quoted(names_.panels[p]) + ", " + std::to_string(plan_.buffers.size() + p) + "}");
  }
  fields_.SetFlag("forgets_any",
                  std::any_of(kernel_.refs.begin(), kernel_.refs.end(),
                              [](const Ref& ref) { return ref.role == Role::kScratch; }));
  fields_.SetList("scratch", std::move(scratch));
  fields_.SetList("panels", std::move(panels));
}

// ---- bodies ------------------------------------------------------------------------------------

void CollectDots(const Stages& stages, bool* any) {
  for (const Stage& stage : stages) {
    *any = *any || stage.kind == Stage::Kind::kDot;
    CollectDots(stage.body, any);
    CollectDots(stage.orelse, any);
  }
}

void KernelView::Bodies() {
  std::vector<Fields> bodies;
  bool dots = false;
  for (const BodyPlan& body : plan_.bodies) {
    BodyView view(plan_, names_, spec_file_);
    Fields f = view.Make(body.stages);
    f.Set("tag_parameter", body.name.empty() ? "" : body.name + ", ");
    bodies.push_back(std::move(f));
    CollectDots(body.stages, &dots);
  }
  fields_.SetList("bodies", std::move(bodies));
  fields_.SetFlag("has_dots", dots);
  fields_.SetFlag("peeled", plan_.bodies.size() > 1);
  std::vector<Fields> rows;
  for (int r = 0; r < 8; ++r) {
    Fields& f = rows.emplace_back();
    f.Set("r", std::to_string(r));
    f.Set("panel", r < 4 ? "x_a" : "x_b");
    f.Set("lane", std::to_string(r % 4));
    f.SetFlag("always", r == 0);
    f.Set("condition", r == 0 ? "" : "if constexpr (kRows > " + std::to_string(r) + ") ");
  }
  fields_.SetList("tile_rows", std::move(rows));
  std::string first, last;
  for (int axis : plan_.reduction_axes) {
    const std::string a = std::to_string(axis);
    first += (first.empty() ? "" : " && ") + ("at[" + a + "] == 0");
    last += (last.empty() ? "" : " && ") + ("at[" + a + "] + 1 == steps[" + a + "]");
  }
  fields_.Set("first", first);
  fields_.Set("last", last);
}

}  // namespace

Fields MakeView(const Plan& plan, std::string_view spec_file) {
  return KernelView(plan, spec_file).Make();
}

}  // namespace kiln::render
