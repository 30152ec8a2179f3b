#include "generator/render/view/specialization_view.h"

#include <algorithm>
#include <cstdio>

#include "generator/plan/stays.h"
#include "generator/plan/walk.h"
#include "generator/render/print/cpp.h"
#include "generator/render/view/banner.h"
#include "generator/render/view/body_view.h"
#include "generator/render/view/mentions.h"

namespace kiln::render {

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

bool IsArgument(const Ref& ref) {
  const bool inside = ref.role == Role::kScratch || ref.role == Role::kSemaphore;
  return !inside && ref.view_of < 0 && !ref.prepared;
}

ScalarPrinter::Names WalkNames(const KernelNames& names, const std::string& point,
                               const std::string& reporter) {
  ScalarPrinter::Names of;
  of.axis = [point](AxisId axis) { return point + "[" + std::to_string(axis.number()) + "]"; };
  of.steps = [](AxisId axis) { return "steps[" + std::to_string(axis.number()) + "]"; };
  of.scalar = [&names](RefId ref) { return "call." + names[ref]; };
  of.dim = [&names](DimId dim) { return "call." + names[dim]; };
  of.core = reporter;
  return of;
}

std::string ConstantText(const NodePtr& value, DType dtype) {
  uint64_t number = 0;
  if (IsPacked(dtype))
    number = static_cast<uint64_t>(value->int_value) & 15;
  else if (!IsFloat(dtype))
    return IntLiteral(value->int_value, dtype);
  else if (!IsNarrowFloat(dtype))
    return FloatLiteral(value->float_value, dtype);
  else
    number = BitsOfFloat(value->float_value, dtype);
  char bits[8];
  std::snprintf(bits, sizeof bits, "0x%0*X", RowOf(dtype).bits / 4, static_cast<unsigned>(number));
  return "FromBits<" + StorageType(dtype) + ">(" + bits + ")";
}

std::vector<Fields> Declarations(const std::vector<std::pair<std::string, std::string>>& members) {
  std::vector<Fields> lines;
  for (size_t m = 0; m < members.size();) {
    const std::string& type = members[m].first;
    const bool shares = !type.ends_with('*') && !type.ends_with('&') && !type.ends_with("auto");
    std::string names = members[m++].second;
    while (shares && m < members.size() && members[m].first == type)
      names += ", " + members[m++].second;
    lines.emplace_back().Set("type", type).Set("names", names);
  }
  return lines;
}

std::vector<std::string> ParamDefinitions(const Kernel& kernel, const KernelNames& names) {
  std::vector<std::string> params;
  for (const int param : names.used_params) {
    params.push_back(names.Param(param) + " = " + kernel.params[static_cast<size_t>(param)].value);
  }
  return params;
}

SpecializationView::SpecializationView(const Plan& plan, std::string_view spec_file)
    : plan_(plan),
      kernel_(*plan.kernel),
      spec_file_(spec_file),
      names_(NamesOf(plan)),
      walk_(plan, NamesOfWalk("core")),
      map_(plan, NamesOfWalk("from")) {}

ScalarPrinter::Names SpecializationView::NamesOfWalk(const std::string& reporter) const {
  ScalarPrinter::Names names = WalkNames(names_, "at", reporter);
  names.param = [this](int param) { return names_.Param(param); };
  return names;
}

Fields SpecializationView::Make() {
  Banner();
  Grid();
  FreeBlocks();
  Given();
  Operands();
  Memory();
  Visits();
  Locate();
  Bodies();
  Step();
  FromTarget();
  Params();
  const bool has_dense = std::any_of(plan_.buffers.begin(), plan_.buffers.end(),
                                     [](const Buffer& buffer) { return buffer.dense; });
  fields_.SetFlag("calls_functions", walk_.calls() || map_.calls() || has_dense);
  return std::move(fields_);
}

/// Those that the text mentions, once all of it is there.
void SpecializationView::Params() {
  const std::vector<std::string> params = ParamDefinitions(kernel_, names_);
  fields_.SetFlag("has_params", !params.empty());
  fields_.SetList("params", Enumerated("param", params, ";"));
}

void SpecializationView::Banner() {
  std::vector<Fields> lines;
  for (const std::string& line : BannerLines(plan_)) lines.emplace_back().Set("text", line);
  fields_.SetList("banner", std::move(lines));
}

void SpecializationView::Grid() {
  std::vector<std::string> steps, cut;
  int parallel = 0;
  for (const AxisId axis : IdsOf(kernel_.axes)) {
    const auto free = std::find_if(plan_.free_blocks.begin(), plan_.free_blocks.end(),
                                   [&](const FreeBlock& block) { return block.axis == axis; });
    steps.push_back(free == plan_.free_blocks.end() ? walk_.Print(*plan_.steps[axis])
                                                    : "DivUp(" + walk_.Print(free->extent) + ", " +
                                                          BlockSize(free->size, free->space) + ")");
  }
  for (const Axis& axis : kernel_.axes) parallel += axis.parallel;
  for (const AxisId axis : plan_.cut_axes) cut.push_back(std::to_string(axis.number()));
  fields_.Set("rank", std::to_string(kernel_.axes.size()));
  fields_.SetList("step_counts", Enumerated("count", steps, ""));
  fields_.Set("parallel", std::to_string(parallel));
  fields_.Set("cut_first", Joined(cut));
  std::string axes;
  for (size_t a = 0; a < kernel_.axes.size(); ++a) {
    axes += (a == 0 ? "" : ", ") + std::to_string(a) + ": " + kernel_.axes[a].name;
  }
  fields_.Set("axes_of_point", axes.empty() ? "" : "  // of axes " + axes);
}

std::string SpecializationView::BlockSize(const Size& size, SpaceId space) const {
  for (const FreeBlock& block : plan_.free_blocks) {
    if (block.space == space) return "blocks." + names_[block.axis];
  }
  return walk_.Print(size);
}

/// Block sizes that Direct may choose, and how it does: of depths the instruction set decides.
void SpecializationView::FreeBlocks() {
  std::vector<Fields> blocks, chosen, depths;
  std::string inner;  // elements of a row so far
  for (size_t b = plan_.free_blocks.size(); b-- > 0;) {
    const FreeBlock& block = plan_.free_blocks[b];
    const std::string& name = names_[block.axis];
    const std::string extent = walk_.Print(block.extent);
    Fields f;
    f.Set("block_axis", name);
    f.Set("spec_size", walk_.Print(block.size));
    switch (block.use) {
      case FreeBlock::Use::kPass:
        f.Set("chosen",
              "PassSize(core.cpu(), " + extent + (inner.empty() ? "" : ", " + inner) + ")");
        inner += (inner.empty() ? "" : " * ") + name;
        break;
      case FreeBlock::Use::kStrip:
        f.Set("chosen", "StripSize(core.cpu(), " + extent + ")");
        break;
      case FreeBlock::Use::kRows:
        f.Set("chosen",
              "ChooseMC(core.cpu(), " + extent + ", core.count()" +
                  (block.reuse ? ", " + walk_.Print(*block.reuse) + ", " + walk_.Print(*block.depth)
                               : "") +
                  ")");
        break;
      case FreeBlock::Use::kColumns:
        f.Set("chosen", "ChooseNC(" + extent + ", core.count()" +
                            (block.reuse ? ", " + walk_.Print(*block.reuse) : "") +
                            (block.scaled ? ", StoredCols" : "") + ")");
        break;
      case FreeBlock::Use::kDepth:
        f.Set("chosen", "DepthFor<" + StorageType(block.element) + ">(core.cpu(), blocks." + name +
                            ", " + extent + (block.reuse ? ", " + walk_.Print(*block.reuse) : "") +
                            (block.unpacked ? ", " + RowStride(block.unpacked) : "") + ")");
        break;
    }
    (block.use == FreeBlock::Use::kDepth ? depths : chosen).push_back(f);
    blocks.push_back(std::move(f));
  }
  std::vector<Fields> members(blocks.rbegin(), blocks.rend());
  for (Fields& member : members) member.Set("separator", &member == &members.back() ? ";" : ",");
  fields_.SetFlag("has_free_blocks", !blocks.empty());
  fields_.SetList("free_blocks", std::move(members));
  fields_.SetFlag("chooses_blocks", !chosen.empty());
  fields_.SetList("chosen_blocks", std::move(chosen));
  fields_.SetFlag("chooses_depths", !depths.empty());
  fields_.SetList("depths", std::move(depths));
}

/// What a step knows besides its operands.
void SpecializationView::Given() {
  const std::string rank = std::to_string(kernel_.axes.size());
  const std::string steps = "const std::array<int64_t, " + rank + ">&";
  InStep("Core&", "core", "core");
  InStep("const Call&", "call", "call");
  InStep("const Point<" + rank + ">", "point", "at");
  InStep(steps, "steps", "steps");
  if (HasCopies()) InStep("Copies&", "copies", "copies");
}

void SpecializationView::Bodies() {
  const bool several = plan_.bodies.size() > 1;
  const bool of_any_step = plan_.HasOneBody() && plan_.Finishes();
  const auto [first, last] = EndsOfReduction();
  const std::string ends = plan_.Finishes() ? first + "\n" + last : several ? first : std::string();
  std::vector<Fields> bodies;
  for (const BodyPlan& body : plan_.bodies) {
    Fields f = BodyView(plan_, names_, spec_file_).Make(body.stages);
    f.SetList("locals", Locals({f}, of_any_step ? ends : ""));
    f.Set("tag", several ? body.name : "");
    f.SetFlag("of_any_step", of_any_step);
    bodies.push_back(std::move(f));
  }
  std::erase_if(step_, [&](const StepMember& m) {
    const bool if_asked_for = m.name == "call" || m.name == "point" || m.name == "steps";
    return if_asked_for && !Mentions(bodies, m.name) && !Mentions(ends, m.name);
  });
  fields_.Set("first", first);
  fields_.Set("last", last);
  fields_.SetFlag("finishes", plan_.Finishes());
  fields_.SetFlag("has_bodies", several);
  fields_.SetList("locals_of_ends", Locals({}, several ? ends : ""));
  fields_.SetList("bodies", std::move(bodies));
}

void SpecializationView::Step() {
  std::vector<std::pair<std::string, std::string>> members;
  std::vector<std::string> values;
  for (const StepMember& member : step_) {
    members.emplace_back(member.type, member.name);
    values.push_back(member.value);
  }
  std::vector<Fields> lines = Declarations(members);
  for (Fields& line : lines) line.SetFlag("is_point", line.Find("names")->text == "point");
  fields_.SetList("step_members", std::move(lines));
  fields_.SetList("step_values", Enumerated("value", values, "};"));
}

/// What the instruction set decides.
void SpecializationView::FromTarget() {
  const bool has_blocks = !plan_.free_blocks.empty();
  if (!target_.empty() && has_blocks)
    target_.insert(target_.begin(), {"Blocks", "blocks", "blocks"});
  std::vector<std::pair<std::string, std::string>> members;
  std::vector<std::string> values;
  for (const TargetMember& member : target_) {
    members.emplace_back(member.type, member.name);
    values.push_back(member.value);
  }
  const std::string all = Joined(values);
  const std::vector<Fields>& depths = fields_.Find("depths")->items;
  const auto parameter = [&](const std::string& name) {
    return Mentions(all, name) || Mentions(depths, name) ? " " + name : "";
  };
  fields_.Set("call_of_target", parameter("call"));
  fields_.Set("core_of_target", depths.empty() ? "" : " core");
  fields_.Set("blocks_of_target", has_blocks ? ", Blocks blocks" : "");
  fields_.Set("blocks_for_target", has_blocks ? ", Blocks(call, core)" : "");
  fields_.SetFlag("has_target", !target_.empty());
  fields_.SetList("target_members", Declarations(members));
  fields_.SetList("target_values", Enumerated("value", values, "};"));
}

/// Whether a step is the first of its reduction, and whether it is the last.
std::pair<std::string, std::string> SpecializationView::EndsOfReduction() const {
  if (plan_.reduction_stay) {
    const std::string& output = names_[plan_.reduction_stay];
    return {"first_" + output, "last_" + output};
  }
  std::string first, last;
  for (const AxisId axis : plan_.reduction_axes) {
    const std::string a = std::to_string(axis.number());
    first += (first.empty() ? "" : " && ") + ("point[" + a + "] == 0");
    last += (last.empty() ? "" : " && ") + ("point[" + a + "] + 1 == steps[" + a + "]");
  }
  return {first, last};
}

/// What a body has a member of Step as: values do not change there.
std::string SpecializationView::LocalType(const StepMember& member) {
  if (!member.view.empty() || member.type.ends_with('*')) return "const auto";
  const bool complete = member.type.starts_with("const ") || member.type.ends_with('&');
  return complete ? member.type : "const " + member.type;
}

/// What the stages and the line mention of a step, by its name there.
std::vector<Fields> SpecializationView::Locals(const std::vector<Fields>& stages,
                                               const std::string& line) const {
  std::vector<std::pair<std::string, std::string>> locals;
  for (const StepMember& member : step_) {
    if (!Mentions(stages, member.name) && !Mentions(line, member.name)) continue;
    const std::string of_step = "step." + member.name;
    const std::string value = member.view.empty() ? of_step : member.view + "(" + of_step + ")";
    locals.emplace_back(LocalType(member), member.name + " = " + value);
  }
  return Declarations(locals);
}

}  // namespace kiln::render
