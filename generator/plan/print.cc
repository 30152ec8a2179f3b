
#include <algorithm>
#include <map>
#include <set>

#include "generator/plan/plan.h"
#include "generator/plan/walk.h"

/// The stable text form of a Plan.
namespace kiln {
namespace {

using Layout = OperandPlan::Layout;

const char* LayoutName(Layout layout) {
  switch (layout) {
    case Layout::kRows:
      return "rows";
    case Layout::kPackedA:
      return "packed as A";
    case Layout::kPackedAT:
      return "packed as A, transposed";
    case Layout::kPackedB:
      return "packed as B";
    case Layout::kPackedBT:
      return "packed as B, transposed";
  }
  return "";
}

class PlanPrinter {
 public:
  explicit PlanPrinter(const Plan& plan, bool canonical = false)
      : plan_(plan), kernel_(*plan.kernel), canonical_(canonical) {}

  std::string Run(const Stages& stages) {
    List(stages, 0);
    return std::move(out_);
  }

  std::string Run() {
    Line("plan " + kernel_.name + (kernel_.instance.empty() ? "" : ":" + kernel_.instance));
    Spaces();
    Operands();
    Cores();
    Variants();
    if (plan_.dots.MayBeF32()) Line("dots of bf16: as f32 on CPUs that are faster at those");
    for (const BodyPlan& body : plan_.bodies) {
      Line(body.name.empty() ? "body:" : "body " + body.name + ":");
      List(body.stages, 1);
    }
    return std::move(out_);
  }

 private:
  void Line(const std::string& text, int indent = 0) {
    out_ += std::string(static_cast<size_t>(indent) * 2, ' ') + text + "\n";
  }

  void Spaces() {
    for (size_t s = 0; s < plan_.spaces.size(); ++s) {
      const Space& space = plan_.spaces[s];
      std::string text = "space s" + std::to_string(s) + ": " + space.extent.ToString();
      if (space.clipped) {
        text += ", stops at the edge of " + kernel_.refs[static_cast<size_t>(space.ref)].name +
                " along " + std::to_string(space.view_axis);
      }
      Line(text);
    }
  }

  void Operands() {
    for (size_t r = 0; r < kernel_.refs.size(); ++r) {
      const Ref& ref = kernel_.refs[r];
      if (static_cast<int>(r) == plan_.accumulator) {
        Line("scratch " + ref.name + ": register tiles, since only dots touch it");
      }
      if (ref.block.empty()) continue;
      const OperandPlan& operand = plan_.operands[r];
      std::string text = "operand " + ref.name + ": " + LayoutName(operand.layout);
      if (!operand.reason.empty()) text += " (" + operand.reason + ")";
      for (const Reuse& reuse : operand.reuse) {
        text += ", each";
        for (int axis : reuse.axes) text += " " + AxisName(axis);
        text += " walks again over";
        for (int axis : reuse.window) text += " " + AxisName(axis);
      }
      Line(text);
      Clipped(operand);
      InDirect(operand);
      Slots(ref);
      Lookups(ref);
    }
    const std::set<int> used = UsedBuffers();
    for (size_t b = kernel_.refs.size(); b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      std::string kept;
      for (size_t d = 0; d < buffer.extents.size(); ++d) {
        if (!buffer.dropped[d]) kept += (kept.empty() ? "" : ", ") + buffer.extents[d].ToString();
      }
      if (buffer.in_register || !used.count(static_cast<int>(b))) continue;
      Line("value " + BufferName(static_cast<int>(b)) + ": " + std::string(Name(buffer.dtype)) +
           "[" + kept + "]");
    }
  }

  /// Those that stages read or write, and those of which they see another shape.
  std::set<int> UsedBuffers() const {
    std::set<int> used;
    for (const BodyPlan& body : plan_.bodies) {
      ForEachPlace(body.stages, [&](const Place& place, bool) {
        for (int b = place.buffer; b >= 0; b = plan_.buffers[static_cast<size_t>(b)].same_as)
          used.insert(b);
      });
    }
    return used;
  }

  void Clipped(const OperandPlan& operand) {
    std::string dims;
    for (size_t d = 0; d < operand.clipped.size(); ++d) {
      if (operand.clipped[d]) dims += (dims.empty() ? "" : ", ") + std::to_string(d);
    }
    if (!dims.empty()) Line("ends where the array does along " + dims, 1);
  }

  /// What Direct does where sizes, which it knows at run time, allow it.
  void InDirect(const OperandPlan& operand) {
    if (operand.layout == Layout::kRows) return;
    if (operand.unpacked) Line("where its rows are long or close: read unpacked", 1);
    if (!operand.reuse.empty())
      Line("blocks that come back: packed once for all cores, while there is room", 1);
    if (operand.rows_per_b >= 0) {
      Line("if few rows of s" + std::to_string(operand.rows_per_b) +
               " use it, or it stays in the L2: read unpacked",
           1);
    }
  }

  /// What the emulated machine holds of an operand.
  void Slots(const Ref& ref) {
    if (ref.memory == Memory::kAny) return;
    std::string extents;
    for (const Size& extent : ref.view)
      extents += (extents.empty() ? "" : ", ") + extent.ToString();
    const size_t bytes = SizeOf(ref.dtype), rows = 32 / bytes;
    const bool tiled = ref.memory == Memory::kVmem && bytes <= 4;
    Line("slots: " + std::to_string(ref.buffers) + " of " + std::string(Name(ref.dtype)) + "[" +
             extents + "]" + (ref.memory == Memory::kSmem ? " in SMEM" : " in VMEM") +
             (tiled ? ", tiles of (" + std::to_string(rows) + ", 128)" : ""),
         1);
  }

  /// Indices that data decides are checked wherever they change.
  void Lookups(const Ref& ref) {
    for (size_t d = 0; d < ref.block.size(); ++d) {
      if (!ref.block[d].index || !ReadsData(*ref.block[d].index)) continue;
      Line("checked when it changes: " + ToString(*ref.block[d].index, kernel_) +
               " along dimension " + std::to_string(d),
           1);
    }
  }

  bool ReadsData(const Node& node) const {
    const bool looks_up = node.op == Op::kRead;  // of a prefetch array or a scalar
    return looks_up || std::any_of(node.args.begin(), node.args.end(),
                                   [&](const NodePtr& arg) { return ReadsData(*arg); });
  }

  void Cores() {
    std::string text;
    for (int axis : plan_.cut_axes) text += (text.empty() ? "" : ", ") + AxisName(axis);
    Line(text.empty() ? "cores: one, no axis is parallel"
                      : "cores cut first: " + text + "; done, they take over each other's turns");
    text.clear();
    for (int axis : plan_.reduction_axes) text += (text.empty() ? "" : ", ") + AxisName(axis);
    if (!text.empty()) Line("peeled: first and last step of " + text);
    if (plan_.reduction_stay >= 0) {
      Line("peeled: first and last visit of " +
           kernel_.refs[static_cast<size_t>(plan_.reduction_stay)].name);
    }
    for (const FreeBlock& block : plan_.free_blocks) {
      static constexpr const char* kReasons[] = {
          "long in Direct: memory likes long rows", "a strip of columns side by side in Direct",
          "rows that stay in L2 in Direct", "a core's share in Direct",
          "as deep in Direct as a panel suits L1"};
      Line("free block of " + AxisName(block.axis) + ": " + std::to_string(block.size) + ", " +
           kReasons[static_cast<int>(block.use)] +
           (!block.reuse                            ? ""
            : block.depth                           ? ", less for few columns"
            : block.use == FreeBlock::Use::kColumns ? ", more for few rows"
                                                    : ", less for few rows"));
    }
  }

  void Variants() {
    for (const Variant& variant : kernel_.variants) {
      std::string text = "variant when " + ToString(*variant.when, kernel_) + ":";
      for (const auto& [name, value] : variant.set) text += " " + name + "=" + value;
      if (variant.fixed_blocks) text += ", in Direct too";
      if (variant.lock) {
        const std::string& path = variant.lock->path();
        text += ", from " + path.substr(path.rfind('/') + 1) + ":" +
                std::to_string(variant.lock->Locate(variant.span.begin).line);
      }
      Line(text);
    }
  }

  /// That of the plan or, in a canonical text, of the order in which they appear.
  int NumberOf(int number, std::map<int, int>* seen) const {
    return canonical_ ? seen->emplace(number, static_cast<int>(seen->size())).first->second
                      : number;
  }
  const std::string& AxisName(int axis) const {
    return kernel_.axes[static_cast<size_t>(axis)].name;
  }
  std::string LoopName(int loop) const { return "i" + std::to_string(NumberOf(loop, &loops_)); }
  std::string BufferName(int buffer) const {
    const Buffer& b = plan_.buffers[static_cast<size_t>(buffer)];
    if (b.ref >= 0) return b.name;
    return (b.name.empty() ? "value" : b.name) + "#" + std::to_string(buffer);
  }
  std::string VariableName(int variable) const {
    const Variable& v = plan_.variables[static_cast<size_t>(variable)];
    const std::string number = "#" + std::to_string(NumberOf(variable, &variables_));
    return canonical_ || v.name.empty() ? "v" + number : v.name + number;
  }

  std::string PlaceText(const Place& place) const {
    std::string text;
    for (const Coordinate& c : place.at) {
      std::string at = c.loop >= 0 ? LoopName(c.loop) : "";
      if (c.offset) at += (at.empty() ? "" : " + ") + Text(*c.offset);
      if (at.empty()) at = "0";
      if (c.around) at = "(" + at + ") % " + c.around->ToString();
      text += (text.empty() ? "" : ", ") + at;
    }
    return BufferName(place.buffer) + "[" + text + "]";
  }

  std::string Text(const Element& e) const {
    const size_t index = static_cast<size_t>(e.index);
    switch (e.kind) {
      case Element::Kind::kConst: {
        Node node;
        node.dtype = e.dtype;
        node.int_value = e.int_value;
        node.float_value = e.float_value;
        return ToString(node, kernel_);
      }
      case Element::Kind::kLoad:
        return PlaceText(e.place);
      case Element::Kind::kVariable:
        return VariableName(e.index);
      case Element::Kind::kScalar:
        return kernel_.refs[index].name;
      case Element::Kind::kAxis:
        return AxisName(e.index);
      case Element::Kind::kSteps:
        return "steps(" + AxisName(e.index) + ")";
      case Element::Kind::kDim:
        return kernel_.dims[index].name;
      case Element::Kind::kFirstStep:
        return "first(" + AxisName(e.index) + ")";
      case Element::Kind::kLastStep:
        return "last(" + AxisName(e.index) + ")";
      case Element::Kind::kFirstVisit:
        return "first(" + kernel_.refs[index].name + ")";
      case Element::Kind::kLastVisit:
        return "last(" + kernel_.refs[index].name + ")";
      case Element::Kind::kLoop:
        return LoopName(e.index);
      case Element::Kind::kLow:
        return "low(" + kernel_.refs[index].name + ", " + std::to_string(e.axis) + ")";
      case Element::Kind::kHigh:
        return "high(" + kernel_.refs[index].name + ", " + std::to_string(e.axis) + ")";
      case Element::Kind::kOrigin:
        return "origin(" + kernel_.refs[index].name + ", " + std::to_string(e.axis) + ")";
      case Element::Kind::kNoValue:  // no argument of the text
        return "";
      case Element::Kind::kOp:
        break;
    }
    std::string args;
    for (const ElementPtr& arg : e.args) {
      if (arg->kind != Element::Kind::kNoValue) args += (args.empty() ? "" : ", ") + Text(*arg);
    }
    const std::string name(e.op == Op::kCast ? Name(e.dtype) : Name(e.op));
    return name + "(" + args + ")";
  }

  std::string SourceText(const PanelSource& source) const {
    if (source.ref >= 0) return kernel_.refs[static_cast<size_t>(source.ref)].name;
    return "panels#" + std::to_string(source.panels);
  }
  std::string SemaphoreText(const Stage& stage) const {
    return kernel_.refs[static_cast<size_t>(stage.semaphore)].name + "[" + Text(*stage.value) + "]";
  }
  std::string SpaceText(int loop) const {
    return "s" + std::to_string(plan_.loops[static_cast<size_t>(loop)]);
  }

  void List(const std::vector<Stage>& stages, int indent) {
    for (const Stage& stage : stages) One(stage, indent);
  }

  void Prefetches(const Stage& s, int indent) {
    for (const Prefetch& a : s.prefetches) {
      std::string what;
      if (a.kind == Prefetch::Kind::kStream) what = "later lanes of ";
      if (a.kind == Prefetch::Kind::kNextRow) {
        what = "the row after ";
        if (a.to - a.from < a.parts)
          what = "parts " + std::to_string(a.from) + " to " + std::to_string(a.to) + " of " +
                 std::to_string(a.parts) + " of " + what;
      }
      Line("prefetches " + what + PlaceText(a.place), indent);
    }
  }

  void One(const Stage& s, int indent) {
    switch (s.kind) {
      case Stage::Kind::kLoop:
      case Stage::Kind::kLanes:
        Line((s.kind == Stage::Kind::kLoop ? "loop " : "lanes ") + LoopName(s.loop) + " over " +
                 SpaceText(s.loop),
             indent);
        Prefetches(s, indent + 1);
        return List(s.body, indent + 1);
      case Stage::Kind::kRows:
        Line("some rows at a time over " + SpaceText(s.loop), indent);
        return List(s.body, indent + 1);
      case Stage::Kind::kEachRow:
        Line("each of them, " + LoopName(s.loop), indent);
        return List(s.body, indent + 1);
      case Stage::Kind::kDefine:
      case Stage::Kind::kAssign:
        return Line((s.kind == Stage::Kind::kDefine ? "let " : "") + VariableName(s.variable) +
                        " = " + Text(*s.value),
                    indent);
      case Stage::Kind::kStore:
        return Line(
            PlaceText(s.place) + " = " + Text(*s.value) + (s.mask ? " where " + Text(*s.mask) : ""),
            indent);
      case Stage::Kind::kReduce:
        Line("let " + VariableName(s.variable) + " = " + std::string(Name(s.op)) + " of lanes " +
                 LoopName(s.loop) + " over " + SpaceText(s.loop) + ": " + Text(*s.value) +
                 (s.body.empty() ? "" : ", after"),
             indent);
        Prefetches(s, indent + 1);
        return List(s.body, indent + 1);
      case Stage::Kind::kDot:
        Line("dot of " + std::string(Name(s.element)) + ", tiles " + LoopName(s.row) + ", " +
                 LoopName(s.col) + " over " + SpaceText(s.row) + ", " + SpaceText(s.col) + ": " +
                 VariableName(s.variable) + " = " + (s.start ? Text(*s.start) : "0") + " + " +
                 SourceText(s.a) + " @ " + SourceText(s.b),
             indent);
        if (s.low) Line("rows from " + Text(*s.low), indent + 1);
        if (s.high) Line("rows before " + Text(*s.high), indent + 1);
        if (s.across_steps) {
          Line("the first step starts from 0, and the last one alone does this:", indent + 1);
        }
        Prefetches(s, indent + 1);
        return List(s.body, indent + 1);
      case Stage::Kind::kPack:
        return Line("pack panels#" + std::to_string(s.panels) + " from " + PlaceText(s.place) +
                        ", rows " + LoopName(s.pack_row) + " over " + SpaceText(s.pack_row) +
                        ", columns " + LoopName(s.pack_col) + " over " + SpaceText(s.pack_col) +
                        (s.low ? ", depth from " + Text(*s.low) : "") +
                        (s.high ? ", depth before " + Text(*s.high) : ""),
                    indent);
      case Stage::Kind::kIf:
        Line("when " + Text(*s.value) + ":", indent);
        List(s.body, indent + 1);
        if (s.orelse.empty()) return;
        Line("else:", indent);
        return List(s.orelse, indent + 1);
      case Stage::Kind::kFor:
        Line("for " + VariableName(s.variable) + " from " + Text(*s.low) + " to " + Text(*s.high) +
                 ":",
             indent);
        return List(s.body, indent + 1);
      case Stage::Kind::kAssert:
        return Line("assert " + Text(*s.value), indent);
      case Stage::Kind::kRange:
        return Line("check 0 <= " + Text(*s.value) + " <= " + Text(*s.high) + " - " + Text(*s.low) +
                        " of " + s.text,
                    indent);
      case Stage::Kind::kTouch:
        return Line(
            "check that " + PlaceText(s.place) + " may be " + (s.writes ? "written" : "read"),
            indent);
      case Stage::Kind::kCopy:
        return Line(
            "copy " + PlaceText(s.from) + " to " + PlaceText(s.place) + " on " + SemaphoreText(s),
            indent);
      case Stage::Kind::kWait:
        return Line("wait for " + SemaphoreText(s), indent);
    }
  }

  const Plan& plan_;
  const Kernel& kernel_;
  const bool canonical_;
  mutable std::map<int, int> loops_, variables_;  // canonical numbers
  std::string out_;
};

}  // namespace

std::string ToString(const Plan& plan) { return PlanPrinter(plan).Run(); }

std::string CanonicalText(const Plan& plan, const Stages& stages) {
  return PlanPrinter(plan, /*canonical=*/true).Run(stages);
}

}  // namespace kiln
