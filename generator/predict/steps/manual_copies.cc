#include "generator/predict/steps/manual_copies.h"

#include <algorithm>

#include "generator/predict/steps/operands.h"
#include "generator/text/integer.h"

namespace kiln {
namespace {

/// Of the loops of one step together. A step in which a core starts so many copies is no step.
constexpr int64_t kMostRounds = int64_t{1} << 20;

bool HasCopies(const Actions& actions) {
  return AnyAction(actions, [](const Action& action) { return Is<action::Copy>(action); });
}

void AddLoops(const Actions& actions, Locals& locals) {
  ForEachAction(actions, [&](const Action& action) {
    if (const auto* loop = As<action::For>(action)) locals.loops[loop->local] = -1;
  });
}

void ForEachDecisionOf(const Actions& actions, const std::function<void(const Node&)>& use) {
  const auto all = [&](const std::vector<NodePtr>& nodes) {
    for (const NodePtr& node : nodes) use(*node);
  };
  const auto counts = [&](const Window& window) {
    for (const Subscript& subscript : window.subscripts) {
      if (subscript.count) use(*subscript.count);
    }
  };
  for (const Action& action : actions) {
    Match(
        action,
        [&](const action::When& when) {
          if (HasCopies(when.body) || HasCopies(when.orelse)) use(*when.condition);
        },
        [&](const action::For& loop) {
          if (HasCopies(loop.body)) use(*loop.low), use(*loop.high);
        },
        [&](const action::While& loop) {
          if (HasCopies(loop.body)) use(*loop.condition);
        },
        [&](const action::Copy& copy) { all(copy.slot), counts(copy.source); },
        [&](const action::Wait& wait) {
          all(wait.slot);
          if (wait.window) counts(*wait.window);
        },
        [](const action::Define&) {}, [](const action::Store&) {}, [](const action::Assert&) {});
    ForEachBlock(action, [&](const Actions& block) {
      if (HasCopies(block)) ForEachDecisionOf(block, use);
    });
  }
}

}  // namespace

ManualCopies::ManualCopies(const Binding& binding, const std::vector<TimelineOperand>& operands,
                           const Locals& locals)
    : binding_(binding), operands_(operands), locals_(locals) {
  AddLoops(binding.kernel->body, locals_);
}

std::unique_ptr<ManualCopies> ManualCopies::Make(const Binding& binding,
                                                 const std::vector<TimelineOperand>& operands,
                                                 const Locals& locals) {
  if (!HasCopies(binding.kernel->body)) return nullptr;
  return std::unique_ptr<ManualCopies>(new ManualCopies(binding, operands, locals));
}

void ManualCopies::ForEachDecision(const std::function<void(const Node&)>& use) const {
  ForEachDecisionOf(binding_.kernel->body, use);
}

void ManualCopies::Run(const Step& step, std::vector<ManualEvent>& events) {
  step_ = &step;
  loops_.clear();
  events.clear();
  rounds_ = 0;
  Run(binding_.kernel->body, events);
}

void ManualCopies::Run(const Actions& actions, std::vector<ManualEvent>& events) {
  for (const Action& action : actions) {
    Match(
        action,
        [&](const action::When& when) {
          Run(Evaluate(when.condition).value_or(1) != 0 ? when.body : when.orelse, events);
        },
        [&](const action::For& loop) {
          if (HasCopies(loop.body)) RunLoop(loop, events);
        },
        [&](const action::While& loop) {
          if (HasCopies(loop.body)) RunTurns(loop, events);
        },
        [&](const action::Copy& copy) { events.push_back(Started(copy)); },
        [&](const action::Wait& wait) {
          events.push_back({true, Semaphore(wait.semaphore, wait.slot)});
          events.back().bytes = wait.window ? BytesOf(*wait.window) : ManualEvent::kOldest;
        },
        [](const action::Define&) {}, [](const action::Store&) {}, [](const action::Assert&) {});
  }
}

void ManualCopies::RunLoop(const action::For& loop, std::vector<ManualEvent>& events) {
  const int64_t low = Evaluate(loop.low).value_or(0);
  const int64_t high = Evaluate(loop.high).value_or(low + 1);
  for (int64_t i = low; i < high && !cut_off_; ++i) {
    cut_off_ = ++rounds_ > kMostRounds;
    loops_[loop.local] = i;
    Run(loop.body, events);
  }
  loops_.erase(loop.local);
}

/// As many as there may be, or one.
void ManualCopies::RunTurns(const action::While& loop, std::vector<ManualEvent>& events) {
  const int64_t most = loop.most ? kiln::Evaluate(*loop.most, binding_).value_or(1) : 1;
  for (int64_t turn = 0; turn < most && !cut_off_; ++turn) {
    cut_off_ = ++rounds_ > kMostRounds;
    Run(loop.body, events);
  }
}

int64_t ManualCopies::Semaphore(int semaphore, const std::vector<NodePtr>& slot) {
  constexpr int64_t kSlots = int64_t{1} << 32;
  const std::vector<int64_t>& counts = (*binding_.kernel)[RefId(semaphore)].counts;
  int64_t number = 0;
  for (size_t d = 0; d < slot.size(); ++d) {
    // One out of range is a diagnostic of others.
    const int64_t at = std::clamp<int64_t>(Evaluate(slot[d]).value_or(0), 0, counts[d] - 1);
    number = number * counts[d] + at;
  }
  return semaphore * kSlots + number;
}

ManualEvent ManualCopies::Started(const action::Copy& copy) {
  ManualEvent event;
  event.semaphore = Semaphore(copy.semaphore, copy.slot);
  const auto in_hbm = [this](const Window& window) {
    return (*binding_.kernel)[RefId(window.ref)].memory == Memory::kAny;
  };
  event.out = in_hbm(copy.target);
  const Window& window = event.out ? copy.target : copy.source;
  event.operand = in_hbm(window) ? OperandOf(operands_, window.ref) : -1;
  event.bytes = BytesOf(window);
  if (event.operand >= 0)
    event.block =
        TakesNothing(window) ? 0 : PlaceOf(window, operands_[static_cast<size_t>(event.operand)]);
  return event;
}

/// Whether a size that only the step knows is 0: what has no elements may be anywhere.
bool ManualCopies::TakesNothing(const Window& window) {
  return std::any_of(window.subscripts.begin(), window.subscripts.end(),
                     [this](const Subscript& subscript) {
                       return subscript.count && Evaluate(subscript.count) == 0;
                     });
}

/// What only a run knows counts as much as it may be.
int64_t ManualCopies::BytesOf(const Window& window) {
  const Ref& ref = (*binding_.kernel)[RefId(window.ref)];
  int64_t rows = 1, row = 1;
  const auto times = [&](int64_t extent) {
    rows = SaturatingMultiply(rows, row);
    row = extent;
  };
  if (window.subscripts.empty()) {
    for (const Size& extent : window.shape) times(kiln::Evaluate(extent, binding_).value_or(0));
  }
  for (const Subscript& subscript : window.subscripts) {
    if (!subscript.range) continue;
    const int64_t most = kiln::Evaluate(subscript.size, binding_).value_or(0);
    const std::optional<int64_t> count = subscript.count ? Evaluate(subscript.count) : most;
    times(std::clamp<int64_t>(count.value_or(most), 0, most));
  }
  return SaturatingMultiply(rows, RowBytes(ref.dtype, row));
}

int64_t ManualCopies::PlaceOf(const Window& window, const TimelineOperand& operand) {
  int64_t place = 0;
  for (size_t d = 0; d < operand.dims.size(); ++d) {
    const bool given = d < window.subscripts.size();
    const int64_t start = given ? Evaluate(window.subscripts[d].start).value_or(0) : 0;
    const int64_t positions = operand.dims[d].positions;
    // One out of range is a diagnostic of others; here it needs a place all the same.
    const int64_t at = std::clamp<int64_t>(start, 0, positions - 1);
    place = SaturatingAdd(SaturatingMultiply(place, positions), at);
  }
  return place;
}

std::optional<int64_t> ManualCopies::Evaluate(const NodePtr& node) {
  auto [found, is_new] = scalars_.try_emplace(node.get());
  if (is_new) {
    for (auto& [local, reg] : locals_.loops) reg = -1;
    ProgramBuilder builder(binding_, &locals_, /*visits=*/true);
    for (auto& [local, reg] : locals_.loops)
      reg = builder.AddInput(ProgramInput::Kind::kLoop, local);
    if (builder.Known(*node)) {
      const int result = builder.Add(*node);
      found->second = Scalar{builder.Finish(), result};
    }
  }
  if (!found->second) return std::nullopt;
  auto& [program, result] = *found->second;
  for (const ProgramInput& input : program.inputs()) {
    int64_t value = 0;
    if (input.kind == ProgramInput::Kind::kAxis) {
      value = step_->axes[static_cast<size_t>(input.index)];
    } else if (input.kind == ProgramInput::Kind::kLoop) {
      const auto loop = loops_.find(input.index);
      value = loop == loops_.end() ? 0 : loop->second;
    } else {
      value = step_->visit(input.index, input.kind == ProgramInput::Kind::kLastVisit);
    }
    std::fill_n(program.Fill(input.reg), kLanes, value);
  }
  program.Run(1, ~uint64_t{0});
  if (program.Faulted(0)) return std::nullopt;
  return program.Lanes(result)[0];
}

}  // namespace kiln
