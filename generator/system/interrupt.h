#pragma once

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <string>

namespace kiln {

/// From now on SIGINT, SIGTERM and SIGHUP end the program at once, as they would by themselves, but
/// first kill what it started and remove what is temporary. To be called before any thread starts.
void EndOnInterrupt();

/// While this is held, no interrupt ends the program: for what must be made and noted in one step.
std::unique_lock<std::recursive_mutex> HoldInterrupts();

/// The last words of an interrupted program, on stderr. Empty: none.
void SayWhenInterrupted(std::function<std::string()> words);

/// A file or folder that goes when this does, or when the program is interrupted.
class Temporary {
 public:
  Temporary() = default;
  /// To be made, and handed over, while interrupts are held.
  explicit Temporary(std::string path);
  ~Temporary();
  Temporary(Temporary&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  Temporary& operator=(Temporary&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }

  /// A new folder for this user alone; `pattern` ends with XXXXXX. Its path is empty after an
  /// error, which is in errno.
  static Temporary Folder(std::string pattern);

  const std::string& path() const { return path_; }
  /// Renames it over `target`, where it stays. Zero, or errno; then it is as temporary as before.
  int MoveTo(const std::string& target);

 private:
  std::string path_;  // empty: none
};

/// A group of processes that an interrupt kills.
class RunningGroup {
 public:
  explicit RunningGroup(pid_t group);
  ~RunningGroup();
  RunningGroup(const RunningGroup&) = delete;
  RunningGroup& operator=(const RunningGroup&) = delete;

 private:
  pid_t group_;
};

}  // namespace kiln
