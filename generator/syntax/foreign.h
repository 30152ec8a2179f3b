#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kiln {

/// What is said in Kiln for a word of Pallas, numpy, PyTorch or Triton: a sentence for a hint.
/// Empty: none is known, or Kiln has the word itself.
std::string HintForForeign(std::string_view word);

/// The same for an argument by name that a function here does not take. Empty: none is known.
std::string HintForForeignArgument(std::string_view function, std::string_view argument);

/// An argument by name, of functions apart by spaces; of any function where there are none.
struct ForeignArgument {
  std::string_view functions, arguments;
  std::string_view hint;
};
std::span<const ForeignArgument> ForeignArguments();

/// The words, and their hints.
struct ForeignWord {
  std::string_view words;  // apart by spaces
  std::string_view hint;
};
std::span<const ForeignWord> ForeignWords();

}  // namespace kiln
