#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace kiln {

/// The text of a file; `-`, /dev/stdin and /dev/fd/N are what is open there, and pipes are read to
/// their end. No more than `most` bytes and one, so that who has a limit sees that it is exceeded.
/// Folders and devices are refused, and so is a named pipe that nobody writes into. Nullopt: *why.
std::optional<std::string> ReadFile(const std::string& path, size_t most, std::string* why);

}  // namespace kiln
