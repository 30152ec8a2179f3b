#include "generator/check/grid/statements.h"

#include <algorithm>

namespace kiln {
namespace {

using Use = std::function<void(const Action&, const std::vector<Enclosing>&)>;

void Walk(const Actions& actions, std::vector<Enclosing>& enclosing, Locals& locals,
          const Kernel& kernel, const Use& use) {
  const auto inside = [&](Enclosing around, const Actions& body) {
    enclosing.push_back(std::move(around));
    Walk(body, enclosing, locals, kernel, use);
    enclosing.pop_back();
  };
  for (const Action& action : actions) {
    use(action, enclosing);
    Match(
        action,
        [&](const action::Define& define) {
          const bool let = kernel.locals[size_t(define.local)].kind == Local::Kind::kLet;
          if (let) locals.lets[define.local] = define.value;
        },
        [&](const action::When& when) {
          inside({when.condition, false, -1, nullptr, nullptr}, when.body);
          inside({when.condition, true, -1, nullptr, nullptr}, when.orelse);
        },
        [&](const action::For& loop) {
          inside({nullptr, false, loop.local, loop.low, loop.high}, loop.body);
        },
        [&](const action::While& loop) {
          inside({loop.condition, false, -1, nullptr, loop.most ? loop.most->ToNode() : nullptr},
                 loop.body);
        },
        [](const action::Store&) {}, [](const action::Assert&) {}, [](const action::Copy&) {},
        [](const action::Wait&) {});
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
