#include "tests/random/keep.h"

#include <filesystem>
#include <fstream>

#include "generator/data/npy.h"

namespace kiln::soak {

std::string Keep(const Draft& draft, const Result& result, const std::string& folder) {
  const std::string to = folder + "/failures/" + std::to_string(result.number);
  std::filesystem::create_directories(to);
  const std::string spec = to + "/" + draft.name + ".yaml";
  std::ofstream(spec) << Write(draft);
  std::string arguments;
  const auto of = Prepare(draft);
  for (const auto& [name, array] : of->inputs.arrays) {
    const std::string path = to + "/" + name + ".npy";
    if (WriteNpy(path, array).empty()) arguments += " " + name + "=@" + path;
  }
  for (const auto& [name, size] : draft.sizes) arguments += " " + name + "=" + std::to_string(size);
  const std::string instance = draft.instance.empty() ? "" : ":" + draft.InstanceName();
  std::ofstream(to + "/README") << result.verdict.kind << "\n"
                                << result.verdict.detail << "\n\nbuild/kiln run " << spec
                                << instance << arguments << " --mode=direct --compare\n";
  return to;
}

}  // namespace kiln::soak
