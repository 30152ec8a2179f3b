#pragma once

#include <string>
#include <vector>

namespace kiln::fuzz {

/// A corpus is one file of many small inputs, each as its length, a line's end, its bytes, and a
/// line's end. Empty if there is no such file; throws when it is no such file.
std::vector<std::string> ReadInputs(const std::string& path);
void WriteInputs(const std::string& path, const std::vector<std::string>& inputs);

/// tests/fuzz/corpus/NAME.inputs and tests/fuzz/regressions/NAME.
std::string CorpusFile(const std::string& target);
std::string RegressionFolder(const std::string& target);

}  // namespace kiln::fuzz
