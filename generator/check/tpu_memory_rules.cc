#include "generator/check/tpu_memory_rules.h"

#include <string>
#include <unordered_set>

#include "generator/data/dtype.h"

namespace kiln {
namespace {

class MemoryRule {
 public:
  MemoryRule(const Kernel& kernel, Diagnostics& diagnostics)
      : kernel_(kernel), diagnostics_(diagnostics) {}

  void Check(const Actions& actions) {
    ForEachAction(actions, [this](const Action& action) {
      ForEachExpression(action, [this](const Node& node) { CheckReads(node); });
      if (const auto* store = As<action::Store>(action)) CheckStore(action.span, *store);
    });
  }

 private:
  bool IsInSmem(const Ref& ref) const {
    return ref.role == Role::kPrefetch || ref.role == Role::kScalar || ref.memory == Memory::kSmem;
  }

  void CheckReads(const Node& node) {
    if (!visited_.insert(&node).second) return;
    if (node.op == Op::kRead) CheckRead(node);
    for (const NodePtr& arg : node.args) CheckReads(*arg);
    for (const Subscript& subscript : node.subscripts) CheckReads(*subscript.start);
  }

  void CheckRead(const Node& node) {
    const Ref& ref = kernel_.refs[static_cast<size_t>(node.index)];
    if (!IsInSmem(ref) || node.shape.empty()) return;
    diagnostics_.Error("tpu", node.span,
                       "`" + ref.name + "` is in SMEM, and a TPU reads single elements from there",
                       ref.role == Role::kPrefetch
                           ? "read the elements one by one, or pass the array as an input as well"
                           : "read the elements one by one, or leave out `memory: smem`");
  }

  void CheckStore(Span span, const action::Store& store) {
    if (store.ref < 0) return;  // a var is in registers
    const Ref& ref = kernel_.refs[static_cast<size_t>(store.ref)];
    const std::string name = "`" + ref.name + "`";
    if (IsInSmem(ref)) {
      if (store.shape.empty() && !store.mask) return;
      diagnostics_.Error("tpu", span, name + " is in SMEM, and a TPU stores single elements there",
                         "store the elements one by one, or leave out `memory: smem`");
    } else if (ref.memory == Memory::kVmem && store.shape.empty()) {
      diagnostics_.Error("tpu", span,
                         name + " is in VMEM, and a TPU stores no single element there",
                         "store a window of one, `ds(i, 1)`, or give it `memory: smem`");
    } else if (store.mask && RowOf(ref.dtype).bits != 32) {
      // What a mask does is said by `where` as well.
      diagnostics_.Warning("tpu", span,
                           "a TPU has masks for stores of 32 bits, and " + name + " is " +
                               std::string(Name(ref.dtype)),
                           "in Pallas, store where(mask, value, " + ref.name + ") without a mask");
    }
  }

  const Kernel& kernel_;
  Diagnostics& diagnostics_;
  std::unordered_set<const Node*> visited_;
};

}  // namespace

void CheckTpuMemoryRules(const Kernel& kernel, Diagnostics& diagnostics) {
  MemoryRule rule(kernel, diagnostics);
  rule.Check(kernel.body);
  rule.Check(kernel.epilogue);
}

}  // namespace kiln
