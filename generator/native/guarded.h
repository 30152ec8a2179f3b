#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kiln {

/// Memory of one argument of a call, in which no kernel can touch anything else unnoticed: a page
/// that nobody may access is on either side, and what is left of the argument's own pages holds
/// a pattern.
class GuardedMemory {
 public:
  /// `kAtEnd`: the last byte is the last of its page, so that the first access behind it is caught,
  /// also one that only reads; the first byte is then aligned as elements of a power of two bytes
  /// are. `kAtStart`: the first byte is the first of its page. `kAligned`: the first byte begins a
  /// cache line, for calls that are timed.
  enum class Place { kAtEnd, kAtStart, kAligned };

  /// `name`: of the argument, for the message.
  GuardedMemory(std::string name, size_t bytes, Place place);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;

  std::byte* data() const { return data_; }
  const std::string& name() const { return name_; }

  /// From now on a write faults.
  void MakeReadOnly();

  /// Whether the pattern around the bytes is as it was.
  bool IsIntact() const;

  /// Whether an address belongs to the pages of this memory or to the guards around them.
  bool Owns(const void* address) const;

 private:
  std::byte* pages() const;  // behind the first guard

  std::string name_;
  std::byte* mapping_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

/// While this lives, a fault in guarded memory ends the program with a message that names the
/// argument and exit status 3, that of an internal error. One at a time: they do not nest.
class FaultReport {
 public:
  explicit FaultReport(std::vector<const GuardedMemory*> memory);
  ~FaultReport();
  FaultReport(const FaultReport&) = delete;
  FaultReport& operator=(const FaultReport&) = delete;
};

}  // namespace kiln
