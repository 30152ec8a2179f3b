#pragma once

#include <functional>
#include <string>
#include <vector>

#include "generator/front/bind.h"
#include "generator/predict/cost.h"
#include "generator/predict/machine.h"
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
};

/// Something to change, and what it brings.
struct Advice {
  std::string text;
  double seconds = 0;                                    // afterwards
  int64_t vmem_bytes = 0;                                // afterwards
  std::vector<std::pair<std::string, std::string>> set;  // params: as for --set
};

/// What would make a call clearly faster, the best first: found by predicting it. Sizes of blocks
/// are tried as far as the spec's params let them be changed without changing its arrays.
std::vector<Advice> Advise(const AdviceRequest& request, const Timeline& timeline);

}  // namespace kiln
