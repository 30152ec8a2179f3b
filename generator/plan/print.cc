
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
    for (const SpaceId s : plan_.spaces.ids()) {
      const Space& space = plan_[s];
      std::string text = "space " + SpaceName(s) + ": " + space.extent.ToString();
      if (space.clipped) {
        text += ", stops at the edge of " + NameOf(space.ref) + " along " +
                std::to_string(space.view_axis);
      }
      Line(text);
    }
  }

  void Operands() {
    for (const RefId r : IdsOf(kernel_.refs)) {
      const Ref& ref = kernel_[r];
      if (r == plan_.accumulator) {
        Line("scratch " + ref.name + ": register tiles, since only dots touch it");
      }
      if (ref.block.empty()) continue;
      const OperandPlan& operand = plan_.operands[r];
      std::string text = "operand " + ref.name + ": " + LayoutName(operand.layout);
      if (!operand.reason.empty()) text += " (" + operand.reason + ")";
      for (const Reuse& reuse : operand.reuse) {
        text += ", each";
        for (AxisId axis : reuse.axes) text += " " + AxisName(axis);
        text += " walks again over";
        for (AxisId axis : reuse.window) text += " " + AxisName(axis);
      }
      Line(text);
      Clipped(operand);
      InDirect(operand);
      Slots(ref);
      Lookups(ref);
    }
    const std::set<BufferId> used = UsedBuffers();
    for (const BufferId b : plan_.buffers.ids()) {
      const Buffer& buffer = plan_[b];
      std::string kept;
      for (size_t d = 0; d < buffer.extents.size(); ++d) {
        if (!buffer.dropped[d]) kept += (kept.empty() ? "" : ", ") + buffer.extents[d].ToString();
      }
      if (buffer.ref || buffer.in_register || !used.count(b)) continue;
      Line("value " + BufferName(b) + ": " + std::string(Name(buffer.dtype)) + "[" + kept + "]");
    }
  }

  /// Those that stages read or write, and those of which they see another shape.
  std::set<BufferId> UsedBuffers() const {
    std::set<BufferId> used;
    for (const BodyPlan& body : plan_.bodies) {
      ForEachPlace(body.stages, [&](const Place& place, bool) {
        for (BufferId b = place.buffer; b; b = plan_[b].same_as) used.insert(b);
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
    if (operand.rows_per_b) {
      Line("if few rows of " + SpaceName(operand.rows_per_b) +
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
    for (AxisId axis : plan_.cut_axes) text += (text.empty() ? "" : ", ") + AxisName(axis);
    Line(text.empty() ? "cores: one, no axis is parallel"
                      : "cores cut first: " + text + "; done, they take over each other's turns");
    text.clear();
    for (AxisId axis : plan_.reduction_axes) text += (text.empty() ? "" : ", ") + AxisName(axis);
    if (!text.empty()) Line("peeled: first and last step of " + text);
    if (plan_.reduction_stay)
      Line("peeled: first and last visit of " + NameOf(plan_.reduction_stay));
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
  template <typename Key>
  std::string NumberOf(Key key, std::map<Key, int>* seen) const {
    const int next = static_cast<int>(seen->size());
    return std::to_string(canonical_ ? seen->emplace(key, next).first->second : key.number());
  }
  const std::string& NameOf(RefId ref) const { return kernel_[ref].name; }
  const std::string& AxisName(AxisId axis) const { return kernel_[axis].name; }
  static std::string SpaceName(SpaceId space) { return "s" + std::to_string(space.number()); }
  std::string LoopName(LoopId loop) const { return "i" + NumberOf(loop, &loops_); }
  std::string BufferName(BufferId buffer) const {
    const Buffer& b = plan_[buffer];
    if (b.ref) return b.name;
    return (b.name.empty() ? "value" : b.name) + "#" + std::to_string(buffer.number());
  }
  std::string VariableName(VariableId variable) const {
    const Variable& v = plan_[variable];
    const std::string number = "#" + NumberOf(variable, &variables_);
    return canonical_ || v.name.empty() ? "v" + number : v.name + number;
  }

  std::string PlaceText(const Place& place) const {
    std::string text;
    for (const Coordinate& c : place.at) {
      std::string at = c.loop ? LoopName(c.loop) : "";
      if (c.offset) at += (at.empty() ? "" : " + ") + Text(*c.offset);
      if (at.empty()) at = "0";
      if (c.around) at = "(" + at + ") % " + c.around->ToString();
      text += (text.empty() ? "" : ", ") + at;
    }
    return BufferName(place.buffer) + "[" + text + "]";
  }

  std::string Text(const Element& e) const {
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
        [&](const Step& step) { return AxisName(step.axis); },
        [&](const Steps& steps) { return "steps(" + AxisName(steps.axis) + ")"; },
        [&](const Extent& extent) { return kernel_[extent.dim].name; },
        [&](const IsStep& is) { return EndText(is.end) + "(" + AxisName(is.axis) + ")"; },
        [&](const IsVisit& is) { return EndText(is.end) + "(" + NameOf(is.ref) + ")"; },
        [&](const Iteration& iteration) { return LoopName(iteration.loop); },
        [&](const Edge& edge) {
          static constexpr const char* kNames[] = {"low", "high", "origin"};
          return std::string(kNames[static_cast<int>(edge.which)]) + "(" + NameOf(edge.ref) + ", " +
                 std::to_string(edge.axis) + ")";
        },
        [](const NoValue&) { return std::string(); });  // no argument of the text
  }

  static std::string EndText(End end) { return end == End::kFirst ? "first" : "last"; }

  std::string OperationText(const element::Operation& operation, DType dtype) const {
    std::string args;
    for (const ElementPtr& arg : operation.args) {
      if (!Is<element::NoValue>(*arg)) args += (args.empty() ? "" : ", ") + Text(*arg);
    }
    const Op op = operation.op;
    return std::string(op == Op::kCast ? Name(dtype) : Name(op)) + "(" + args + ")";
  }

  std::string SourceText(const PanelSource& source) const {
    return source.ref ? NameOf(source.ref) : PanelsName(source.panels);
  }
  static std::string PanelsName(PanelsId panels) {
    return "panels#" + std::to_string(panels.number());
  }
  std::string SlotText(const SemaphoreSlot& on) const {
    return NameOf(on.ref) + "[" + Text(*on.slot) + "]";
  }
  std::string SpaceText(LoopId loop) const { return SpaceName(plan_[loop].space); }

  void List(const Stages& stages, int indent) {
    for (const Stage& stage : stages) One(stage, indent);
  }

  void Prefetches(const std::vector<Prefetch>& prefetches, int indent) {
    for (const Prefetch& a : prefetches) {
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

  void One(const Stage& of, int indent) {
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
        [&](const Lanes& s) {
          line("lanes " + over(s.loop));
          Prefetches(s.prefetches, indent + 1);
          within(s.body);
        },
        [&](const Rows& s) {
          line("some rows at a time over " + SpaceText(s.loop));
          within(s.body);
        },
        [&](const EachRow& s) {
          line("each of them, " + LoopName(s.loop));
          within(s.body);
        },
        [&](const Define& s) { line("let " + VariableName(s.variable) + " = " + Text(*s.value)); },
        [&](const Assign& s) { line(VariableName(s.variable) + " = " + Text(*s.value)); },
        [&](const Store& s) {
          line(PlaceText(s.place) + " = " + Text(*s.value) +
               (s.mask ? " where " + Text(*s.mask) : ""));
        },
        [&](const Reduce& s) {
          line("let " + VariableName(s.variable) + " = " + std::string(Name(s.op)) + " of lanes " +
               over(s.loop) + ": " + Text(*s.value) + (s.body.empty() ? "" : ", after"));
          Prefetches(s.prefetches, indent + 1);
          within(s.body);
        },
        [&](const Dot& s) { DotLines(s, indent); },
        [&](const Pack& s) {
          line("pack " + PanelsName(s.panels) + " from " + PlaceText(s.place) + ", rows " +
               over(s.row) + ", columns " + over(s.col) +
               (s.low ? ", depth from " + Text(*s.low) : "") +
               (s.high ? ", depth before " + Text(*s.high) : ""));
        },
        [&](const If& s) {
          line("when " + Text(*s.condition) + ":");
          within(s.body);
          if (s.orelse.empty()) return;
          line("else:");
          within(s.orelse);
        },
        [&](const For& s) {
          line("for " + VariableName(s.variable) + " from " + Text(*s.low) + " to " +
               Text(*s.high) + ":");
          within(s.body);
        },
        [&](const Assert& s) { line("assert " + Text(*s.condition)); },
        [&](const Range& s) {
          line("check 0 <= " + Text(*s.start) + " <= " + Text(*s.extent) + " - " + Text(*s.size) +
               " of " + s.of);
        },
        [&](const Touch& s) {
          line("check that " + PlaceText(s.window.begin) + " may be " +
               (s.writes ? "written" : "read"));
        },
        [&](const Copy& s) {
          line("copy " + PlaceText(s.from.begin) + " to " + PlaceText(s.to.begin) + " on " +
               SlotText(s.on));
        },
        [&](const Wait& s) { line("wait for " + SlotText(s.on)); });
  }

  void DotLines(const stage::Dot& s, int indent) {
    Line("dot of " + std::string(Name(s.element)) + ", tiles " + LoopName(s.row) + ", " +
             LoopName(s.col) + " over " + SpaceText(s.row) + ", " + SpaceText(s.col) + ": " +
             VariableName(s.sum) + " = " + (s.start ? Text(*s.start) : "0") + " + " +
             SourceText(s.a) + " @ " + SourceText(s.b),
         indent);
    if (s.low) Line("rows from " + Text(*s.low), indent + 1);
    if (s.high) Line("rows before " + Text(*s.high), indent + 1);
    if (s.across_steps)
      Line("the first step starts from 0, and the last one alone does this:", indent + 1);
    Prefetches(s.prefetches, indent + 1);
    List(s.body, indent + 1);
  }

  const Plan& plan_;
  const Kernel& kernel_;
  const bool canonical_;
  // Canonical numbers.
  mutable std::map<LoopId, int> loops_;
  mutable std::map<VariableId, int> variables_;
  std::string out_;
};

}  // namespace

std::string ToString(const Plan& plan) { return PlanPrinter(plan).Run(); }

std::string CanonicalText(const Plan& plan, const Stages& stages) {
  return PlanPrinter(plan, /*canonical=*/true).Run(stages);
}

}  // namespace kiln
