#pragma once

#include <string>

namespace kiln::render {

/// The text of a C++ file with lines of at most so many columns: templates and printers write
/// statements without counting. What has no place to break, such as a long literal, stays long.
std::string WrapLines(const std::string& text, size_t columns = 100);

}  // namespace kiln::render
