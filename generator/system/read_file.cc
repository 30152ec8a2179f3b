#include "generator/system/read_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "generator/system/descriptor.h"

namespace kiln {
namespace {

constexpr int kPollMilliseconds = 20;
/// A named pipe whose writer says nothing for so long has hung. What is typed, or comes through an
/// anonymous pipe, may take as long as it likes.
constexpr double kSilentSeconds = 10;

class Stopped {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void Restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Why it is none that one reads; empty: it is one. Asked before it is opened, as a device may act
/// on that already.
std::string WhyUnreadable(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a folder";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "it is a device";
  return S_ISSOCK(mode) ? "it is a socket" : "";
}

/// Without blocking: an open named pipe waits for nobody. Empty: opened.
std::string OpenToRead(const std::string& path, Descriptor& file, bool* named_pipe) {
  *named_pipe = false;
  struct stat info {};
  if (const std::optional<int> opened = path == "-" ? STDIN_FILENO : NamedDescriptor(path)) {
    file = Descriptor(fcntl(*opened, F_DUPFD_CLOEXEC, 0));
    if (!file || fstat(file.number(), &info) != 0) return std::strerror(errno);
    return S_ISDIR(info.st_mode) ? "it is a folder" : "";
  }
  if (stat(path.c_str(), &info) != 0) return std::strerror(errno);
  std::string why = WhyUnreadable(info.st_mode);
  if (!why.empty()) return why;
  file = Descriptor(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file || fstat(file.number(), &info) != 0) return std::strerror(errno);
  *named_pipe = S_ISFIFO(info.st_mode);
  return WhyUnreadable(info.st_mode);
}

/// Reads on until the end or one byte too many. Empty: done.
std::string ReadOn(int file, bool named_pipe, size_t most, std::string& text) {
  Stopped silence;
  while (text.size() <= most) {
    pollfd wanted{file, POLLIN, 0};
    const int ready = poll(&wanted, 1, kPollMilliseconds);
    if (ready < 0 && errno != EINTR) return std::strerror(errno);
    if (ready <= 0 && !named_pipe) continue;
    char part[1 << 16];
    const size_t wish = std::min(sizeof part, most + 1 - text.size());
    const ssize_t got = read(file, part, wish);
    if (got > 0) {
      text.append(part, static_cast<size_t>(got));
      silence.Restart();
    } else if (got == 0) {
      // Nobody has the other end: nobody yet, or nobody any more.
      if (!named_pipe || !text.empty()) return "";
      if (silence.Seconds() > kPipeSeconds) return "it is a pipe that nobody writes into";
    } else if (errno == EAGAIN) {
      if (named_pipe && silence.Seconds() > kSilentSeconds)
        return "it is a pipe, and nothing has come for 10 seconds";
    } else if (errno != EINTR) {
      return std::strerror(errno);
    }
  }
  return "";
}

}  // namespace

std::optional<std::string> ReadFile(const std::string& path, size_t most, std::string* why) {
  Descriptor file;
  bool named_pipe = false;
  std::string text;
  *why = OpenToRead(path, file, &named_pipe);
  if (why->empty()) *why = ReadOn(file.number(), named_pipe, most, text);
  if (!why->empty()) return std::nullopt;
  return text;
}

}  // namespace kiln
