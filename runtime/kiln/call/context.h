// Who runs kernels: cores with their threads and memory, which are kept from call to call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "kiln/core/core.h"
#include "kiln/core/list.h"
#include "kiln/core/options.h"
#include "kiln/core/record.h"
#include "kiln/core/status.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

class CallCheck;
class Threads;
namespace internal {
struct Ran;
}

/// Of one call.
struct RunOptions {
  const char* kernel = nullptr;  // its name, for diagnostics, …
  const char* axes = nullptr;    // … and those of its axes: "i, j"
  int32_t cores = 0;             // at most this many; 0: all
  int64_t bytes = INT64_MAX;     // of the arguments

  // For who follows the calls of a program.
  const char* spec = nullptr;        // "matmul.yaml:matmul_f32"
  const char* set = nullptr;         // "bm=32 T=f32"
  int specialization = 0;            // 0: the base
  const CallCheck* check = nullptr;  // which has the arguments
};

/// Any number of threads may call kernels in one context at a time. The first of them has its
/// threads; the others get cores of their own, but no threads. After fork() the child has contexts
/// like its parent's, idle and without threads, which start with its next call.
class Context {
 public:
  explicit Context(const Options& options = {});
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Options options() const;
  /// Takes effect with the next call.
  void Configure(const Options& options);

  /// Runs run(call, core) on each core. The status is the diagnostic of the first core that has
  /// one.
  template <class Call>
  Status Run(void (*run)(const Call&, Core&), const Call& call, const RunOptions& how = {}) {
    const Bound<Call> bound{run, &call};
    return RunOnCores(&Bound<Call>::Invoke, &bound, how);
  }

  /// Of the call that finished last.
  Record record() const;

  /// Gives memory and threads back until the next call.
  void Trim();

 private:
  template <class Call>
  struct Bound {
    void (*run)(const Call&, Core&);
    const Call* call;

    static void Invoke(const void* bound, Core& core) {
      const auto* const self = static_cast<const Bound*>(bound);
      self->run(*self->call, core);
    }
  };
  struct Workspace;
  struct Job;
  friend struct AllContexts;

  Status RunOnCores(void (*invoke)(const void* bound, Core& core), const void* bound,
                    const RunOptions& how);
  Status RunAsAsked(void (*invoke)(const void* bound, Core& core), const void* bound,
                    const RunOptions& how, internal::Ran* ran);
  bool RunThreaded(Job& job);
  std::unique_ptr<Workspace> Take(Options* options);
  void GiveBack(std::unique_ptr<Workspace> workspace, int cores);

  const int hardware_cores_;
  mutable std::mutex mutex_;  // of all but `threads_`
  Options options_;
  internal::List<std::unique_ptr<Workspace>> free_;
  Record record_;
  std::atomic_flag has_caller_;   // of `threads_`
  std::atomic_flag uses_memory_;  // a call, that of the options
  std::unique_ptr<Threads> threads_;
  Context *before_ = nullptr, *after_ = nullptr;  // among all contexts
};

/// The context of callers who name none: all cores, Direct. It is made by the first call.
Context& DefaultContext();

}  // namespace kiln::inline KILN_ABI
