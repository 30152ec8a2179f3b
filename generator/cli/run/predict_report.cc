#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "generator/cli/run/predict.h"
#include "generator/cli/run/run.h"

namespace kiln::cli {
namespace {

std::string Percent(double share) {
  const double percent = share * 100;
  return (percent > 0 && percent < 1 ? Digits(percent) : std::to_string(std::lround(percent))) +
         " %";
}

std::string Flops(double flops) {
  const char* const units[] = {" flops", " kflops", " Mflops", " Gflops", " Tflops", " Pflops"};
  size_t unit = 0;
  for (; flops >= 1000 && unit < 5; ++unit) flops /= 1000;
  return Digits(flops) + units[unit];
}

std::string Counted(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Columns, the first left-aligned, the others right-aligned but for the last.
std::string Columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line = " ";
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - row[c].size(), ' ');
      const bool left = c == 0 || c + 1 == row.size();
      line += (c == 0 ? " " : "   ") + (left ? row[c] + space : space + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string GridText(const Timeline& timeline) {
  std::string text;
  for (const Timeline::Axis& axis : timeline.axes) {
    text += (text.empty() ? "" : ", ") + axis.name + "=" + std::to_string(axis.steps) +
            (axis.parallel ? " parallel" : "");
  }
  return text;
}

std::string NeedsText(const PredictResult& result) {
  const CostSummary& cost = result.cost;
  std::vector<std::vector<std::string>> rows;
  for (const CostSummary::Need& need : cost.needs) {
    std::string what;
    if (need.name == "MXU") what = Flops(cost.flops) + " in dots";
    if (need.name == "VPU") what = "loads, arithmetic and stores of registers";
    if (need.name == "HBM")
      what = Bytes(cost.bytes) + " at " + Digits(result.timeline.hbm_bytes_per_second / 1e9) +
             " GB/s" + (result.timeline.cores.size() > 1 ? " a core" : "");
    if (need.name == "steps") {
      what = Counted(cost.steps, "step") + " at " + SimulatedTime(result.machine.step_seconds());
      if (cost.skipped_steps > 0)
        what += ", " + std::to_string(cost.skipped_steps) + " of them skipped at " +
                SimulatedTime(result.machine.skipped_step_seconds());
    }
    if (need.name == "dispatch") what = "the host's call";
    rows.push_back(
        {need.name, SimulatedTime(need.seconds), Percent(need.seconds / cost.seconds), what});
  }
  return Columns(rows);
}

std::string OperandsText(const Timeline& timeline) {
  std::vector<std::vector<std::string>> rows = {
      {"operand", "copies", "in place", "bytes", "buffers", "memory", "type"}};
  for (const TimelineOperand& operand : timeline.operands) {
    const int64_t slots = std::max<int64_t>(operand.buffers, 1);
    const bool in_hbm = operand.kind == TimelineOperand::Kind::kInHbm;
    rows.push_back(
        {operand.name, std::to_string(operand.copies), std::to_string(operand.skipped),
         Bytes(operand.bytes),
         in_hbm ? "" : std::to_string(slots) + " x " + Bytes(operand.memory_bytes / slots),
         in_hbm            ? "HBM"
         : operand.in_smem ? "SMEM"
                           : "VMEM",
         operand.type});
  }
  return Columns(rows);
}

}  // namespace

std::string BoundText(const PredictResult& result) {
  const CostSummary& cost = result.cost;
  const TimelineTotals* of = nullptr;
  for (const TimelineCore& core : result.timeline.cores) {
    if (of == nullptr || core.totals.seconds > of->seconds) of = &core.totals;
  }
  const auto share = [&](double seconds) { return Percent(seconds / cost.seconds); };
  if (cost.bound == "dispatch" || of == nullptr)
    return share(result.timeline.dispatch) + " of the time is the call itself, not the kernel";
  if (cost.bound == "steps")
    return share(of->overhead) + " of the time is step overhead, of " + Counted(of->steps, "step") +
           " that take " + SimulatedTime(result.machine.step_seconds()) + " whatever they do";
  if (cost.bound == "HBM" && of->dma <= of->mxu + of->vpu)
    return "steps wait for copies " + share(of->wait) + " of the time, and the units compute " +
           share(of->mxu + of->vpu);
  if (cost.bound == "HBM")
    return "copies are under way " + share(of->dma) +
           " of the time, longer than the units compute (" + share(of->mxu + of->vpu) +
           "), and steps wait for them " + share(of->wait);
  if (cost.bound == "VPU") return share(of->vpu) + " of the time the vector unit computes";
  return share(of->mxu) + " of the time the matmul unit computes";
}

std::vector<std::string> AdviceLines(const PredictResult& result) {
  std::vector<std::string> lines;
  for (const Advice& advice : result.advice) {
    const double speedup = result.timeline.seconds / advice.seconds;
    lines.push_back(advice.text + ": " + SimulatedTime(advice.seconds) + ", " + Digits(speedup) +
                    " times as fast; needs " + Bytes(advice.vmem_bytes) + " of " +
                    Bytes(result.machine.vmem_limit) + " of VMEM");
  }
  return lines;
}

std::string PredictText(const PredictResult& result) {
  const Timeline& timeline = result.timeline;
  const CostSummary& cost = result.cost;
  std::ostringstream out;
  out << timeline.kernel << " on " << timeline.machine << ": " << SimulatedTime(cost.seconds)
      << ", bound by " << cost.bound << "\n  " << BoundText(result) << "\n";
  out << "\n"
      << Counted(cost.steps, "step") << " (" << GridText(timeline) << ") on "
      << Counted(static_cast<int64_t>(timeline.cores.size()), "core");
  if (timeline.cores.size() > 1) {
    out << ":";
    for (const TimelineCore& core : timeline.cores)
      out << " " << SimulatedTime(core.totals.seconds);
  }
  out << "; what each part of the machine would need alone:\n" << NeedsText(result);
  if (cost.peak_flops > 0) {
    out << "\n" << Digits(cost.intensity) << " flops a byte";
    out << (cost.intensity < cost.ridge ? ", below the " : ", above the ") << Digits(cost.ridge)
        << " from which on matmuls keep the unit busy; " << Percent(cost.utilization) << " of its "
        << Flops(cost.peak_flops) << " a second\n";
  }
  out << "\n"
      << OperandsText(timeline) << "\nVMEM: " << Bytes(timeline.vmem_bytes) << " of "
      << Bytes(result.machine.vmem_limit);
  if (result.machine.vmem_limit < result.machine.vmem)
    out << " (the core has " << Bytes(result.machine.vmem) << ", for compilers that are told)";
  if (timeline.smem_bytes > 0)
    out << "; SMEM: " << Bytes(timeline.smem_bytes) << " of " << Bytes(timeline.smem_budget);
  out << "\n";
  if (timeline.vmem_bytes > result.machine.vmem_limit)
    out << "It does not fit: the times are those it would have.\n";
  if (!result.advice.empty()) out << "\nwhat would help:\n";
  for (const std::string& line : AdviceLines(result)) out << "  " << line << "\n";
  return out.str();
}

std::string PredictJson(const PredictResult& result) {
  using Json = nlohmann::ordered_json;
  const Timeline& timeline = result.timeline;
  const CostSummary& cost = result.cost;
  Json json;
  json["kernel"] = timeline.kernel;
  json["machine"] = timeline.machine;
  json["seconds"] = cost.seconds;
  json["bound"] = cost.bound;
  json["flops"] = cost.flops;
  json["bytes"] = cost.bytes;
  json["steps"] = cost.steps;
  json["skipped_steps"] = cost.skipped_steps;
  json["vmem_bytes"] = timeline.vmem_bytes;
  json["vmem_limit"] = result.machine.vmem_limit;
  json["smem_bytes"] = timeline.smem_bytes;
  json["utilization"] = cost.utilization;
  json["intensity"] = cost.intensity;
  json["ridge"] = cost.ridge;
  for (const CostSummary::Need& need : cost.needs) json["needs"][need.name] = need.seconds;
  json["cores"] = Json::array();
  for (const TimelineCore& core : timeline.cores) {
    const TimelineTotals& of = core.totals;
    json["cores"].push_back({{"seconds", of.seconds},
                             {"steps", of.steps},
                             {"wait", of.wait},
                             {"mxu", of.mxu},
                             {"vpu", of.vpu},
                             {"overhead", of.overhead},
                             {"dma", of.dma}});
  }
  json["operands"] = Json::array();
  for (const TimelineOperand& operand : timeline.operands) {
    json["operands"].push_back({{"name", operand.name},
                                {"type", operand.type},
                                {"copies", operand.copies},
                                {"bytes", operand.bytes},
                                {"skipped", operand.skipped},
                                {"buffers", operand.buffers},
                                {"memory_bytes", operand.memory_bytes}});
  }
  json["advice"] = Json::array();
  for (const Advice& advice : result.advice) {
    Json set = Json::object();
    for (const auto& [name, value] : advice.set) set[name] = value;
    json["advice"].push_back({{"text", advice.text},
                              {"set", set},
                              {"seconds", advice.seconds},
                              {"vmem_bytes", advice.vmem_bytes}});
  }
  return json.dump(2) + "\n";
}

}  // namespace kiln::cli
