// The loop of a core over its steps.
#pragma once

#include "kiln/core/core.h"
#include "kiln/core/version.h"
#include "kiln/grid/grid.h"

namespace kiln::inline KILN_ABI {

/// Runs a step's body, unless what the step has waited for has failed. Whether the core is ok.
template <class Step>
inline bool RunBody(void (*body)(const Step&), const Step& step) {
  if (!step.core.ok()) return false;
  body(step);
  return step.core.ok();
}

/// Calls copy_in(from, at) for each step, which starts to copy its blocks, while the one before
/// computes; and step(at, next). What `from`, the core, finds in copy_in is about the next step.
/// `locate(at)` adds to a diagnostic of the step that it is about.
template <int R, class CopyIn, class RunAt, class Locate>
inline void ForSteps(const Grid<R>& grid, Core& core, const CopyIn& copy_in, const RunAt& step,
                     const Locate& locate) {
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
inline void ForSteps(const Grid<R>& grid, Core& core, const CopyIn& copy_in, const RunAt& step) {
  ForSteps(
      grid, core, [&](auto&, const Point<R>& at) { copy_in(at); }, step, [](const Point<R>&) {});
}

}  // namespace kiln::inline KILN_ABI
