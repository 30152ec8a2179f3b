#pragma once

#include <set>

#include "generator/ir/kernel.h"

namespace kiln {

/// What a value reads that statements may change.
struct Reads {
  std::set<int> refs, locals;

  void Add(const Node& node);
  /// Whether the statement changes some of it.
  bool Has(const action::Store& target) const {
    return target.ref >= 0 ? refs.count(target.ref) > 0 : locals.count(target.local) > 0;
  }
};

/// How often the text reads each local.
Table<int, Local> TimesRead(const Kernel& kernel);

/// Calls `use` with each argument of a node, and with what is in its subscripts.
template <typename Use>
void ForEachArgument(const Node& node, const Use& use) {
  for (const NodePtr& arg : node.args) use(*arg);
  for (const Subscript& s : node.subscripts) {
    use(*s.start);
    if (s.count) use(*s.count);
  }
}

}  // namespace kiln
