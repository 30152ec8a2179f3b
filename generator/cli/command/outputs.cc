// Files that a command names more than once.
#include <filesystem>

#include "generator/cli/command/command.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

/// Links followed, as far as there is something.
fs::path Resolved(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  const fs::path resolved = fs::weakly_canonical(absolute, error);
  return (error ? absolute : resolved).lexically_normal();
}

bool IsSame(const NamedFile& a, const NamedFile& b) {
  return !a.path.empty() && !b.path.empty() && Resolved(a.path) == Resolved(b.path);
}

}  // namespace

bool AreDistinct(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t other = 0; other < i; ++other) {
      if (!IsSame(outputs[i], outputs[other])) continue;
      UsageError("`" + outputs[i].path + "` is both " + outputs[other].option + " and " +
                     outputs[i].option,
                 "give each a file of its own");
      return false;
    }
    for (const NamedFile& input : inputs) {
      if (!IsSame(outputs[i], input)) continue;
      UsageError(outputs[i].option + " would write over " + input.option + ", `" + input.path + "`",
                 "give it a file of its own");
      return false;
    }
  }
  return true;
}

}  // namespace kiln::cli
