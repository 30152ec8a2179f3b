#include "generator/system/descriptor.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace kiln {

int Descriptor::Close() {
  const int number = std::exchange(number_, -1);
  return number >= 0 && close(number) != 0 ? errno : 0;
}

std::optional<int> NamedDescriptor(const std::string& path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string digits = path.substr(folder.size());
    if (digits.empty() || digits.size() > 6) return std::nullopt;
    if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return std::stoi(digits);
  }
  return std::nullopt;
}

}  // namespace kiln
