#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/bind/bind.h"
#include "generator/generate/generate.h"
#include "generator/native/cache/cache.h"
#include "generator/predict/recorded.h"
#include "generator/system/limits.h"

namespace kiln {

/// How a generated kernel runs.
struct CallOptions {
  int cores = 0;       // 0: as many as the hardware has
  int repeat = 1;      // calls, at least so many …
  double seconds = 0;  // … and for so long
  // Calls that are not timed have arrays at the end of a guarded page, where the first byte behind
  // is caught; or at its start, where the first byte in front is.
  bool at_start = false;
  // An output that takes over an input gets the very array, and not a copy of it. Before each call
  // but the first it is made to hold the input again, which is not timed.
  bool in_place = false;
  bool emulate = false;
  // Of the emulated machine.
  int64_t vmem_bytes = 0;  // 0: as much as it likes
  int64_t smem_bytes = 0;
  bool eager = false;  // copies move when they start, not when they are waited for
  // What undefined memory holds; see runtime/kiln/core/options.h.
  enum class Poison { kNan, kRandom, kZero, kZeroEdges } poison = Poison::kNan;
  bool shuffle = false;  // the parallel axes in a random order
  uint64_t seed = 0;     // of that, and of random poison
  bool events = false;   // report what the copies were
};

/// What the emulated machine copied for an operand, summed over the cores.
struct CopyRecord {
  std::string operand;
  bool in_smem = false;
  int64_t copies = 0;
  int64_t bytes = 0;
  int64_t skipped = 0;  // the block was there already
  int64_t buffers = 0;
  int64_t memory_bytes = 0;  // of all buffers of a core
};

struct CallResult {
  std::map<std::string, Array> outputs;
  double seconds = 0;         // of the fastest call
  std::vector<double> calls;  // of each
  int cores = 0;              // that ran
  int code = 0;               // 0: fine; else what the kernel's status said
  std::string rule;           // the code's name
  std::string message;
  std::vector<CopyRecord> copies;
  std::vector<int64_t> vmem_high;  // bytes in use, by core
  RecordedRun recorded;            // if the options ask for events
};

struct KernelInterface;

/// A compiled kernel, loaded into this process.
class LoadedKernel {
 public:
  LoadedKernel();
  ~LoadedKernel();
  LoadedKernel(LoadedKernel&& other) noexcept;
  LoadedKernel& operator=(LoadedKernel&& other) noexcept;

  explicit operator bool() const { return library_ != nullptr; }

  /// The instruction set that it was compiled for.
  const std::string& isa() const { return isa_; }

  /// Calls it on arrays of the shapes that the binding decided. What it does not write is NaN, or
  /// the largest integer.
  CallResult Call(const Binding& binding, const std::map<std::string, Array>& arrays,
                  const CallOptions& options) const;

 private:
  friend LoadedKernel LoadKernel(const Kernel&, const Generated&, const Toolchain&,
                                 const CompileOptions&, Compiled*);
  std::string Open(const std::string& library, const std::string& name);

  void* library_ = nullptr;
  std::string isa_;
  std::unique_ptr<KernelInterface> functions_;
};

/// What is compiled of a kernel: its text, the function that calls it with an array of tensors, and
/// headers of its own host code.
Unit KernelUnit(const Kernel& kernel, const Generated& text);

/// The same of a kernel that the cache holds, for whoever knows no more of it than its name and the
/// hash of its text. Not of kernels with headers of their own, which the cache does not hold.
std::optional<Unit> FindKernelUnit(const std::string& folder, const std::string& name,
                                   const std::string& hash);

/// Compiles the text unless the cache has it, and loads it. If that fails the result is false, and
/// *compiled says why.
LoadedKernel LoadKernel(const Kernel& kernel, const Generated& text, const Toolchain& tools,
                        const CompileOptions& options, Compiled* compiled);

/// What a call would take, besides the arrays that it is given.
Demand CallDemand(const Binding& binding, const CallOptions& options);

/// The refs that a caller passes, in the order of the generated function's parameters.
std::vector<int> CallArguments(const Kernel& kernel);

}  // namespace kiln
