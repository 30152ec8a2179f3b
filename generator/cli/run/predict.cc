#include "generator/cli/run/predict.h"

#include <iostream>

#include "generator/cli/command/command.h"
#include "generator/cli/run/run.h"

namespace kiln::cli {
namespace {

struct PredictCommand {
  SimulateOptions what;
  bool json = false;
  bool no_advice = false;

  int Run() const;
};

int PredictCommand::Run() const {
  int status = kFine;
  const auto simulation = PrepareSimulation(what, &status);
  if (!simulation) return status;
  Loaded& loaded = simulation->loaded;
  const std::string& format = what.spec.format;
  if (!simulation->binding || loaded.diagnostics.HasErrors()) return Report(loaded, format);
  if (!AllowPrediction(*simulation, /*detail=*/false)) return kUsage;
  const auto timeline = PredictSimulation(*simulation, /*detail=*/false, loaded.diagnostics);
  if ((status = ReportErrors(loaded, format)) != kFine || !timeline) return status;
  const PredictResult result = ResultOf(*simulation, *timeline, !no_advice);
  std::cout << (json ? PredictJson(result) : PredictText(result));
  return kFine;
}

}  // namespace

PredictResult ResultOf(const Simulation& simulation, const Timeline& timeline, bool advise) {
  const Machine& machine = simulation.machine;
  PredictResult result{timeline, machine, SummaryOf(timeline, machine), {}};
  if (advise) {
    const Progress progress("trying other blocks");
    const Loaded& loaded = simulation.loaded;
    result.advice =
        Advise({loaded.spec.get(),
                &simulation.options,
                &simulation.inputs,
                loaded.kernel.get(),
                &*simulation.binding,
                &machine,
                {simulation.cores, /*detail=*/false, nullptr, simulation.limit.limits.bytes}},
               timeline);
  }
  return result;
}

void AddPredict(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<PredictCommand>();
  command->what.Add(list);
  list.Flag("--json", command->json, "the same for a program");
  list.Flag("--no-advice", command->no_advice, "do not try what would be faster");
  list.Footer(
      "Examples:\n"
      "  kiln predict specs/matmul.yaml --dims m=4096,n=4096,k=4096\n"
      "  kiln predict specs/add_megacore.yaml --machine=v4 m=65536 n=1024\n"
      "  kiln predict specs/sparse_dense.yaml --dims m=512,k=512,n=4096,capacity=8 blocks=4\n"
      "           idxs_i=0,0,2,3,3,3,3,3 idxs_k=0,1,1,0,0,0,0,0 --json\n"
      "The seconds are those of one call, from the host's view. What is a step, a copy, a floor:\n"
      "docs/design/time.md.");
  run = [command] {
    command->what.spec.Untangle(command->what.words);
    return command->Run();
  };
}

}  // namespace kiln::cli
