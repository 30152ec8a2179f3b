// Where machines are: shipped beside the runtime, or wherever the user says.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "generator/predict/machine/machine.h"
#include "generator/spec/yaml/yaml.h"
#include "generator/system/environment.h"
#include "generator/system/read_file.h"
#include "generator/text/utf8.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExtension = ".yaml";

/// Of the installed tool, else of the tree that this was built from.
fs::path Shipped() {
  std::error_code ignored;
  if (const std::string home = FromEnvironment(EnvVariable::kPrefix); !home.empty()) {
    const fs::path folder = fs::path(home) / KILN_DATADIR / "kiln/machines";
    if (fs::is_directory(folder, ignored)) return folder;
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path installed = program.parent_path().parent_path() / KILN_DATADIR / "kiln/machines";
  if (!program.empty() && fs::is_directory(installed, ignored)) return installed;
  return KILN_BUILD_MACHINES;
}

bool IsPath(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(kExtension);
}

}  // namespace

std::vector<std::string> MachineNames() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(Shipped(), ignored)) {
    if (entry.path().extension() == kExtension) names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<Machine> LoadMachine(const std::string& name_or_path, MachineFault* fault) {
  const bool is_path = IsPath(name_or_path);
  const fs::path path = is_path ? fs::path(name_or_path) : Shipped() / (name_or_path + kExtension);
  std::string reason;
  const auto text = ReadFile(path.string(), kMaxYamlBytes, &reason);
  if (!text) {
    std::string known;
    for (const std::string& name : MachineNames()) known += (known.empty() ? "" : ", ") + name;
    fault->message = is_path ? "cannot read the machine `" + name_or_path + "`: " + reason
                             : "there is no machine `" + name_or_path + "`";
    fault->hint =
        "one of " + known + ", or the path of a file such as " + (Shipped() / "v5e.yaml").string();
    return std::nullopt;
  }
  fault->source = std::make_shared<const Source>(path.string(), *text);
  return ParseMachine(*fault->source, fault->diagnostics);
}

}  // namespace kiln
