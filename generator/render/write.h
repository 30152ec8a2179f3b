#pragma once

#include <string>
#include <string_view>

namespace kiln {

enum class Written { kWritten, kUnchanged, kFailed };

/// Writes a file unless it holds just this text: what did not change is not compiled again. The
/// file is replaced in one move, so nobody reads half of it. On failure `why` says what is wrong.
Written WriteIfChanged(const std::string& path, std::string_view text, std::string* why);

}  // namespace kiln
