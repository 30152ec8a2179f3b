#include "generator/system/interrupt.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <thread>

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
/// Killed programs may write for a moment into the folder that is being removed.
constexpr int kRounds = 50;
constexpr auto kPause = std::chrono::milliseconds(2);

struct Registry {
  std::recursive_mutex mutex;
  std::set<std::string> paths;
  std::set<pid_t> groups;
  std::function<std::string()> words;
};

/// Never destroyed: the thread that waits for signals outlives main.
Registry& TheRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

void RemoveAll(const std::string& path) {
  std::error_code error;
  for (int round = 0; round < kRounds; ++round) {
    fs::remove_all(path, error);
    if (!fs::exists(fs::symlink_status(path, error))) return;
    std::this_thread::sleep_for(kPause);
  }
}

/// Ends the program as the signal does by itself, so that whoever started it (a shell's loop) sees
/// that it was interrupted. The lock is never given back: nothing new is started or written.
[[noreturn]] void End(int number) {
  Registry& registry = TheRegistry();
  registry.mutex.lock();
  for (const pid_t group : registry.groups) kill(-group, SIGKILL);
  for (const std::string& path : registry.paths) RemoveAll(path);
  const std::string words = registry.words ? registry.words() : "";
  if (!words.empty()) {
    // Past the streams, which the interrupted thread may hold.
    const std::string line = "\n" + words + "\n";
    [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
  }
  std::signal(number, SIG_DFL);
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, number);
  pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  raise(number);
  _exit(128 + number);
}

}  // namespace

void EndOnInterrupt() {
  sigset_t awaited;
  sigemptyset(&awaited);
  for (const int number : kSignals) {
    // What is ignored, as under nohup, stays ignored.
    struct sigaction before {};
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaddset(&awaited, number);
  }
  TheRegistry();
  pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
  std::thread([awaited] {
    int number = 0;
    while (sigwait(&awaited, &number) != 0) {
    }
    End(number);
  }).detach();
}

std::unique_lock<std::recursive_mutex> HoldInterrupts() {
  return std::unique_lock(TheRegistry().mutex);
}

void SayWhenInterrupted(std::function<std::string()> words) {
  const auto hold = HoldInterrupts();
  TheRegistry().words = std::move(words);
}

Temporary::Temporary(std::string path) : path_(std::move(path)) {
  const auto hold = HoldInterrupts();
  TheRegistry().paths.insert(path_);
}

Temporary::~Temporary() {
  if (path_.empty()) return;
  const auto hold = HoldInterrupts();
  RemoveAll(path_);
  TheRegistry().paths.erase(path_);
}

Temporary Temporary::Folder(std::string pattern) {
  const auto hold = HoldInterrupts();
  return mkdtemp(pattern.data()) ? Temporary(pattern) : Temporary();
}

int Temporary::MoveTo(const std::string& target) {
  const auto hold = HoldInterrupts();
  if (std::rename(path_.c_str(), target.c_str()) != 0) return errno;
  TheRegistry().paths.erase(path_);
  path_.clear();
  return 0;
}

RunningGroup::RunningGroup(pid_t group) : group_(group) {
  const auto hold = HoldInterrupts();
  TheRegistry().groups.insert(group_);
}

RunningGroup::~RunningGroup() {
  const auto hold = HoldInterrupts();
  TheRegistry().groups.erase(group_);
}

}  // namespace kiln
