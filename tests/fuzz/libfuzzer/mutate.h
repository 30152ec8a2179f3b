#pragma once

#include <string>

namespace kiln::fuzz {

/// One to three changes of words or lines.
std::string MutateText(std::string text, unsigned seed);

}  // namespace kiln::fuzz
