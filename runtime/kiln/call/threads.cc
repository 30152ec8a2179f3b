#include "kiln/call/threads.h"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "kiln/core/wait.h"

namespace kiln::inline KILN_ABI {

Threads::~Threads() {
  stop_ = true;
  job_.fetch_add(1, std::memory_order_release);
  job_.notify_all();
  for (int i = 0; i < running_; ++i)
    pthread_join(workers_[static_cast<size_t>(i)]->thread, nullptr);
}

void Threads::Forget() {
  ++forks_;
  running_ = 0;
  stop_ = false;
  busy_.store(0, std::memory_order_relaxed);
}

/// As many as there is memory for.
void Threads::Start(int count) {
  const uint32_t job = job_.load(std::memory_order_relaxed);
  try {
    while (static_cast<int>(workers_.size()) < count)
      workers_.push_back(std::make_unique<Worker>());
  } catch (const std::exception&) {
    count = static_cast<int>(workers_.size());
  }
  for (; running_ < count; ++running_) {
    Worker& worker = *workers_[static_cast<size_t>(running_)];
    worker = {this, running_ + 1, job, {}};
    const auto work = [](void* at) -> void* {
      const auto* const self = static_cast<const Worker*>(at);
      self->threads->Work(self->index, self->job);
      return nullptr;
    };
    if (pthread_create(&worker.thread, nullptr, work, &worker) != 0) return;
  }
}

void Threads::Work(int index, uint32_t job) {
  for (;; ++job) {
    WaitWhile(job_, job);
    if (stop_) return;
    RunTasks(index);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

void Threads::RunTasks(int index) {
  if (index < count_) task_(argument_, index);
  for (int i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count_;) task_(argument_, i);
}

bool Threads::Run(int count, int most, void (*task)(void* argument, int32_t i), void* argument) {
  const int wanted = std::min(count, std::max(most, 1)) - 1;
  if (running_ < wanted) Start(wanted);
  const int threads = running_, forks = forks_;
  task_ = task;
  argument_ = argument;
  count_ = count;
  next_.store(threads + 1, std::memory_order_relaxed);
  busy_.store(static_cast<uint32_t>(threads), std::memory_order_relaxed);
  job_.fetch_add(1, std::memory_order_release);
  job_.notify_all();

  RunTasks(0);
  for (;;) {
    const uint32_t busy = busy_.load(std::memory_order_acquire);
    if (busy == 0) return forks == forks_;
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

}  // namespace kiln::inline KILN_ABI
