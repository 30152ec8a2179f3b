#include "generator/planner/make_plan.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "generator/plan/verify.h"
#include "generator/planner/rewrite/apart.h"
#include "generator/planner/rewrite/as_one.h"
#include "generator/planner/rewrite/concats.h"
#include "generator/planner/rewrite/divided.h"
#include "generator/planner/rewrite/joined.h"
#include "generator/planner/rewrite/moves.h"
#include "generator/planner/rewrite/named_once.h"
#include "generator/planner/rewrite/one_place.h"

namespace kiln {

std::shared_ptr<const Kernel> RewrittenForPlan(const Kernel& of) {
  std::shared_ptr<const Kernel> kernel;
  for (const auto rewrite : {WithRepeatsByTurns, WithRepeatedValuesNamed, WithOnePlaceOfMasks,
                             WithConcatsInPlace, WithMovesInPlace, WithMovesApart,
                             WithDividedDimensions, WithNeighboursAsOne, WithJoinedDimensions}) {
    if (auto rewritten = rewrite(kernel ? *kernel : of)) kernel = std::move(rewritten);
  }
  return kernel;
}

std::unique_ptr<Plan> MakePlan(const Kernel& of, Diagnostics& diagnostics, std::string_view last) {
  auto plan = std::make_unique<Plan>();
  plan->rewritten = RewrittenForPlan(of);
  const Kernel& kernel = plan->rewritten ? *plan->rewritten : of;
  plan->kernel = &kernel;
  const Reduction reduction = FindReduction(kernel);
  const RefId carried = reduction.stay ? RefId() : reduction.accumulator;
  Planning planning{*plan, kernel, reduction, SpaceAnalysis(kernel, carried), diagnostics};
  for (const Pass& pass : Passes()) {
    pass.run(planning);
    if (pass.name == last) return plan;
  }
  if (diagnostics.HasErrors()) return nullptr;
  // Better no text than one that writes where it must not.
  if (const std::string flaw = FlawOf(*plan); !flaw.empty())
    throw std::logic_error("the plan of " + kernel.name + " is unsound: " + flaw);
  return plan;
}

namespace {

/// The call checks arguments once and hands them to whichever specialization it chooses.
bool HaveSameArguments(const Kernel& a, const Kernel& b) {
  const auto same = [](const Ref& x, const Ref& y) {
    return x.name == y.name && x.role == y.role && x.dtype == y.dtype && x.view_of == y.view_of &&
           x.array.size() == y.array.size();
  };
  const auto same_dim = [](const Dim& x, const Dim& y) { return x.name == y.name; };
  return std::equal(a.refs.begin(), a.refs.end(), b.refs.begin(), b.refs.end(), same) &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), same_dim);
}

}  // namespace

std::vector<std::unique_ptr<Plan>> MakePlans(const Kernel& kernel, Diagnostics& diagnostics) {
  std::vector<std::unique_ptr<Plan>> plans;
  plans.push_back(MakePlan(kernel, diagnostics));
  for (const Variant& variant : kernel.variants) {
    if (!HaveSameArguments(kernel, *variant.kernel)) {
      diagnostics.Add({Severity::kError,
                       "tier",
                       variant.span,
                       "not supported yet: a variant with other arguments in generated code",
                       "let variants set sizes of blocks; make instances for the rest",
                       {},
                       variant.lock});
      return {};
    }
    plans.push_back(MakePlan(*variant.kernel, diagnostics));
  }
  const bool all =
      std::all_of(plans.begin(), plans.end(), [](const auto& plan) { return plan != nullptr; });
  if (!all) plans.clear();
  return plans;
}

}  // namespace kiln
