#include "tests/random/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

namespace kiln::soak {
namespace {

/// The last byte that a child sends: without it, it has not come to its end.
constexpr char kEnd = '\4';

void WriteAll(int file, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<size_t>(written);
  }
}

[[noreturn]] void BeChild(int out, int error, const std::function<std::string()>& work) {
  setpgid(0, 0);  // so that what it starts ends with it
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM})
    signal(number, SIG_DFL);  // a test's program handles them
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

/// Reads what is there; closes the file at its end.
void ReadInto(int& file, std::string& text) {
  std::array<char, 16384> part;
  while (file >= 0) {
    const ssize_t count = read(file, part.data(), part.size());
    if (count > 0) {
      text.append(part.data(), static_cast<size_t>(count));
      continue;
    }
    if (count < 0 && errno == EAGAIN) return;
    close(file);
    file = -1;
  }
}

std::string LastLines(const std::string& text) {
  constexpr size_t kMost = 600;
  return text.size() > kMost ? text.substr(text.size() - kMost) : text;
}

void WaitFor(const std::vector<int>& files) {
  std::vector<pollfd> waiting;
  for (const int file : files) {
    if (file >= 0) waiting.push_back({file, POLLIN, 0});
  }
  poll(waiting.data(), waiting.size(), /*timeout=*/1000);
}

}  // namespace

Child::Child(int seconds, const std::function<std::string()>& work)
    : end_(std::chrono::steady_clock::now() + std::chrono::seconds(seconds)) {
  int out[2], error[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0)
    throw std::runtime_error("cannot make pipes");
  std::fflush(nullptr);
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("cannot fork");
  if (process_ == 0) BeChild(out[1], error[1], work);
  close(out[1]);
  close(error[1]);
  out_ = out[0];
  error_ = error[0];
  fcntl(out_, F_SETFL, O_NONBLOCK);
  fcntl(error_, F_SETFL, O_NONBLOCK);
}

bool Child::Poll() {
  ReadInto(out_, text_);
  ReadInto(error_, errors_);
  late_ = std::chrono::steady_clock::now() > end_;
  return (out_ < 0 && error_ < 0) || late_;
}

Outcome Child::Finish() {
  if (late_) {
    kill(-process_, SIGKILL);
    kill(process_, SIGKILL);
  }
  int status = 0;
  waitpid(process_, &status, 0);
  for (int* file : {&out_, &error_}) {
    if (*file >= 0) close(*file);
    *file = -1;
  }
  Outcome outcome;
  const bool whole = !text_.empty() && text_.back() == kEnd;
  if (whole) text_.pop_back();
  outcome.text = std::move(text_);
  if (whole) return outcome;
  if (late_)
    outcome.died = "as it took too long";
  else if (WIFSIGNALED(status))
    outcome.died = std::string("of signal ") + strsignal(WTERMSIG(status));
  else
    outcome.died = "with exit status " + std::to_string(WEXITSTATUS(status));
  if (!errors_.empty()) outcome.died += ": " + LastLines(errors_);
  return outcome;
}

void WaitForAny(const std::vector<Child>& children) {
  std::vector<int> files;
  for (const Child& child : children) {
    for (const int file : child.files()) files.push_back(file);
  }
  WaitFor(files);
}

Outcome RunInChild(int seconds, const std::function<std::string()>& work) {
  Child child(seconds, work);
  while (!child.Poll()) WaitFor(child.files());
  return child.Finish();
}

}  // namespace kiln::soak
