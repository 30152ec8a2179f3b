#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

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

/// Whether a value is of the ref, or var, to which a statement stores: all of it, or a part.
bool IsOfTarget(const action::Store& store, const Node& value);

/// Whether a value that has a name is the same wherever that is read, and may be computed there for
/// each element: it is made of lets and of refs that do not change.
bool StaysAsItIs(const Node& node, const Kernel& kernel,
                 const std::function<bool(RefId)>& is_constant);

/// A read of a local.
NodePtr ReadOf(LocalId local, const Node& value);

/// A let for a value; the statement that defines it is added to a list.
LocalId NewLet(const std::string& name, const NodePtr& value, Kernel* kernel, Actions* to);

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

/// The kernel with both lists of statements changed by `rewrite`, which says whether it changes
/// one. Null: it changes none.
template <typename Rewrite>
std::shared_ptr<const Kernel> Rewritten(const Kernel& of, const Rewrite& rewrite) {
  auto kernel = std::make_shared<Kernel>(of);
  const bool body = rewrite(kernel->body), epilogue = rewrite(kernel->epilogue);
  return body || epilogue ? kernel : nullptr;
}

}  // namespace kiln
