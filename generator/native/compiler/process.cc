#include "generator/native/compiler/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "generator/system/interrupt.h"

extern char** environ;

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> EnvironmentOf(const Process& process) {
  std::vector<std::string> out;
  for (char** one = environ; *one; ++one) {
    const std::string text = *one;
    if (process.environment.count(text.substr(0, text.find('='))) == 0) out.push_back(text);
  }
  for (const auto& [name, value] : process.environment) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// It takes signals as usual, whichever this program awaits or ignores.
void ResetSignals(posix_spawnattr_t& attributes) {
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGXFSZ);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
}

pid_t Start(const Process& process) {
  const std::vector<std::string> environment = EnvironmentOf(process);
  std::vector<char*> words = Pointers(process.command), variables = Pointers(environment);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, process.output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, process.output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  ResetSignals(attributes);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, words[0], &files, &attributes, words.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? pid : -1;
}

}  // namespace

int RunProcess(const Process& process) {
  const auto start = Clock::now();
  pid_t pid = -1;
  std::optional<RunningGroup> group;
  {
    const auto hold = HoldInterrupts();
    pid = Start(process);
    if (pid < 0) return kNotStarted;
    group.emplace(pid);
  }

  // Short sleeps at first: some programs take a millisecond, others a minute.
  auto pause = std::chrono::milliseconds(1);
  for (bool killed = false;;) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid && killed) return kTimedOut;
    if (ended == pid) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (ended < 0 && errno != EINTR) return kNotStarted;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (process.waiting) process.waiting(seconds);
    if (process.limit > 0 && seconds > process.limit && !killed) {
      kill(-pid, SIGKILL);
      killed = true;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(100));
  }
}

}  // namespace kiln
