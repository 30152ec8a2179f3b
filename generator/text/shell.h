#pragma once

#include <string>
#include <string_view>

namespace kiln {

/// A word of a command as a shell reads it back: in quotes unless it is plain.
std::string ShellWord(std::string_view word);

}  // namespace kiln
