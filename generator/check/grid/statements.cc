#include "generator/check/grid/statements.h"

#include <algorithm>

namespace kiln {
namespace {

using Use = std::function<void(const Action&, const std::vector<Enclosing>&)>;

void Walk(const std::vector<Action>& actions, std::vector<Enclosing>& enclosing, Locals& locals,
          const Kernel& kernel, const Use& use) {
  const auto inside = [&](Enclosing around, const std::vector<Action>& body) {
    enclosing.push_back(std::move(around));
    Walk(body, enclosing, locals, kernel, use);
    enclosing.pop_back();
  };
  for (const Action& action : actions) {
    use(action, enclosing);
    const bool let = action.kind == Action::Kind::kDefine &&
                     kernel.locals[size_t(action.local)].kind == Local::Kind::kLet;
    if (let && action.value) locals.lets[action.local] = action.value;
    if (action.kind == Action::Kind::kWhen) {
      inside({action.condition, false, -1, nullptr, nullptr}, action.body);
      inside({action.condition, true, -1, nullptr, nullptr}, action.orelse);
    } else if (action.kind == Action::Kind::kFor) {
      inside({nullptr, false, action.local, action.low, action.high}, action.body);
    }
  }
}

}  // namespace

void ForEachStatement(const Kernel& kernel, Locals& locals, const Use& use) {
  std::vector<Enclosing> enclosing;
  Walk(kernel.body, enclosing, locals, kernel, use);
  if (kernel.epilogue.empty() || kernel.epilogue_outputs.empty()) return;
  auto last = std::make_shared<Node>();
  last->op = Op::kLastVisit;
  last->dtype = DType::kBool;
  last->index = kernel.epilogue_outputs.front();
  last->span = kernel.epilogue.front().span;
  enclosing.push_back({last, false, -1, nullptr, nullptr});
  Walk(kernel.epilogue, enclosing, locals, kernel, use);
}

bool IsLastVisitOf(const Enclosing& enclosing, int ref) {
  return enclosing.condition && !enclosing.negated && enclosing.condition->op == Op::kLastVisit &&
         enclosing.condition->index == ref;
}

}  // namespace kiln
