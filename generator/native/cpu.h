#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "generator/native/cache/cache.h"

namespace kiln {

/// What kernels that the tool compiles take of this CPU, as the runtime reports it.
struct CpuFacts {
  std::string target;   // Highway's name of the instruction set: "AVX3_DL"
  std::string highway;  // its version: "1.0.3"
  int64_t vector_bytes = 0, vector_registers = 0;
  bool amx = false;  // whether dots of bf16 and of bytes use its tiles
  int64_t l1_bytes = 0, l2_bytes = 0, last_cache_bytes = 0, page_bytes = 0;  // kiln/core/machine.h
  int64_t tile_rows = 0, tile_columns = 0;  // of the register tile of an f32 product
  int64_t product = 0;                      // M, N and K of a product, which is computed in …
  int64_t mc = 0, nc = 0, kc = 0;           // … these blocks
};

/// Asks a library that is compiled as kernels are. Nullopt: *why says why.
std::optional<CpuFacts> FindCpuFacts(const Toolchain& tools, const CompileOptions& options,
                                     std::string* why);

}  // namespace kiln
