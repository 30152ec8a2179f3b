#pragma once

#include <functional>

#include "tests/random/draft.h"

/// Walking drafts, for whoever changes them.
namespace kiln::soak {

void VisitTerms(std::vector<Statement>& block, const std::function<void(Term&)>& visit);
/// The block itself, and those of its statements.
void VisitBlocks(std::vector<Statement>& block,
                 const std::function<void(std::vector<Statement>&)>& visit);

/// Another text for a name, or for a whole expression, wherever expressions are.
void ReplaceEverywhere(Draft& draft, const std::string& word, const std::string& with);

/// Whether any expression of the body has the word.
bool BodyMentions(const Draft& draft, const std::string& word);

}  // namespace kiln::soak
