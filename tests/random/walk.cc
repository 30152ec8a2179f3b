#include "tests/random/walk.h"

#include <cctype>

namespace kiln::soak {
namespace {

using Block = std::vector<Statement>;

void VisitTerms(Term& term, const std::function<void(Term&)>& visit) {
  visit(term);
  for (Term& arg : term.args) VisitTerms(arg, visit);
}

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Where the word stands as one, from there on.
size_t FindWord(const std::string& text, const std::string& word, size_t from = 0) {
  for (size_t at = text.find(word, from); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !IsWord(text[at - 1]);
    if (begins && (at + word.size() == text.size() || !IsWord(text[at + word.size()]))) return at;
  }
  return std::string::npos;
}

void ReplaceWord(std::string& text, const std::string& word, const std::string& with) {
  for (size_t at = FindWord(text, word); at != std::string::npos;
       at = FindWord(text, word, at + with.size()))
    text.replace(at, word.size(), with);
}

}  // namespace

void VisitTerms(Block& block, const std::function<void(Term&)>& visit) {
  for (Statement& statement : block) {
    for (Term& arg : statement.args) VisitTerms(arg, visit);
    VisitTerms(statement.body, visit);
    VisitTerms(statement.orelse, visit);
  }
}

void VisitBlocks(Block& block, const std::function<void(Block&)>& visit) {
  visit(block);
  for (Statement& statement : block) {
    VisitBlocks(statement.body, visit);
    VisitBlocks(statement.orelse, visit);
  }
}

void ReplaceEverywhere(Draft& draft, const std::string& word, const std::string& with) {
  const auto replace = [&](std::string& text) { ReplaceWord(text, word, with); };
  for (Block* block : {&draft.body, &draft.epilogue}) {
    VisitTerms(*block, [&](Term& term) { replace(term.text); });
    VisitBlocks(*block, [&](Block& inner) {
      for (Statement& statement : inner) replace(statement.text);
    });
  }
  for (OperandDraft& operand : draft.operands) {
    for (Key& key : operand.keys) replace(key.value);
  }
  for (Key& let : draft.lets) replace(let.value);
  for (Key& array : draft.prefetch) replace(array.value);
  for (AxisDraft& axis : draft.axes) replace(axis.steps);
}

bool BodyMentions(const Draft& draft, const std::string& word) {
  Draft copy = draft;
  bool mentions = false;
  const auto look = [&](const std::string& text) {
    mentions = mentions || FindWord(text, word) != std::string::npos;
  };
  for (Block* block : {&copy.body, &copy.epilogue}) {
    VisitTerms(*block, [&](Term& term) { look(term.text); });
    VisitBlocks(*block, [&](Block& inner) {
      for (Statement& statement : inner) look(statement.text);
    });
  }
  return mentions;
}

}  // namespace kiln::soak
