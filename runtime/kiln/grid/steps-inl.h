// The loop of a core over its steps.
#if defined(KILN_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_STEPS_INL_H_
#undef KILN_STEPS_INL_H_
#else
#define KILN_STEPS_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/grid/grid.h"
#include "kiln/simd/target-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Runs the body of a step on a copy of it, which no store reaches: so it stays in registers.
template <class Step>
HWY_NOINLINE void RunStep(const Step& HWY_RESTRICT step) {
  if (!step.core.ok()) return;
  const Step mine = step;
  mine.Body();
}

/// Calls copy_in(from, at) for each step, which starts to copy its blocks, while the one before
/// computes; and step(at, next). What `from`, the core, finds in copy_in is about the next step.
/// `locate(at)` adds to a diagnostic of the step that it is about.
template <int R, class CopyIn, class RunAt, class Locate>
HWY_INLINE void ForSteps(const Grid<R>& grid, Core& core, const CopyIn& copy_in, const RunAt& step,
                         const Locate& locate) {
  core.RunsOn(HWY_TARGET);
  const Core::NextStep next_step{core};
  auto at = grid.First();
  if (at.more) copy_in(core, at);
  if (!core.ok()) return locate(Point<R>(at));
  while (at.more) {
    const auto next = grid.Next(at);
    if (next.more) copy_in(next_step, next);
    if (!core.ok()) return locate(Point<R>(next));
    core.BeginStep(at.run);
    step(at, next);
    if (!core.ok()) return locate(Point<R>(at));
    internal::CopyEach(next.index, &at.index);
    at.more = next.more;
    at.run = next.run;
  }
}
/// The same without prefetch arrays that diagnostics name.
template <int R, class CopyIn, class RunAt>
HWY_INLINE void ForSteps(const Grid<R>& grid, Core& core, const CopyIn& copy_in,
                         const RunAt& step) {
  ForSteps(
      grid, core, [&](auto&, const Point<R>& at) { copy_in(at); }, step, [](const Point<R>&) {});
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
