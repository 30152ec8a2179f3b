#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/cli/command/command.h"
#include "generator/predict/predict.h"

namespace kiln::cli {

/// What commands that simulate a call accept.
struct SimulateOptions {
  SpecOptions spec;
  std::vector<std::string> words;
  std::vector<std::string> dims;
  std::string machine = "v5e";
  int cores = 0;  // 0: the machine's
  /// The call is to be made, too: arrays that are not given are random, and sizes are not optional.
  bool complete = false;

  void Add(const OptionList& list);
  /// SPEC, ARGUMENTS and --dims alone.
  void AddSizes(const OptionList& list, const std::string& arguments);
};

/// `words` and seeded values for the inputs that none of them names.
std::vector<std::string> WithRandomInputs(const Kernel& kernel, std::vector<std::string> words);

/// A call that is ready to be simulated.
struct Simulation {
  Machine machine;
  Loaded loaded;
  CheckOptions options;  // of the specialisation that the sizes select
  Inputs inputs;
  std::unique_ptr<Kernel> whole;   // with all its variants
  std::optional<Binding> binding;  // none: that is in the diagnostics
  int cores = 0;
  LimitOptions limit;
};

/// Null after an error, which is printed; then *status is the exit status. Diagnostics of sizes are
/// not printed yet.
std::unique_ptr<Simulation> PrepareSimulation(const SimulateOptions& options, int* status);

/// False, and that is printed, when predicting it would take more than the limit.
bool AllowPrediction(const Simulation& simulation, bool detail);
std::optional<Timeline> PredictSimulation(const Simulation& simulation, bool detail,
                                          Diagnostics& diagnostics);

}  // namespace kiln::cli
