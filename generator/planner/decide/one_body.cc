#include "generator/planner/decide/one_body.h"

#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// Whether a dot is the last thing that a body does. What comes before it must have a text that
/// tells everything, which that of manual copies does not.
bool EndsWithDot(const Stages& stages) {
  bool told = true;
  ForEachStage(stages, [&](const Stage& stage) {
    told = told && stage.kind != Stage::Kind::kCopy && stage.kind != Stage::Kind::kWait &&
           stage.kind != Stage::Kind::kTouch;
  });
  return told && !stages.empty() && stages.back().kind == Stage::Kind::kDot;
}

/// Whether the dot does nothing with its sums but leave them in the accumulators.
bool Keeps(const Plan& plan, const Stage& dot) {
  if (dot.body.size() != 1 || !dot.prefetches.empty()) return false;
  const Stage& store = dot.body.front();
  return store.kind == Stage::Kind::kStore && !store.mask &&
         store.place.buffer == plan.accumulator && store.value->kind == Element::Kind::kVariable &&
         store.value->index == dot.variable;
}

bool StartsFromSums(const Plan& plan, const Stage& dot) {
  return dot.start && dot.start->kind == Element::Kind::kLoad &&
         dot.start->place.buffer == plan.accumulator;
}

/// The body without what it does with its sums: where they start, and, if `all`, what comes after.
std::string Rest(const Plan& plan, Stages stages, bool all) {
  stages.back().start = nullptr;
  if (all) {
    stages.back().body.clear();
    stages.back().prefetches.clear();
  }
  return CanonicalText(plan, stages);
}

}  // namespace

void MakeOneBody(Plan& plan) {
  if (plan.accumulator < 0 || plan.bodies.size() != 4) return;
  Stages &single = plan.bodies[0].stages, &first = plan.bodies[1].stages,
         &middle = plan.bodies[2].stages, &last = plan.bodies[3].stages;
  for (const Stages* stages : {&single, &first, &middle, &last}) {
    if (!EndsWithDot(*stages)) return;
  }
  const bool starts = !single.back().start && !first.back().start &&
                      StartsFromSums(plan, middle.back()) && StartsFromSums(plan, last.back());
  if (!starts || !Keeps(plan, first.back()) || !Keeps(plan, middle.back())) return;
  const std::string finish = Rest(plan, last, /*all=*/false), rest = Rest(plan, last, /*all=*/true);
  if (Rest(plan, single, /*all=*/false) != finish) return;
  if (Rest(plan, first, /*all=*/true) != rest || Rest(plan, middle, /*all=*/true) != rest) return;
  BodyPlan body{"", std::move(last)};
  body.stages.back().across_steps = true;
  plan.bodies.clear();
  plan.bodies.push_back(std::move(body));
}

}  // namespace kiln
