#include "kiln/core/status.h"

#include <cstdarg>
#include <cstdio>

namespace kiln::inline KILN_ABI {

const char* NameOf(Code code) {
  constexpr const char* kNames[] = {"ok",     "call",    "index-range", "tier",     "undefined",
                                    "race",   "revisit", "sync",        "alias",    "assert",
                                    "memory", "tail",    "coverage",    "cancelled"};
  const bool known = code >= kOk && code <= kCancelled;
  return known ? kNames[code] : "unknown";
}

void Status::Fail(Code why, const char* format, ...) {
  if (!ok()) return;
  code = why;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
}

}  // namespace kiln::inline KILN_ABI
