#include <algorithm>
#include <set>

#include "generator/plan/plan.h"
#include "generator/plan/stage_text.h"
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
  explicit PlanPrinter(const Plan& plan) : plan_(plan), kernel_(*plan.kernel), stages_(plan) {}

  std::string Run() {
    Line("plan " + kernel_.name + (kernel_.instance.empty() ? "" : ":" + kernel_.instance));
    Spaces();
    Operands();
    HostCalls();
    Cores();
    Variants();
    if (plan_.dots.MayBeF32()) Line("dots of bf16: as f32 on CPUs that are faster at those");
    for (const BodyPlan& body : plan_.bodies) {
      Line(body.name.empty() ? "body:" : "body " + body.name + ":");
      out_ += stages_.Lines(body.stages, 1);
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
      std::string text = "space " + StageText::SpaceName(s) + ": " + space.extent.ToString();
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
      text += JoinedDims(ref);
      for (const Reuse& reuse : operand.reuse) {
        text += ", each";
        for (AxisId axis : reuse.axes) text += " " + AxisName(axis);
        text += " walks again over";
        for (AxisId axis : reuse.window) text += " " + AxisName(axis);
      }
      Line(text);
      Index(operand.index);
      Clipped(operand);
      InDirect(operand);
      Slots(ref);
      Lookups(ref);
      InSteps(operand);
    }
    const std::set<BufferId> used = UsedBuffers(plan_);
    for (const BufferId b : plan_.buffers.ids()) {
      const Buffer& buffer = plan_[b];
      std::string kept;
      for (size_t d = 0; d < buffer.extents.size(); ++d) {
        if (!buffer.dropped[d]) kept += (kept.empty() ? "" : ", ") + buffer.extents[d].ToString();
      }
      if (buffer.in_pages)
        Line("scratch " + stages_.BufferName(b) + ": Direct may leave what is copied there");
      if (buffer.ref || buffer.in_register || !used.count(b)) continue;
      Line("value " + stages_.BufferName(b) + ": " + std::string(Name(buffer.dtype)) + "[" + kept +
           "]");
    }
  }

  /// The array's dimensions that the body sees as one.
  static std::string JoinedDims(const Ref& ref) {
    std::string text;
    for (size_t axis = 0; axis < ref.view_dims.size(); ++axis) {
      const size_t first = ref.view_dims[axis], last = ref.LastDimOf(axis);
      if (first == last) continue;
      text += ", dimensions " + std::to_string(first) + (last == first + 1 ? " and " : " to ") +
              std::to_string(last) + " as one";
    }
    return text;
  }

  void Index(const IndexMap& index) {
    std::string text;
    for (const auto& [start, extent] : index.dimensions) {
      const std::string at = stages_.Text(*start);
      text += (text.empty() ? "" : ", ") +
              (extent ? "ds(" + at + ", " + stages_.Text(*extent) + ")" : at);
    }
    if (!text.empty()) Line("index: " + text, 1);
  }

  void InSteps(const OperandPlan& operand) {
    if (operand.watched) Line("others touch its memory, or blocks overlap: watched", 1);
    if (operand.knows_first) Line("each step knows whether its block is a new one", 1);
    if (operand.knows_last) Line("each step knows whether the next one has another block", 1);
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
    if (operand.columns_per_a)
      Line("if few columns of " + StageText::SpaceName(operand.columns_per_a) +
               " use it: read unpacked",
           1);
    if (operand.rows_per_b) {
      const bool by_columns = operand.layout == OperandPlan::Layout::kPackedBT;
      const std::string times =
          operand.products == 1 ? "" : std::to_string(operand.products) + " times ";
      Line("if few " + times + std::string(operand.live_rows ? "live " : "") + "rows of " +
               StageText::SpaceName(operand.rows_per_b) + " use it" +
               (operand.live_rows ? " in a step"
                : by_columns      ? ""
                                  : ", or it stays in the L2") +
               ": read unpacked",
           1);
    }
  }

  /// What the emulated machine holds of an operand.
  void Slots(const Ref& ref) {
    if (ref.memory == Memory::kAny) return;
    std::string extents;
    for (const Size& extent : ref.view)
      extents += (extents.empty() ? "" : ", ") + extent.ToString();
    const int bits = RowOf(ref.dtype).bits, rows = 8 * 32 / bits;
    const bool tiled = ref.memory == Memory::kVmem && bits <= 32;
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

  void HostCalls() {
    for (const HostCallPlan& call : plan_.host_calls) {
      std::string made;
      for (const HostCallPlan::Result& result : call.results)
        made += (made.empty() ? "" : ", ") + NameOf(result.ref);
      Line("before the grid: " + made + " by " + call.function);
    }
  }

  void Cores() {
    for (const AxisId axis : plan_.steps.ids())
      Line("steps of " + AxisName(axis) + ": " + stages_.Text(*plan_.steps[axis]));
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
      Line("free block of " + AxisName(block.axis) + ": " + block.size.ToString() + ", " +
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

  const std::string& NameOf(RefId ref) const { return kernel_[ref].name; }
  const std::string& AxisName(AxisId axis) const { return kernel_[axis].name; }

  const Plan& plan_;
  const Kernel& kernel_;
  StageText stages_;
  std::string out_;
};

}  // namespace

std::string ToString(const Plan& plan) { return PlanPrinter(plan).Run(); }

std::string CanonicalText(const Plan& plan, const Stages& stages) {
  return StageText(plan, /*canonical=*/true).Lines(stages, 0);
}

}  // namespace kiln
