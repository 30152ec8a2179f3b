#include "generator/cli/command/progress.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <mutex>
#include <thread>

namespace kiln::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kQuiet = std::chrono::seconds(2);
constexpr auto kOnTerminal = std::chrono::milliseconds(200);
constexpr auto kElsewhere = std::chrono::seconds(5);

/// Signals are for those who wait for them: a thread that starts with them blocked gets none.
std::thread StartWithoutSignals(std::function<void()> run) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(run));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

StatusLine::StatusLine() : terminal_(isatty(STDERR_FILENO) != 0) {}

StatusLine::~StatusLine() { Wipe(); }

void StatusLine::Wipe() {
  if (shown_) std::cerr << "\r\x1b[K" << std::flush;
  shown_ = false;
}

void StatusLine::Show(const std::string& text) {
  if (!terminal_) return;
  std::cerr << "\r\x1b[K" << text << std::flush;
  shown_ = true;
}

void StatusLine::End(const std::string& text) {
  std::cerr << (shown_ ? "\r\x1b[K" : "") << text << "\n" << std::flush;
  shown_ = false;
}

struct Progress::State {
  std::string what;
  StatusLine line;
  Clock::time_point begin = Clock::now();
  std::atomic<int> percent{-1};  // -1: not known
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread thread;

  void Run() {
    std::unique_lock<std::mutex> lock(mutex);
    auto next = begin + kQuiet;
    while (!changed.wait_until(lock, next, [this] { return over; })) {
      Show();
      if (line.terminal())
        next += kOnTerminal;
      else
        next += kElsewhere;
    }
  }

  void Show() {
    const int known = percent;
    if (line.terminal()) {
      const auto seconds =
          std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count();
      line.Show(what + " … " +
                (known >= 0 ? std::to_string(known) + " %" : std::to_string(seconds) + " s"));
    } else if (known >= 0) {
      line.End(what + " … " + std::to_string(known) + " %");
    }
  }
};

Progress::Progress(std::string what) : state_(std::make_shared<State>()) {
  state_->what = std::move(what);
  state_->thread = StartWithoutSignals([state = state_.get()] { state->Run(); });
}

Progress::~Progress() {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->over = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
  state_->line.Wipe();
}

std::function<void(double)> Progress::Callback() {
  return [state = state_](double done) { state->percent = static_cast<int>(done * 100); };
}

}  // namespace kiln::cli
