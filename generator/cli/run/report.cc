#include "generator/cli/run/report.h"

#include <iostream>

#include "generator/check/grid/check_grid.h"
#include "generator/cli/run/predict.h"
#include "generator/cli/run/run.h"
#include "generator/cli/run/simulate.h"

namespace kiln::cli {
namespace {

struct ReportCommand {
  SimulateOptions what;
  PictureFiles files;
  bool no_advice = false;

  int Run();
};

void CheckTheGrid(const Simulation& simulation, Diagnostics& diagnostics) {
  Progress progress("checking the grid");
  GridCheckOptions check = simulation.limit.ForGrid(progress);
  check.vmem_bytes = simulation.machine.vmem;
  check.smem_bytes = simulation.machine.smem;
  CheckGrid(*simulation.binding, check, diagnostics);
}

int ReportCommand::Run() {
  if (!files.any()) files.page = "report.html";
  if (!files.AreDistinct("-o", what.spec, what.machine)) return kUsage;
  int status = kFine;
  const auto simulation = PrepareSimulation(what, &status);
  if (!simulation) return status;
  Loaded& loaded = simulation->loaded;
  PictureRequest request;
  request.loaded = &loaded;
  request.machine = &simulation->machine;
  std::optional<Timeline> timeline;
  if (simulation->binding && !loaded.diagnostics.HasErrors()) {
    request.binding = &*simulation->binding;
    if (!AllowPrediction(*simulation, /*detail=*/true)) return kUsage;
    CheckTheGrid(*simulation, loaded.diagnostics);
    // Of a kernel at fault there may be a timeline, too; what it lacks for one is then no news.
    Diagnostics unknown;
    timeline = PredictSimulation(*simulation, /*detail=*/true, unknown);
    if (!timeline && !loaded.diagnostics.HasErrors()) {
      loaded.diagnostics = unknown;
      return Report(loaded, what.spec.format);
    }
  }
  if (timeline) {
    request.timeline = &*timeline;
    const bool advise = !no_advice && !loaded.diagnostics.HasErrors();
    request.advice = CostLines(ResultOf(*simulation, *timeline, advise));
  }
  status = Report(loaded, what.spec.format);
  const Progress progress("drawing");
  if (!WritePictures(request, files)) return kUsage;
  return status;
}

}  // namespace

void AddReport(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<ReportCommand>();
  command->what.Add(list);
  command->files.Add(list, "-o,--out", "");
  list.Flag("--no-advice", command->no_advice, "do not try what would be faster");
  list.Footer(
      "Examples:\n"
      "  kiln report specs/matmul.yaml --machine=v4 --dims m=4096,n=4096,k=4096 -o matmul.html\n"
      "  kiln report specs/sparse_dense.yaml --dims m=512,k=512,n=4096,capacity=4 blocks=4\n"
      "           idxs_i=0,0,2,3 idxs_k=0,1,1,0 --trace=sparse.json\n"
      "Without -o and --trace it writes report.html. What is on the page: docs/report.md.");
  run = [command] {
    command->what.spec.Untangle(command->what.words);
    return command->Run();
  };
}

}  // namespace kiln::cli
