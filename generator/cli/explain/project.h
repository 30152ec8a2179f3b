#pragma once

#include <map>
#include <string>

namespace kiln::cli {

/// The files that `kiln init` writes, by their names in project/; @NAME@ stands for the project's.
const std::map<std::string, std::string>& ProjectTexts();

}  // namespace kiln::cli
