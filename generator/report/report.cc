#include "generator/report/report.h"

#include <nlohmann/json.hpp>

#include "generator/report/column.h"
#include "generator/report/picture.h"
#include "generator/report/steps.h"

namespace kiln {
namespace {

using Json = nlohmann::ordered_json;

const char* NameOf(TimelineOperand::Kind kind) {
  switch (kind) {
    case TimelineOperand::Kind::kInput:
      return "input";
    case TimelineOperand::Kind::kOutput:
      return "output";
    case TimelineOperand::Kind::kScratch:
      return "scratch";
    case TimelineOperand::Kind::kPrefetch:
      return "prefetch";
    case TimelineOperand::Kind::kInHbm:
      return "hbm";
  }
  return "";
}

Json KernelData(const ReportInput& input) {
  const Kernel& kernel = *input.kernel;
  const std::string& path = kernel.source->path();
  Json data = {{"name", kernel.instance.empty() ? kernel.name : kernel.instance},
               {"doc", kernel.doc},
               {"file", path.substr(path.rfind('/') + 1)},
               {"spec", kernel.source->text()},
               {"params", Json::array()},
               {"dims", Json::array()}};
  for (const Param& param : kernel.params)
    data["params"].push_back(Json::array({param.name, param.value}));
  for (size_t d = 0; input.binding && d < kernel.dims.size(); ++d) {
    if (input.binding->dims[d])
      data["dims"].push_back(Json::array({kernel.dims[d].name, *input.binding->dims[d]}));
  }
  return data;
}

/// "idxs_k[t], j"
std::string MapText(const Kernel& kernel, const Ref& ref) {
  std::string text;
  for (const BlockDim& dim : ref.block) {
    if (!dim.index) return "";
    if (!text.empty()) text += ", ";
    text += ToString(*dim.index, kernel);
  }
  return text;
}

Json OperandData(const Kernel& kernel, const TimelineOperand& operand) {
  Json data = {
      {"name", operand.name},
      {"kind", NameOf(operand.kind)},
      {"type", operand.type},
      {"smem", operand.in_smem},
      {"line", operand.line},
      {"element_bits", operand.element_bits},
      {"buffers", operand.buffers},
      {"memory_bytes", operand.memory_bytes},
      {"copies", operand.copies},
      {"bytes", operand.bytes},
      {"saved", operand.skipped},
      {"map", operand.ref < 0 ? std::string() : MapText(kernel, kernel[RefId(operand.ref)])},
      {"dims", Json::array()}};
  for (const TimelineDim& dim : operand.dims) {
    data["dims"].push_back({{"extent", dim.extent},
                            {"size", dim.size},
                            {"positions", dim.positions},
                            {"pitch", dim.pitch},
                            {"origin", dim.origin}});
  }
  return data;
}

Json PictureData(const Picture& picture) {
  Json data = {{"title", picture.title},
               {"operand", picture.operand},
               {"sides", Json::array()},
               {"copies", ColumnOf(picture.copies)},
               {"computed", ColumnOf(picture.computed)}};
  for (const PictureSide& side : picture.sides) {
    data["sides"].push_back({{"name", side.name},
                             {"operand", side.operand},
                             {"dim", side.dim},
                             {"positions", side.positions},
                             {"scale", side.scale}});
  }
  return data;
}

Json PicturesData(const Pictures& pictures) {
  Json data = {{"product", pictures.product}, {"pictures", Json::array()}, {"coverage", nullptr}};
  for (const Picture& picture : pictures.pictures) data["pictures"].push_back(PictureData(picture));
  if (const auto& coverage = pictures.coverage) {
    data["coverage"] = {{"computed", coverage->computed},
                        {"of", coverage->of},
                        {"dims", coverage->dims},
                        {"picture", coverage->picture}};
  }
  return data;
}

Json WorkData(const StepWork& work) {
  return {{"skipped", work.skipped},       {"flops", work.flops},
          {"mxu", work.mxu_seconds},       {"vpu", work.vpu_seconds},
          {"vector_ops", work.vector_ops}, {"statements", work.statements}};
}

Json TimelineData(const ReportInput& input) {
  const Timeline& timeline = *input.timeline;
  const int64_t steps_per_entry = StepsPerEntry(timeline);
  Json data = {{"machine", timeline.machine},
               {"emulated", timeline.emulated},
               {"seconds", timeline.seconds},
               {"dispatch", timeline.dispatch},
               {"tick", kSecondsPerTick},
               {"steps_per_entry", steps_per_entry},
               {"vmem", {timeline.vmem_bytes, timeline.vmem_budget}},
               {"smem", {timeline.smem_bytes, timeline.smem_budget}},
               {"axes", Json::array()},
               {"operands", Json::array()},
               {"works", Json::array()},
               {"cores", Json::array()}};
  for (const Timeline::Axis& axis : timeline.axes)
    data["axes"].push_back(
        {{"name", axis.name}, {"steps", axis.steps}, {"parallel", axis.parallel}});
  for (const TimelineOperand& operand : timeline.operands)
    data["operands"].push_back(OperandData(*input.kernel, operand));
  for (const StepWork& work : timeline.works) data["works"].push_back(WorkData(work));
  for (const TimelineCore& core : timeline.cores)
    data["cores"].push_back(CoreData(timeline, core, steps_per_entry));
  data.update(PicturesData(MakePictures(*input.kernel, timeline)));
  return data;
}

Json DiagnosticsData(const std::vector<ReportDiagnostic>& diagnostics) {
  Json data = Json::array();
  for (const ReportDiagnostic& diagnostic : diagnostics) {
    data.push_back({{"error", diagnostic.error},
                    {"rule", diagnostic.rule},
                    {"message", diagnostic.message},
                    {"hint", diagnostic.hint},
                    {"line", diagnostic.line}});
  }
  return data;
}

Json CountsData(const std::vector<ReportCount>& counts) {
  Json data = Json::array();
  for (const ReportCount& count : counts)
    data.push_back({{"operand", count.operand}, {"copies", count.copies}, {"bytes", count.bytes}});
  return data;
}

}  // namespace

nlohmann::ordered_json ReportData(const ReportInput& input) {
  const ReportRoofline& roof = input.roofline;
  return {{"kernel", KernelData(input)},
          {"timeline", input.timeline ? TimelineData(input) : Json()},
          {"roofline",
           {{"name", roof.name},
            {"peak_flops", roof.peak_flops},
            {"hbm_bps", roof.hbm_bps},
            {"flops", roof.flops},
            {"bytes", roof.bytes}}},
          {"bound", input.bound},
          {"advice", input.advice},
          {"vmem_limit", input.vmem_limit},
          {"counts", CountsData(input.counts)},
          {"diagnostics", DiagnosticsData(input.diagnostics)}};
}

}  // namespace kiln
