#include "generator/cli/predict.h"

#include <algorithm>
#include <iostream>

#include "generator/cli/command.h"
#include "generator/cli/run.h"

namespace kiln::cli {
namespace {

struct PredictCommand {
  SpecOptions spec;
  std::vector<std::string> words;
  std::vector<std::string> dims;
  std::string machine = "v5e";
  int cores = 0;
  bool json = false;
  bool no_advice = false;

  int Run() const;

 private:
  std::vector<std::string> Words() const;
};

/// `--dims m=1,n=2` says the same as `m=1 n=2`.
std::vector<std::string> PredictCommand::Words() const {
  std::vector<std::string> all = words;
  for (const std::string& list : dims) {
    for (size_t begin = 0; begin <= list.size();) {
      const size_t end = std::min(list.find(',', begin), list.size());
      if (end > begin) all.push_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return all;
}

int PredictCommand::Run() const {
  const auto on = LoadMachineOrTell(machine);
  if (!on) return kUsage;
  auto loaded = Load(spec, Depth::kCheckForSizes);
  if (!loaded) return kUsage;
  if (!loaded->kernel) return Report(*loaded, spec.format);
  Inputs inputs;
  if (const int status = ParseArguments(*loaded->kernel, Words(), inputs)) return status;
  CheckOptions options = loaded->options;
  if (const int variant = ChooseVariant(*loaded->kernel, inputs); variant >= 0)
    options = WithVariant(options, loaded->kernel->variants[static_cast<size_t>(variant)]);
  if (!ChooseSpecialisation(*loaded, inputs)) return Report(*loaded, spec.format);
  const auto binding = Bind(*loaded->kernel, inputs, /*partial=*/true, loaded->diagnostics);
  if (!binding || loaded->diagnostics.HasErrors()) return Report(*loaded, spec.format);

  Progress progress("predicting");
  const PredictOptions how{cores, /*detail=*/false, progress.Callback()};
  const auto timeline = Predict(*binding, *on, how, loaded->diagnostics);
  if (const int status = Report(*loaded, json ? "text" : spec.format); status != kFine || !timeline)
    return status;
  PredictResult result{*timeline, *on, SummaryOf(*timeline, *on), {}};
  if (!no_advice) {
    result.advice =
        Advise({loaded->spec.get(), &options, &inputs, loaded->kernel.get(), &*binding, &*on, how},
               *timeline);
  }
  std::cout << (json ? PredictJson(result) : PredictText(result));
  return kFine;
}

}  // namespace

void AddPredict(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<PredictCommand>();
  command->spec.Add(app);
  app.add_option("ARGUMENTS", command->words,
                 "sizes, and the arrays that index maps and conditions read: m=4096 ids=@ids.npy;\n"
                 "no other arrays are needed");
  app.add_option("--dims", command->dims, "sizes as one word: --dims m=4096,n=4096,k=4096")
      ->type_name("K=V,…");
  app.add_option("--machine", command->machine,
                 "the TPU, by name or as a file such as runtime/machines/v5e.yaml; v5e unless\n"
                 "given, the one whose measured times the model was calibrated on")
      ->type_name("M");
  app.add_option("--cores", command->cores, "of that machine, that share the parallel axes")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.add_flag("--json", command->json, "the same for a program");
  app.add_flag("--no-advice", command->no_advice, "do not try what would be faster");
  app.footer(
      "Examples:\n"
      "  kiln predict specs/matmul.yaml --dims m=4096,n=4096,k=4096\n"
      "  kiln predict specs/add_megacore.yaml --machine=v4 m=65536 n=1024\n"
      "  kiln predict specs/sparse_dense.yaml --dims m=512,k=512,n=4096,capacity=8 blocks=4\n"
      "           idxs_i=0,0,2,3,3,3,3,3 idxs_k=0,1,1,0,0,0,0,0 --json\n"
      "The seconds are those of one call, from the host's view. What is a step, a copy, a floor:\n"
      "docs/design/time.md.");
  run = [command] {
    command->spec.Untangle(command->words);
    return command->Run();
  };
}

}  // namespace kiln::cli
