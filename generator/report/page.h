#pragma once

#include <map>
#include <string>

namespace kiln {

/// The parts of the page by file name: templates/report/ as it was when the program was built.
const std::map<std::string, std::string>& PageTexts();

}  // namespace kiln
