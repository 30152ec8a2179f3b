// Every shipped spec, every instance, at its `golden:` sizes on seeded random inputs: nothing is
// found, whether the parallel axes are visited in order or shuffled, the order changes no bit, and
// the outputs are what the spec's `reference` says.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "generator/check/check_spec.h"
#include "generator/check/grid/check_grid.h"
#include "generator/cli/golden/golden.h"
#include "generator/cli/run/reference.h"
#include "generator/interpret/interpret.h"
#include "tests/catch.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const Source> ReadSource(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::make_shared<const Source>(path.string(), text.str());
}

std::map<std::string, Array> RunOnce(const Kernel& kernel, const Inputs& inputs,
                                     const InterpretOptions& options) {
  Diagnostics found;
  std::map<std::string, Array> outputs;
  const auto binding = Bind(kernel, inputs, /*partial=*/false, found);
  if (binding) CheckGrid(*binding, {}, found);
  if (binding && !found.HasErrors()) {
    outputs = Interpret(*binding, inputs.arrays, options, found).outputs;
  }
  INFO(Render(found, *kernel.source));
  CHECK(found.empty());
  return outputs;
}

/// What the spec says of its outputs, if it does.
void HoldReference(const Kernel& kernel, const Inputs& inputs,
                   const std::map<std::string, Array>& outputs) {
  if (kernel.references.empty()) return;
  Diagnostics found;
  const auto binding = Bind(kernel, inputs, /*partial=*/false, found);
  REQUIRE(binding);
  const auto verdicts = cli::CompareWithReference(*binding, inputs, outputs, {}, found);
  INFO(Render(found, *kernel.source));
  REQUIRE(verdicts);
  for (const cli::ReferenceVerdict& verdict : *verdicts) {
    INFO(cli::TextOf(verdict));
    CHECK(verdict.difference.elements == 0);
  }
}

void RunGolden(const Spec& spec, const std::string& instance, const GoldenSpec& golden) {
  CheckOptions options;
  options.instance = instance;
  Diagnostics found;
  const auto kernel = CheckSpec(spec, options, found);
  INFO(Render(found, *spec.source));
  REQUIRE(kernel);
  Inputs inputs;
  REQUIRE(cli::ParseArguments(*kernel, cli::GoldenWords(golden, *kernel), {}, inputs) ==
          cli::kFine);
  const auto in_order = RunOnce(*kernel, inputs, {});
  InterpretOptions shuffled;
  shuffled.shuffle = 7;
  const auto any_order = RunOnce(*kernel, inputs, shuffled);
  for (const auto& [name, array] : in_order) {
    INFO(name);
    CHECK(any_order.at(name).bytes == array.bytes);
  }
  HoldReference(*kernel, inputs, in_order);
}

}  // namespace

TEST_CASE("shipped specs run clean at their golden sizes, in any order of the parallel axes") {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator("specs")) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  REQUIRE(paths.size() >= 25);
  for (const fs::path& path : paths) {
    const auto source = ReadSource(path);
    Diagnostics found;
    const auto spec = ParseSpec(source, found);
    INFO(Render(found, *source));
    REQUIRE(spec);
    std::vector<std::string> instances;
    for (const InstanceSpec& instance : spec->instances) instances.push_back(instance.name.name);
    if (instances.empty()) instances.push_back("");
    for (const std::string& instance : instances) {
      for (const GoldenSpec& golden : spec->golden) {
        INFO(path.string() << ":" << instance);
        RunGolden(*spec, instance, golden);
      }
    }
  }
}

}  // namespace kiln
