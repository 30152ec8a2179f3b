#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/data/dtype.h"
#include "generator/text/diagnostic.h"

namespace kiln {

/// A TPU in numbers, of one core where nothing else is said; runtime/machines/ has those that ship,
/// with what each number is and where it is from.
struct Machine {
  std::string name;
  std::string doc;

  int64_t cores = 1;
  int64_t vmem = 0;
  int64_t vmem_limit = 0;  // what a kernel may use of it unless told otherwise; `vmem` if not given
  int64_t smem = 0;
  int64_t hbm = 0;

  double hbm_bps = 0;      // as published; all cores together share `cores` times as much
  double hbm_share = 1;    // what copies reach of it
  double dma_seconds = 0;  // from a transfer's last byte to the end of its wait

  int64_t mxu = 1;                // edge of the matmul unit
  std::map<DType, double> rates;  // operations a second of it
  double clock = 0;               // cycles a second
  int64_t sublanes = 1, lanes = 1;
  double vector_ops = 1;  // registers in a cycle …
  double vector_loads = 1;
  double vector_stores = 1;

  double step_cycles = 0;  // at least
  double skipped_step_cycles = 0;
  double call_seconds = 0;

  /// Of the matmul unit. A type of integers that it lacks is multiplied as bf16, one of floats as
  /// f32; nullopt: not at all.
  std::optional<double> RateOf(DType dtype) const;
  /// Operations for each byte at which matmuls of bf16 and HBM are equally busy.
  double Ridge() const;
  double step_seconds() const { return step_cycles / clock; }
  double skipped_step_seconds() const { return skipped_step_cycles / clock; }
  /// Bytes a second that copies of a core reach while so many cores are at work.
  double CopyRate(int64_t working_cores) const;
};

/// Those that ship, by name.
std::vector<std::string> MachineNames();

/// Reads a machine's file. Nullopt when anything in it is wrong.
std::optional<Machine> ParseMachine(const Source& source, Diagnostics& diagnostics);

/// Why there is no machine: one sentence with a hint, or what is wrong in its file.
struct MachineFault {
  std::string message, hint;
  std::shared_ptr<const Source> source;  // null: it could not be read
  Diagnostics diagnostics;
};

/// The machine of that name, or in the file of that path.
std::optional<Machine> LoadMachine(const std::string& name_or_path, MachineFault* fault);

}  // namespace kiln
