#pragma once

#include <map>
#include <string>

#include "generator/ir/kernel.h"

namespace kiln {

/// Numbers of values: two expressions have the same one if they are the same text over refs and
/// locals that no statement between them has changed.
class ValueNumbers {
 public:
  explicit ValueNumbers(const Kernel& kernel) : kernel_(kernel) {}

  int Of(const NodePtr& node);
  /// What is read behind the statement may be another value than in front of it.
  void Pass(const Action& action);

 private:
  std::string TextOf(const Node& node);
  void Change(const action::Store& store);

  const Kernel& kernel_;
  std::map<std::string, int> numbers_;  // of texts
  std::map<NodePtr, int> known_;        // since the last change
  std::map<int, int> changes_of_refs_, changes_of_locals_;
  int changes_of_all_ = 0;
};

}  // namespace kiln
