#include "generator/planner/decide/one_body.h"

#include <utility>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// The dot that is the last thing which a body does, or null. What comes before it must have a text
/// that says everything, which that of manual copies does not.
stage::Dot* DotAtEnd(Stages& stages) {
  const bool complete = !AnyStage(
      stages, [](const Stage& stage) { return Is<stage::Copy, stage::Wait, stage::Touch>(stage); });
  return complete && !stages.empty() ? As<stage::Dot>(stages.back()) : nullptr;
}

/// Whether the dot does nothing with its sums but leave them in the accumulators.
bool Keeps(const Plan& plan, const stage::Dot& dot) {
  if (dot.body.size() != 1 || !dot.prefetches.empty()) return false;
  const auto* store = As<stage::Store>(dot.body.front());
  return store && KeepsSums(plan, dot, *store);
}

bool StartsFromSums(const Plan& plan, const stage::Dot& dot) {
  const Place* start = dot.start ? LoadedBy(*dot.start) : nullptr;
  return start && plan.IsAccumulator(start->buffer);
}

/// The body without what it does with its sums: where they start, and, if `all`, what comes after.
std::string Rest(const Plan& plan, Stages stages, bool all) {
  auto& dot = *As<stage::Dot>(stages.back());
  dot.start = nullptr;
  if (all) {
    dot.body.clear();
    dot.prefetches.clear();
    dot.streamed = {};
  }
  return CanonicalText(plan, stages);
}

/// The bodies of a first step and of the others, whose sums stay in rows of a block.
void MakeOneOfTwo(Plan& plan) {
  Stages &first = plan.bodies[0].stages, &middle = plan.bodies[1].stages;
  const stage::Dot* const of_first = DotAtEnd(first);
  stage::Dot* const of_middle = DotAtEnd(middle);
  if (!of_first || !of_middle || !of_first->in_rows || !of_middle->in_rows) return;
  if (of_first->start || !of_middle->start) return;
  if (Rest(plan, first, /*all=*/false) != Rest(plan, middle, /*all=*/false)) return;
  of_middle->across_steps = true;
  plan.bodies = {{"", Stages(std::move(middle))}};
}

/// Those of the first step, the last, a single one and the others, whose sums stay in accumulators.
void MakeOneOfFour(Plan& plan) {
  Stages &single = plan.bodies[0].stages, &first = plan.bodies[1].stages,
         &middle = plan.bodies[2].stages, &last = plan.bodies[3].stages;
  const stage::Dot *of_single = DotAtEnd(single), *of_first = DotAtEnd(first),
                   *of_middle = DotAtEnd(middle);
  stage::Dot* const of_last = DotAtEnd(last);
  if (!of_single || !of_first || !of_middle || !of_last) return;
  const bool starts = !of_single->start && !of_first->start && StartsFromSums(plan, *of_middle) &&
                      StartsFromSums(plan, *of_last);
  if (!starts || !Keeps(plan, *of_first) || !Keeps(plan, *of_middle)) return;
  const std::string finish = Rest(plan, last, /*all=*/false), rest = Rest(plan, last, /*all=*/true);
  if (Rest(plan, single, /*all=*/false) != finish) return;
  if (Rest(plan, first, /*all=*/true) != rest || Rest(plan, middle, /*all=*/true) != rest) return;
  of_last->across_steps = true;
  plan.bodies = {{"", Stages(std::move(last))}};
}

}  // namespace

void MakeOneBody(Plan& plan) {
  if (plan.accumulator && plan.bodies.size() == 4) MakeOneOfFour(plan);
  if (plan.bodies.size() == 2) MakeOneOfTwo(plan);
}

}  // namespace kiln
