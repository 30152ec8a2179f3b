#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "generator/native/cache/cache.h"

namespace kiln {

/// What some cores of this machine, together, can do at most.
struct Peaks {
  std::string cpu;  // its model
  int cores = 0;
  // Operations a second out of registers, a multiply and an add counted as two; 0: the CPU lacks
  // the instruction.
  double f32 = 0, bf16 = 0, i8 = 0;
  double bytes_per_second = 0;  // of loops past the caches
  // Of a loop that reads what the caches hold, and how much that is: the L2 of each core, and the
  // last cache of all. 0: the operating system does not say that there is one.
  double l2_bytes = 0, l2_bytes_per_second = 0;
  double last_cache_bytes = 0, last_cache_bytes_per_second = 0;
  // How far they can be believed.
  int64_t measured = 0;  // seconds since 1970
  double others = -1;    // cores that other programs used meanwhile; negative: not known
};

/// "AMD EPYC 9004"
std::string CpuModel();

/// Which peaks will do.
enum class PeakAge {
  kKept,    // those that were measured once, …
  kBeaten,  // … unless not just now, as something was faster: the best of then and now
  kNew,     // as measured now
};

/// Measured by a library that is compiled as kernels are, and kept for this CPU. It takes about two
/// seconds. What was measured on a busy machine is measured again, whatever will do, and the best
/// of both counts: others only ever make it slower. Nullopt: *why says why.
std::optional<Peaks> FindPeaks(int cores, PeakAge age, const Toolchain& tools,
                               const CompileOptions& options, std::string* why);

/// A probe as a library to compile: `file` is one of the texts.
Unit ProbeUnit(const std::string& file);
/// The probes' source files by name.
const std::map<std::string, std::string>& ProbeTexts();

}  // namespace kiln
