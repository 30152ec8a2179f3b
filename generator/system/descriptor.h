#pragma once

#include <optional>
#include <string>
#include <utility>

namespace kiln {

/// How long a named pipe is given for somebody to come to its other end.
constexpr double kPipeSeconds = 2;

/// An open file.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  /// Zero or errno: a full disk may show only here.
  int Close();

 private:
  int number_;
};

/// The N of /dev/fd/N and of its other names: /dev/stdin, /proc/self/fd/0. These are files that
/// this program has open already, so they are used as they are and not opened again.
std::optional<int> NamedDescriptor(const std::string& path);

}  // namespace kiln
