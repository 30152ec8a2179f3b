#include "kiln/threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

#include "kiln/wait.h"

namespace kiln {
Threads::Threads() : process_(getpid()) {}

Threads::~Threads() {
  stop_ = true;
  job_.fetch_add(1, std::memory_order_release);
  job_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Threads::IsForked() const { return process_ != getpid(); }

void Threads::Start(int count) {
  const uint32_t job = job_.load(std::memory_order_relaxed);
  try {
    threads_.reserve(static_cast<size_t>(count));
    while (static_cast<int>(threads_.size()) < count) {
      const int index = static_cast<int>(threads_.size()) + 1;
      threads_.emplace_back([this, index, job] { Work(index, job); });
    }
  } catch (const std::exception&) {
    // As many as there are.
  }
}

void Threads::Work(int index, uint32_t job) {
  for (;; ++job) {
    WaitWhile(job_, job);
    if (stop_) return;
    if (index < count_) task_(argument_, index);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

void Threads::Run(int count, void (*task)(void* argument, int32_t i), void* argument) {
  if (static_cast<int>(threads_.size()) < count - 1) Start(count - 1);
  const int threads = static_cast<int>(threads_.size());
  task_ = task;
  argument_ = argument;
  count_ = count;
  busy_.store(static_cast<uint32_t>(threads), std::memory_order_relaxed);
  job_.fetch_add(1, std::memory_order_release);
  job_.notify_all();

  task(argument, 0);
  for (int i = threads + 1; i < count; ++i) task(argument, i);
  for (;;) {
    const uint32_t busy = busy_.load(std::memory_order_acquire);
    if (busy == 0) return;
    WaitWhile(busy_, busy);
  }
}

int HardwareCores() {
#ifdef __linux__
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) return std::max(CPU_COUNT(&cpus), 1);
#endif
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace kiln
