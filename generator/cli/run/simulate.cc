#include "generator/cli/run/simulate.h"

#include <algorithm>

#include "generator/check/check_spec.h"
#include "generator/cli/run/run.h"

namespace kiln::cli {
namespace {

/// `--dims m=1,n=2` says the same as `m=1 n=2`; in `ids=0,3,n=2` the 3 belongs to ids.
std::vector<std::string> ArgumentsOf(const SimulateOptions& options) {
  std::vector<std::string> all = options.words;
  for (const std::string& list : options.dims) {
    bool first = true;
    for (size_t begin = 0; begin <= list.size();) {
      const size_t end = std::min(list.find(',', begin), list.size());
      const std::string word = list.substr(begin, end - begin);
      begin = end + 1;
      if (first || word.find('=') != std::string::npos)
        all.push_back(word);
      else
        all.back() += "," + word;
      first = false;
    }
  }
  return all;
}

}  // namespace

std::vector<std::string> WithRandomInputs(const Kernel& kernel, std::vector<std::string> words) {
  int seed = 100;
  for (const Ref& ref : kernel.refs) {
    if (ref.role != Role::kInput || ref.view_of >= 0) continue;
    ++seed;
    const bool given = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return word.rfind(ref.name + "=", 0) == 0;
    });
    if (!given) words.push_back(ref.name + "=random:" + std::to_string(seed));
  }
  return words;
}

void SimulateOptions::AddSizes(const OptionList& list, const std::string& arguments) {
  spec.Add(list);
  spec.limit.Add(list);
  list.Add("ARGUMENTS", words, arguments);
  list.Add("--dims", dims, "sizes as one word: --dims m=4096,n=4096,k=4096")
      .WordByWord()
      .Takes("K=V,…");
}

void SimulateOptions::Add(const OptionList& list) {
  AddSizes(list,
           "sizes, and the arrays that index maps and conditions read: m=4096 ids=@ids.npy;\n"
           "no other arrays are needed");
  list.Add("--machine", machine,
           "the TPU, by name or as a file such as runtime/machines/v5e.yaml; v5e unless\n"
           "given, the one whose measured times the model was calibrated on")
      .Takes("M");
  list.Add("--cores", cores, "of that machine, that share the parallel axes")
      .Between(1, 4096)
      .Takes("N");
}

std::unique_ptr<Simulation> PrepareSimulation(const SimulateOptions& options, int* status) {
  *status = kUsage;
  auto simulation = std::make_unique<Simulation>();
  const auto machine = LoadMachineOrReport(options.machine);
  if (!machine) return nullptr;
  simulation->machine = *machine;
  simulation->cores = options.cores;
  simulation->limit = options.spec.limit;

  auto read = Load(options.spec, Depth::kCheckForSizes);
  if (!read) return nullptr;
  simulation->loaded = std::move(*read);
  Loaded& loaded = simulation->loaded;
  const auto give_up = [&] {
    *status = Report(loaded, options.spec.format);
    return nullptr;
  };
  if (!loaded.kernel) return give_up();
  Inputs& inputs = simulation->inputs;
  std::vector<std::string> words = ArgumentsOf(options);
  if (options.complete) words = WithRandomInputs(*loaded.kernel, std::move(words));
  if ((*status = ParseArguments(*loaded.kernel, words, options.spec.limit, inputs))) return nullptr;
  simulation->options = loaded.options;
  if (const int variant = ChooseVariant(*loaded.kernel, inputs); variant >= 0) {
    const Variant& chosen = loaded.kernel->variants[static_cast<size_t>(variant)];
    simulation->options = WithVariant(loaded.options, chosen);
  }
  simulation->whole = std::make_unique<Kernel>(*loaded.kernel);
  if (!ChooseSpecialisation(loaded, inputs)) return give_up();
  simulation->binding = Bind(*loaded.kernel, inputs, !options.complete, loaded.diagnostics);
  return simulation;
}

bool AllowPrediction(const Simulation& simulation, bool detail) {
  const Binding& binding = *simulation.binding;
  if (binding.steps.size() != binding.kernel->axes.size()) return true;  // a diagnostic follows
  return simulation.limit.Allow(
      "predicting " + Steps(binding),
      PredictDemand(binding, simulation.machine,
                    {simulation.cores, detail, nullptr, simulation.limit.limits.bytes}));
}

std::optional<Timeline> PredictSimulation(const Simulation& simulation, bool detail,
                                          Diagnostics& diagnostics) {
  Progress progress("predicting");
  return Predict(*simulation.binding, simulation.machine,
                 {simulation.cores, detail, progress.Callback(), simulation.limit.limits.bytes},
                 diagnostics);
}

}  // namespace kiln::cli
