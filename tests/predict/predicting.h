#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "generator/check/check_spec.h"
#include "generator/predict/cost.h"
#include "generator/predict/predict.h"

namespace kiln::test {

using Settings = std::vector<std::pair<std::string, std::string>>;

inline Machine MachineOf(const std::string& name) {
  MachineFault fault;
  auto machine = LoadMachine(name, &fault);
  if (!machine) throw std::runtime_error(fault.message);
  return *machine;
}

/// A kernel with sizes. What is wrong with it is an exception.
struct Subject {
  Subject(const std::string& name, const std::string& text, const Settings& set, Inputs given)
      : inputs(std::move(given)), source(std::make_shared<const Source>(name + ".yaml", text)) {
    CheckOptions options;
    options.set = set;
    options.sizes_follow = true;
    Diagnostics found;
    const auto spec = ParseSpec(source, found);
    if (spec) kernel = CheckSpec(*spec, options, found);
    if (kernel) binding = Bind(*kernel, inputs, /*partial=*/true, found);
    if (!binding || found.HasErrors()) throw std::runtime_error(Render(found, *source));
  }

  Timeline Predicted(const Machine& machine, const PredictOptions& options = {}) const {
    Diagnostics found;
    auto timeline = Predict(*binding, machine, options, found);
    if (!timeline) throw std::runtime_error(Render(found, *source));
    return *timeline;
  }
  CostSummary CostOn(const Machine& machine, int64_t cores = 0) const {
    PredictOptions options;
    options.cores = cores;
    return SummaryOf(Predicted(machine, options), machine);
  }

  Inputs inputs;
  std::shared_ptr<const Source> source;
  std::unique_ptr<Kernel> kernel;
  std::optional<Binding> binding;
};

inline std::string SpecText(const std::string& name) {
  std::ifstream in(std::string(KILN_SOURCE_DIR) + "/specs/" + name + ".yaml");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// One of specs/.
inline Subject Shipped(const std::string& name, const Settings& set,
                       const std::map<std::string, int64_t>& dims,
                       std::map<std::string, Array> arrays = {}) {
  return Subject(name, SpecText(name), set, Inputs{std::move(arrays), dims});
}

inline Settings Blocks(int64_t bm, int64_t bk, int64_t bn) {
  return {{"bm", std::to_string(bm)}, {"bk", std::to_string(bk)}, {"bn", std::to_string(bn)}};
}

inline Array Integers(const std::vector<int64_t>& shape, const std::vector<int64_t>& values) {
  Array array = Array::Zeros(DType::kI32, shape);
  for (size_t i = 0; i < values.size(); ++i) array.SetInt(static_cast<int64_t>(i), values[i]);
  return array;
}

}  // namespace kiln::test
