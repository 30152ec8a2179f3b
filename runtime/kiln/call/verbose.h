// KILN_VERBOSE=1: a line on standard error for each call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "kiln/call/context.h"
#include "kiln/core/options.h"
#include "kiln/core/status.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI::internal {

enum class Verbosity : int { kUnknown, kSilent, kVerbose };
extern std::atomic<Verbosity> g_verbosity;

/// Reads the environment at the first call.
bool ReadVerbosity();

inline bool IsVerbose() {
  const Verbosity known = g_verbosity.load(std::memory_order_relaxed);
  return known == Verbosity::kUnknown ? ReadVerbosity() : known == Verbosity::kVerbose;
}

/// What became of a call.
struct Ran {
  Options options;
  int cores = 0;       // 0: it has not come so far
  int64_t target = 0;  // of Highway; 0: no step has run
  std::chrono::steady_clock::duration time{};
  Code code = kOk;
};

/// Writes the line, and before the first one what its fields are, at once: lines of several threads
/// do not mix.
void PrintCall(const RunOptions& how, const Ran& ran);
/// The same of a call that is refused before it runs: why is a comment in the command's place.
void PrintRefused(const RunOptions& how, const Status& status);

}  // namespace kiln::inline KILN_ABI::internal
