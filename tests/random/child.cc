#include "tests/random/child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <poll.h>

namespace kiln::soak {
namespace {

void WriteAll(int file, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<size_t>(written);
  }
}

/// The last byte that a child sends: without it, it has not come to its end.
constexpr char kEnd = '\4';

[[noreturn]] void BeChild(int out, int error, const std::function<std::string()>& work) {
  dup2(error, STDERR_FILENO);
  std::string text;
  try {
    text = work();
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "exception: %s\n", exception.what());
    _exit(1);
  }
  WriteAll(out, text + kEnd);
  _exit(0);
}

/// Reads both pipes until they are closed, or until it is too late; false then.
bool ReadBoth(int out, int error, int seconds, std::string* text, std::string* errors) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::array<pollfd, 2> files{pollfd{out, POLLIN, 0}, pollfd{error, POLLIN, 0}};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || poll(files.data(), files.size(), static_cast<int>(left.count())) == 0)
      return false;
    for (size_t i = 0; i < files.size(); ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      std::array<char, 4096> part;
      const ssize_t count = read(files[i].fd, part.data(), part.size());
      if (count > 0)
        (i == 0 ? text : errors)->append(part.data(), static_cast<size_t>(count));
      else
        files[i].fd = -1;
    }
  }
  return true;
}

std::string LastLines(const std::string& text) {
  constexpr size_t kMost = 600;
  return text.size() > kMost ? text.substr(text.size() - kMost) : text;
}

}  // namespace

Outcome RunInChild(int seconds, const std::function<std::string()>& work) {
  int out[2], error[2];
  if (pipe(out) != 0 || pipe(error) != 0) return {"", "without pipes"};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return {"", "before it began"};
  if (child == 0) {
    close(out[0]);
    close(error[0]);
    BeChild(out[1], error[1], work);
  }
  close(out[1]);
  close(error[1]);
  Outcome outcome;
  std::string errors;
  const bool in_time = ReadBoth(out[0], error[0], seconds, &outcome.text, &errors);
  close(out[0]);
  close(error[0]);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  const bool whole = !outcome.text.empty() && outcome.text.back() == kEnd;
  if (whole) outcome.text.pop_back();
  if (!in_time)
    outcome.died = "after " + std::to_string(seconds) + " s";
  else if (WIFSIGNALED(status))
    outcome.died = std::string("of signal ") + strsignal(WTERMSIG(status));
  else if (!whole)
    outcome.died = "with exit status " + std::to_string(WEXITSTATUS(status));
  if (!outcome.died.empty() && !errors.empty()) outcome.died += ": " + LastLines(errors);
  return outcome;
}

}  // namespace kiln::soak
