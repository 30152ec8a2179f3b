#pragma once

#include <map>
#include <optional>
#include <string>

#include "generator/native/cache.h"

namespace kiln {

/// What some cores of this machine, together, can do at most.
struct Peaks {
  std::string cpu;  // its model
  int cores = 0;
  // Operations a second out of registers, a multiply and an add counted as two; 0: the CPU lacks
  // the instruction.
  double f32 = 0, bf16 = 0, i8 = 0;
  double bytes_per_second = 0;  // of loops past the caches
};

/// "AMD EPYC 9004"
std::string CpuModel();

/// Measured by a library that is compiled as kernels are; kept for this CPU, and measured once
/// unless `again`. It takes about two seconds. Nullopt: *why tells.
std::optional<Peaks> FindPeaks(int cores, bool again, const Toolchain& tools,
                               const CompileOptions& options, std::string* why);

/// A probe as a library to compile: `file` is one of the texts.
Unit ProbeUnit(const std::string& file);
/// The probes' source files by name.
const std::map<std::string, std::string>& ProbeTexts();

}  // namespace kiln
