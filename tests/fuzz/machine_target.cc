// The file of a machine, and a call predicted for what it says.
#include "generator/check/check_spec.h"
#include "generator/spec/spec.h"
#include "generator/spec/yaml/yaml.h"
#include "tests/fuzz/pictures.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

namespace kiln::fuzz {
namespace {

/// A small call of a matmul: every unit of a machine has something to do.
struct Call {
  std::unique_ptr<Spec> spec;
  std::unique_ptr<Kernel> kernel;
  Inputs inputs;
  std::optional<Binding> binding;
};

const Call& SmallCall() {
  static const Call call = [] {
    Call made;
    Diagnostics found;
    const fs::path path = fs::path(KILN_SOURCE_DIR) / "specs/matmul.yaml";
    made.spec = ParseSpec(std::make_shared<const Source>("matmul.yaml", ReadText(path)), found);
    made.kernel = CheckSpec(*made.spec, {}, found);
    made.inputs.dims = {{"m", 600}, {"n", 512}, {"k", 2048}};
    return made;
  }();
  return call;
}

const Binding& SmallBinding() {
  static const Binding binding = [] {
    Diagnostics found;
    return *Bind(*SmallCall().kernel, SmallCall().inputs, /*partial=*/true, found);
  }();
  return binding;
}

bool RunMachine(std::string_view input) {
  const Source source("machine.yaml", std::string(input));
  Diagnostics found;
  const auto machine = ParseMachine(source, found);
  Expect(machine.has_value() || found.HasErrors(), "a file is a machine unless there are errors");
  ExpectWellFormed(found, source);
  if (!machine) return false;
  Diagnostics of_call;
  PredictCall(SmallBinding(), *machine, of_call);
  ExpectWellFormed(of_call, *SmallCall().spec->source);
  return !of_call.HasErrors();
}

std::vector<std::string> MachineWords() {
  std::vector<std::string> words = {
      "machine: ", "doc: ", "rates: {bf16: 1}", "1e308", "5e-324", "9e18", "0x1p3", "-0",
      "inf",       "nan"};
  const fs::path path = fs::path(KILN_SOURCE_DIR) / "runtime/machines/v4.yaml";
  const Source source("v4.yaml", ReadText(path));
  Diagnostics found;
  const auto shipped = ParseYaml(source, found);
  for (const YamlEntry& entry : shipped->entries) words.push_back(entry.key.value + ": ");
  return words;
}

/// Without comments, which only take room.
std::vector<std::string> MachineSeeds() {
  std::vector<std::string> seeds;
  for (const std::string& text : RepositoryTexts("runtime/machines", ".yaml")) {
    std::istringstream lines(text);
    std::string seed;
    for (std::string line; std::getline(lines, line);) {
      line.erase(std::min(line.find('#'), line.size()));
      line.erase(line.find_last_not_of(' ') + 1);
      if (!line.empty()) seed += line + "\n";
    }
    seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace

Target MachineTarget() {
  return {"machine", 1024, true, &RunMachine, &MachineWords, &MachineSeeds};
}

}  // namespace kiln::fuzz
