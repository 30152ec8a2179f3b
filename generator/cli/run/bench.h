#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/cli/run/simulate.h"
#include "generator/native/call.h"
#include "generator/native/limit.h"
#include "generator/native/peaks.h"

namespace kiln::cli {

/// What a call has to do at least, whatever the machine.
struct CallWork {
  double flops = 0;  // of dots
  double bytes = 0;  // of the arrays, each element that is touched once
  std::optional<DType> dot_type;
};

struct BenchResult {
  std::string kernel;
  bool emulated = false;
  std::string isa;
  std::vector<double> seconds;  // of calls, sorted; the first call is none of them
  int cores = 0;
  CallWork work;
  double others = -1;  // cores that other programs used meanwhile
  Peaks peaks;         // of so many cores
  const Binding* binding = nullptr;
  std::string variant;                  // the condition of the one that ran
  std::vector<std::string> own_blocks;  // axes of which Direct chooses the blocks

  double median() const;
  double steps() const { return static_cast<double>(binding->StepCount()); }
  double flops_per_second() const { return work.flops / median(); }
  double bytes_per_second() const { return work.bytes / median(); }
  /// Of operations on the dot's type; 0: not known.
  double peak_flops() const;
  Limit limit() const;
  /// Whether caches may have held the arrays, from call to call.
  bool fits_caches() const;
  /// Whether it was faster than what should be the most.
  bool beats_peaks() const;
};

/// Nullopt, and a diagnostic, when something that decides the steps is not known.
std::optional<CallWork> WorkOf(const Binding& binding, const Machine& machine,
                               Diagnostics& diagnostics);

/// Axes of which Direct chooses the blocks by itself, as no result depends on them.
std::vector<std::string> AxesOfOwnBlocks(const Kernel& kernel);

// bench_report.cc
std::string BenchText(const BenchResult& result);
std::string BenchJson(const BenchResult& result);

}  // namespace kiln::cli
