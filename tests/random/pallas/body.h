#pragma once

#include <string>
#include <vector>

#include "tests/random/pallas/expression.h"

namespace kiln::soak {

/// Statements of a checked kernel as Python, indented.
class Body {
 public:
  Body(const Expressions& expressions, const Kernel& kernel)
      : expressions_(expressions), kernel_(kernel) {}

  void Statements(const std::vector<Action>& actions, int depth);
  void Line(int depth, const std::string& text);
  const std::string& text() const { return text_; }

 private:
  void Statement(const Action& action, int depth);
  void Define(const Action& action, int depth);
  void Store(const Action& action, int depth);
  void When(const Action& action, int depth);
  void For(const Action& action, int depth);
  std::string WindowText(const Window& window, bool begin) const;
  std::string CopyText(const Action& copy, const Node& slot, bool begin) const;
  const Action& CopyOf(const Action& wait) const;
  /// The value, as large as what it is stored in.
  std::string Filling(const Node& value, const Shape& shape) const;
  const Local& LocalAt(int index) const { return kernel_.locals[static_cast<size_t>(index)]; }

  const Expressions& expressions_;
  const Kernel& kernel_;
  std::string text_;
  int conditions_ = 0;
};

/// All actions, those of inner blocks too, in the order of the text.
void CollectActions(const std::vector<Action>& actions, std::vector<const Action*>& to);

}  // namespace kiln::soak
