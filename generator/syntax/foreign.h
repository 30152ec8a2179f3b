#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// What is said in Kiln for a word of Pallas, numpy, PyTorch or Triton: a sentence for a hint.
/// Empty: none is known, or Kiln has the word itself.
std::string HintForForeign(std::string_view word);

/// The words, and their hints.
struct ForeignWord {
  std::string_view words;  // apart by spaces
  std::string_view hint;
};
const std::vector<ForeignWord>& ForeignWords();

}  // namespace kiln
