// The threads of a context.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "kiln/core/list.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// Threads that run one job at a time together with their caller, and sleep in between after having
/// looked for another one for some microseconds.
class Threads {
 public:
  Threads() = default;
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Runs task(argument, i) for all 0 <= i < count, and returns when all have returned. Starts the
  /// threads that it lacks, `most` together with the caller; tasks beyond them are for whoever is
  /// done. One caller at a time. False: the task has forked, this is the child, and the parent does
  /// the rest.
  bool Run(int count, int most, void (*task)(void* argument, int32_t i), void* argument);

  /// In a child process, which has none of its parent's threads: others start when they are needed.
  void Forget();

 private:
  /// A place for a thread. It outlives a fork, as a child that frees memory might find its
  /// allocator locked by a thread that is not there.
  struct Worker {
    Threads* threads;
    int index;
    uint32_t job;  // the last one that it did not see
    pthread_t thread;
  };

  void Start(int count);
  void Work(int index, uint32_t job);
  /// The task of this number, and then such as no thread has for its own.
  void RunTasks(int index);

  internal::List<std::unique_ptr<Worker>> workers_;
  int running_ = 0;  // how many of them there are
  int forks_ = 0;
  // What the threads are to do is set before `job_` changes, and read after.
  void (*task_)(void* argument, int32_t i) = nullptr;
  void* argument_ = nullptr;
  int count_ = 0;
  std::atomic<int> next_{0};  // of the tasks that no thread has for its own
  bool stop_ = false;
  std::atomic<uint32_t> job_{0};
  std::atomic<uint32_t> busy_{0};
};

/// Hardware threads that this process may use.
int HardwareCores();

}  // namespace kiln::inline KILN_ABI
