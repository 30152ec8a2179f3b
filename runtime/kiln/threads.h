// The threads of a context.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace kiln {

/// Threads that run one job at a time together with their caller, and sleep in between after having
/// looked for another one for some microseconds.
class Threads {
 public:
  Threads();
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Runs task(argument, i) for all 0 <= i < count, and returns when all have returned. Starts the
  /// threads that it lacks; what they cannot do, for want of threads, the caller does. One caller
  /// at a time.
  void Run(int count, void (*task)(void* argument, int32_t i), void* argument);

  /// A child process has none of its parent's threads.
  bool IsForked() const;

 private:
  void Start(int count);
  void Work(int index, uint32_t job);

  const int64_t process_;
  std::vector<std::thread> threads_;
  // What the threads are to do is set before `job_` changes, and read after.
  void (*task_)(void* argument, int32_t i) = nullptr;
  void* argument_ = nullptr;
  int count_ = 0;
  bool stop_ = false;
  std::atomic<uint32_t> job_{0};
  std::atomic<uint32_t> busy_{0};
};

/// Hardware threads that this process may use.
int HardwareCores();

}  // namespace kiln
