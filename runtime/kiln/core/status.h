// What a call returns.
#pragma once

#include <cstdint>

#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// Why a call failed: the rules of the language, as far as they are checked at a call or by the
/// emulator. The numbers are part of the C interface.
enum Code : int32_t {
  kOk = 0,
  kCall = 1,        // an argument: its dtype, shape, layout
  kIndexRange = 2,  // a block that the array does not have
  kTier = 3,        // VMEM or SMEM is too small
  kUndefined = 4,   // a value that nothing has set reaches an output
  kRace = 5,        // two parallel steps write one block
  kRevisit = 6,     // a block that was left is written again
  kSync = 7,        // a wait without a copy, a copy without a wait
  kAlias = 8,       // memory that is two arguments
  kAssert = 9,
  kMemory = 10,     // the host has no memory or threads left
  kTail = 11,       // an element past an edge reaches an output
  kCoverage = 12,   // an element of an output that no step stores
  kCancelled = 13,  // the caller has ended the call
};

/// "index-range"
const char* NameOf(Code code);

/// Has no members that need care: it is kiln_status of the C interface.
struct Status {
  Code code = kOk;
  char message[508] = {};

  bool ok() const { return code == kOk; }

  /// Sets code and message unless an earlier failure is kept.
  void Fail(Code why, const char* format, ...) __attribute__((format(printf, 3, 4)));
};

}  // namespace kiln::inline KILN_ABI
