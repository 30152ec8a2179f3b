#include "generator/render/view/specialization_view.h"

#include <cstdio>

#include "generator/plan/stays.h"
#include "generator/plan/walk.h"
#include "generator/render/print/cpp.h"
#include "generator/render/view/banner.h"
#include "generator/render/view/body_view.h"

namespace kiln::render {
namespace {

using Layout = OperandPlan::Layout;

}  // namespace

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
    std::string names = members[m++].second;
    while (m < members.size() && members[m].first == type) names += ", " + members[m++].second;
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
  Operands();
  Memory();
  Locate();
  Bodies();
  Params();
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
  for (const ElementPtr& count : plan_.steps) steps.push_back(walk_.Print(*count));
  for (const Axis& axis : kernel_.axes) parallel += axis.parallel;
  for (const FreeBlock& block : plan_.free_blocks) {
    steps[block.axis.position()] =
        "DivUp(" + walk_.Print(block.extent) + ", " + BlockSize(block.size, block.space) + ")";
  }
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

/// Block sizes that Direct may choose, and how it does.
void SpecializationView::FreeBlocks() {
  std::vector<Fields> blocks;
  std::string inner;  // elements of a row so far
  for (size_t b = plan_.free_blocks.size(); b-- > 0;) {
    const FreeBlock& block = plan_.free_blocks[b];
    const std::string name = names_[block.axis];
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
        f.Set("chosen", "DepthFor<" + StorageType(block.element) + ">(core.cpu(), " + name + ", " +
                            extent + (block.reuse ? ", " + walk_.Print(*block.reuse) : "") +
                            (block.unpacked ? ", " + RowStride(block.unpacked) : "") + ")");
        break;
    }
    blocks.push_back(std::move(f));
  }
  std::vector<Fields> members(blocks.rbegin(), blocks.rend());
  for (Fields& member : members) member.Set("separator", &member == &members.back() ? ";" : ",");
  fields_.SetFlag("has_free_blocks", !blocks.empty());
  fields_.SetList("free_blocks", std::move(members));
  fields_.SetList("chosen_blocks", std::move(blocks));
}

void SpecializationView::Bodies() {
  std::vector<Fields> bodies;
  BodyView::Uses uses;
  for (const BodyPlan& body : plan_.bodies) {
    BodyView view(plan_, names_, spec_file_);
    Fields f = view.Make(body.stages);
    f.Set("tag", plan_.bodies.size() > 1 ? body.name : "");
    f.SetFlag("of_any_step", plan_.HasOneBody() && plan_.Finishes());
    bodies.push_back(std::move(f));
    uses.Add(view.uses());
  }
  fields_.SetFlag("has_bodies", bodies.size() > 1);
  fields_.SetList("bodies", std::move(bodies));
  fields_.SetFlag("finishes", plan_.Finishes());
  std::string first, last;
  for (const AxisId axis : plan_.reduction_axes) {
    const std::string a = std::to_string(axis.number());
    first += (first.empty() ? "" : " && ") + ("point[" + a + "] == 0");
    last += (last.empty() ? "" : " && ") + ("point[" + a + "] + 1 == steps[" + a + "]");
  }
  if (plan_.reduction_stay) {
    const std::string& output = names_[plan_.reduction_stay];
    first = "first_" + output;
    last = "last_" + output;
  } else if (plan_.IsPeeled()) {
    uses.Add({.point = true, .steps = plan_.Finishes()});
  }
  fields_.Set("first", first);
  fields_.Set("last", last);
  Given(uses);
}

/// What a step knows besides its operands, where a body asks for it.
void SpecializationView::Given(const BodyView::Uses& uses) {
  fields_.SetFlag("uses_call", uses.call);
  fields_.SetFlag("uses_point", uses.point);
  fields_.SetFlag("uses_steps", uses.steps);
  std::vector<std::string> given{"core"};
  if (uses.call) given.push_back("call");
  if (uses.point) given.push_back("at");
  if (uses.steps) given.push_back("steps");
  if (HasCopies()) given.push_back("copies");
  step_values_.insert(step_values_.begin(), given.begin(), given.end());
  step_values_.insert(step_values_.end(), visit_names_.begin(), visit_names_.end());
  fields_.SetList("step_values", Enumerated("value", step_values_, "});"));
}

}  // namespace kiln::render
