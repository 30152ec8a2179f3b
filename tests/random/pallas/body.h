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

  void Statements(const Actions& actions, int depth);
  void Line(int depth, const std::string& text);
  const std::string& text() const { return text_; }

 private:
  void Statement(const Action& action, int depth);
  void Define(const action::Define& define, int depth);
  void Store(const action::Store& store, int depth);
  void When(const action::When& when, int depth);
  void For(const action::For& loop, int depth);
  void While(const action::While& loop, int depth);
  std::string WindowText(const Window& window, bool begin) const;
  std::string CopyText(const std::string& from, const std::string& to, int semaphore,
                       const std::vector<NodePtr>& slot) const;
  const action::Copy& CopyOf(const action::Wait& wait) const;
  /// The value, as large as what it is stored in.
  std::string Filling(const Node& value, const Shape& shape) const;
  const Local& LocalAt(int index) const { return kernel_.locals[static_cast<size_t>(index)]; }

  const Expressions& expressions_;
  const Kernel& kernel_;
  std::string text_;
  int conditions_ = 0;
};

}  // namespace kiln::soak
