#include "generator/render/view/specialization_view.h"

#include <algorithm>
#include <cstdio>

#include "generator/render/print/cpp.h"
#include "generator/render/view/banner.h"

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
        inner += (inner.empty() ? "blocks." : " * blocks.") + name;
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
        f.Set("chosen", DepthOf(block, name));
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

/// How the instruction set chooses a depth.
std::string SpecializationView::DepthOf(const FreeBlock& block, const std::string& name) const {
  const bool along_columns =
      block.reuse && block.unpacked &&
      plan_.operands[block.unpacked].layout == OperandPlan::Layout::kPackedBT;
  return std::string(along_columns ? "DepthAlongColumns<" : "DepthFor<") +
         StorageType(block.element) + ">(core.cpu(), blocks." + name + ", " +
         walk_.Print(block.extent) + (block.reuse ? ", " + walk_.Print(*block.reuse) : "") +
         (block.unpacked && !along_columns ? ", " + RowStride(block.unpacked) : "") + ")";
}

}  // namespace kiln::render
