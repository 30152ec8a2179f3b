#pragma once

#include <functional>

#include "generator/bind/bind.h"

namespace kiln {

/// What one check of a grid may cost, in additions at a grid point. It is about 10 s, and more than
/// 10^9 points for the maps of most kernels: grids that can be run are far below it.
inline constexpr int64_t kMaxGridWork = 20'000'000'000;
inline constexpr double kGridWorkPerSecond = 2e9;

struct GridCheckOptions {
  /// Called now and then with the share of the work done, for progress displays. May be null.
  std::function<void(double)> progress = nullptr;
  /// At most this many diagnostics of one rule for one operand; the rest is counted in the message.
  int diagnostics_per_rule = 1;
  int64_t vmem_bytes = 16ll << 20;  // budgets of [tier]; 0: not checked
  int64_t smem_bytes = 1ll << 20;
  int64_t work = kMaxGridWork;
};

/// Everything that sizes and prefetch arrays decide, over the whole grid, before any body runs:
/// [index-range], [coverage], [revisit], [race], [alias], [tier], [assert] over host values.
/// Operands whose maps need values that are not bound are skipped. A grid with more points than can
/// be tried within seconds is checked in part: each part left out is a warning, and the result is
/// false.
bool CheckGrid(const Binding& binding, const GridCheckOptions& options, Diagnostics& diagnostics);

}  // namespace kiln
