#include "tests/fuzz/archive.h"

#include <cstdlib>
#include <stdexcept>

#include "tests/fuzz/support.h"

namespace kiln::fuzz {

std::vector<std::string> ReadInputs(const std::string& path) {
  if (!fs::exists(path)) return {};
  const std::string text = ReadText(path);
  std::vector<std::string> inputs;
  for (size_t at = 0; at < text.size();) {
    const size_t line = text.find('\n', at);
    const size_t size = line == text.npos ? text.size() : std::stoul(text.substr(at, line - at));
    if (size >= text.size() - line) throw std::runtime_error(path + ": cut off");
    inputs.push_back(text.substr(line + 1, size));
    at = line + 1 + size + 1;
  }
  return inputs;
}

void WriteInputs(const std::string& path, const std::vector<std::string>& inputs) {
  std::string text;
  for (const std::string& input : inputs)
    text += std::to_string(input.size()) + "\n" + input + "\n";
  WriteText(path, text);
}

std::string CorpusFile(const std::string& target) {
  return std::string(KILN_SOURCE_DIR) + "/tests/fuzz/corpus/" + target + ".inputs";
}

std::string RegressionFolder(const std::string& target) {
  return std::string(KILN_SOURCE_DIR) + "/tests/fuzz/regressions/" + target;
}

}  // namespace kiln::fuzz
