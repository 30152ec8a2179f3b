#include <iostream>
#include <nlohmann/json.hpp>

#include "generator/cli/run/report.h"
#include "generator/cli/run/run.h"
#include "generator/predict/cost.h"
#include "generator/report/trace.h"
#include "generator/system/write_file.h"
#include "generator/text/utf8.h"

namespace kiln::cli {
namespace {

std::vector<ReportDiagnostic> DiagnosticsOf(const Loaded& loaded) {
  std::vector<ReportDiagnostic> diagnostics;
  for (const Diagnostic& found : loaded.diagnostics.Sorted()) {
    diagnostics.push_back({found.severity == Severity::kError, found.rule, found.message,
                           found.hint, loaded.source->Locate(found.span.begin).line});
  }
  return diagnostics;
}

ReportInput InputOf(const PictureRequest& request) {
  ReportInput input;
  input.kernel = request.loaded->kernel.get();
  input.binding = request.binding;
  input.timeline = request.timeline;
  input.advice = request.advice;
  input.counts = request.counts;
  input.diagnostics = DiagnosticsOf(*request.loaded);
  input.diagnostics.insert(input.diagnostics.end(), request.diagnostics.begin(),
                           request.diagnostics.end());
  if (!request.timeline) return input;

  const CostSummary cost = SummaryOf(*request.timeline, *request.machine);
  input.bound = cost.bound;
  input.vmem_limit = request.machine->vmem_limit;
  input.roofline.peak_flops = cost.peak_flops;
  input.roofline.hbm_bps =
      request.machine->hbm_bps * static_cast<double>(request.timeline->cores.size());
  input.roofline.flops = cost.flops;
  input.roofline.bytes = static_cast<double>(cost.bytes);
  return input;
}

bool WritePage(const PictureRequest& request, const std::string& path) {
  const std::string page = ReportPage(ReportData(InputOf(request)));
  std::string why;
  if (WriteIfChanged(path, page, &why) == Written::kFailed) {
    UsageError(why);
    return false;
  }
  std::cerr << "wrote " << OneLine(path) << ", " << Bytes(static_cast<int64_t>(page.size()))
            << "\n";
  return true;
}

bool WriteTraceFile(const Timeline& timeline, const std::string& path) {
  FileWriter file(path);
  FileBuffer buffer(file);
  std::ostream out(&buffer);
  WriteTrace(timeline, out);
  if (const std::string why = file.Finish(); !why.empty()) {
    UsageError(why);
    return false;
  }
  std::cerr << "wrote " << OneLine(path) << ", to open in ui.perfetto.dev\n";
  return true;
}

}  // namespace

void PictureFiles::Add(const OptionList& list, const char* page_option, const std::string& when) {
  list.Add(page_option, page, when + "the page, one HTML file").Takes("FILE");
  list.Add("--trace", trace, when + "the timeline as trace events, for Perfetto").Takes("FILE");
}

bool PictureFiles::AreDistinct(const char* page_option, const SpecOptions& spec,
                               const std::string& machine) const {
  return cli::AreDistinct(
      {{page_option, page}, {"--trace", trace}},
      {{"SPEC", SpecFile(spec.spec)}, {"--lock", spec.lock.file}, {"--machine", machine}});
}

std::string BoundLine(const PredictResult& result) {
  return "Bound by " + result.cost.bound + ": " + BoundText(result) + ".";
}

std::vector<std::string> CostLines(const PredictResult& result) {
  std::vector<std::string> lines = {BoundLine(result)};
  for (const std::string& line : AdviceLines(result)) lines.push_back("What would help: " + line);
  return lines;
}

bool WritePictures(const PictureRequest& request, const PictureFiles& files) {
  if (!files.page.empty() && !WritePage(request, files.page)) return false;
  if (files.trace.empty()) return true;
  if (request.timeline) return WriteTraceFile(*request.timeline, files.trace);
  std::cerr << "kiln: nothing ran, so there is nothing to write to `" << OneLine(files.trace)
            << "`\n";
  return true;
}

}  // namespace kiln::cli
