#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "generator/bind/bind.h"
#include "generator/check/grid/index_program.h"
#include "generator/predict/steps/step_shape.h"

namespace kiln {

/// The copies that a body starts and waits for, found by running its control flow for one step:
/// conditions that depend on data count as true, loops whose ends do run once.
class ManualCopies {
 public:
  /// Null when the body has none. `locals` are its lets.
  static std::unique_ptr<ManualCopies> Make(const Binding& binding,
                                            const std::vector<TimelineOperand>& operands,
                                            const Locals& locals);

  /// What a step's conditions can see of it.
  struct Step {
    std::vector<int64_t> axes;
    /// Whether it is the first (or last) of a ref's stay.
    std::function<bool(int ref, bool last)> visit;
  };
  void Run(const Step& step, std::vector<ManualEvent>& events);
  /// Some step's loops have more rounds than can be run for every step: what came of it is cut off.
  bool cut_off() const { return cut_off_; }

  /// Calls `use` with every expression that decides which copies there are, and of how many bytes.
  void ForEachDecision(const std::function<void(const Node&)>& use) const;

 private:
  struct Scalar {
    IndexProgram program;
    int result = -1;
  };

  ManualCopies(const Binding& binding, const std::vector<TimelineOperand>& operands,
               const Locals& locals);
  void Run(const Actions& actions, std::vector<ManualEvent>& events);
  void RunLoop(const action::For& loop, std::vector<ManualEvent>& events);
  void RunTurns(const action::While& loop, std::vector<ManualEvent>& events);
  ManualEvent Started(const action::Copy& copy);
  int64_t BytesOf(const Window& window);
  int64_t Semaphore(int semaphore, const std::vector<NodePtr>& slot);
  bool TakesNothing(const Window& window);
  int64_t PlaceOf(const Window& window, const TimelineOperand& operand);
  std::optional<int64_t> Evaluate(const NodePtr& node);

  const Binding& binding_;
  const std::vector<TimelineOperand>& operands_;
  Locals locals_;
  std::map<const Node*, std::optional<Scalar>> scalars_;  // nullopt: it depends on data
  const Step* step_ = nullptr;
  std::map<int, int64_t> loops_;
  int64_t rounds_ = 0;  // of all loops of the step
  bool cut_off_ = false;
};

}  // namespace kiln
