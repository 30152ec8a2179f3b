#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/bind/bind.h"
#include "generator/predict/cost.h"
#include "generator/predict/machine/machine.h"
#include "generator/predict/predict.h"

namespace kiln {

/// A spec with arguments, that can be predicted with other values of its params.
struct AdviceRequest {
  const Spec* spec = nullptr;
  const CheckOptions* options = nullptr;
  const Inputs* inputs = nullptr;
  const Kernel* kernel = nullptr;    // as it is now
  const Binding* binding = nullptr;  // of it
  const Machine* machine = nullptr;
  PredictOptions predict;
  int64_t most_steps = std::numeric_limits<int64_t>::max();  // alternatives with more are none
  double most_seconds = 10;  // of this CPU, likewise; Advise: of all of them together
};

/// Values of params by name, as text.
using ParamValues = std::map<std::string, std::string>;

/// The same problem, cut in another way.
struct Alternative {
  CheckOptions options;
  std::unique_ptr<Kernel> kernel;
  Timeline timeline;
  double demand = 0;  // the seconds of this CPU that it took, as estimated
};

/// Nullopt where these values are none for the spec, change its arrays, or do not fit into the
/// machine's VMEM.
std::optional<Alternative> TryAlternative(const AdviceRequest& request, const ParamValues& values);

/// Something to change, and what it brings.
struct Advice {
  std::string text;
  double seconds = 0;                                    // afterwards
  int64_t vmem_bytes = 0;                                // afterwards
  std::vector<std::pair<std::string, std::string>> set;  // params: as for --set
};

/// What would make a call clearly faster, the best first: found by predicting it. Sizes of blocks
/// are tried as far as params change nothing else (BlockParams), and no array.
std::vector<Advice> Advise(const AdviceRequest& request, const Timeline& timeline);

}  // namespace kiln
