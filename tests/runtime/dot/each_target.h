// Tests of dots, once for each instruction set that is compiled and that this machine has.
#pragma once

#include <cstdint>

#include "hwy/targets.h"
#include "kiln/dot/amx.h"
#include "tests/catch.h"
#include "tests/runtime/dot/amx_in_software.h"

namespace kiln::dot_test {

/// Calls `check`, which dispatches, for each target that its file is compiled for: no two files
/// have a `check` of one type, and so this is compiled for each, while
/// hwy::SupportedAndGeneratedTargets is one for all files, of which some are compiled for one
/// target alone.
template <class Check>
void ForEachTarget(const Check& check) {
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    INFO(hwy::TargetName(target) << (HasAmx() ? " with AMX" : ""));
    hwy::SetSupportedTargetsForTest(target);
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
}

/// The same with AMX, in software where there is none, and without it.
template <class Check>
void ForEachTargetAndAmx(const Check& check) {
  if (!HasAmx()) SetAmxForTest(true, MultiplyInSoftware);
  ForEachTarget(check);
  SetAmxForTest(false);
  ForEachTarget(check);
  SetAmxForTest(true);
}

}  // namespace kiln::dot_test
