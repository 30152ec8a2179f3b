#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "generator/native/interface.h"

/// Calls of kernels on arrays in memory that nothing else touches.
namespace kiln::soak {

/// Bytes between two pages that nobody may touch: they end where the second one begins, or begin
/// where the first one ends (`low`). What is left of the pages holds a pattern. A store behind or
/// before them ends the process or breaks the pattern.
class GuardedBytes {
 public:
  GuardedBytes(size_t size, size_t alignment, bool low);
  ~GuardedBytes();
  GuardedBytes(GuardedBytes&& other) noexcept;
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  std::byte* data() const { return data_; }
  bool Intact() const;

 private:
  std::byte* pages_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// As CallKernel, with every array guarded. *broken names the arrays around which something was
/// stored, and those that are read-only and were changed.
CallResult CallGuarded(const KernelInterface& kernel, const Binding& binding,
                       const std::map<std::string, Array>& arrays, const CallOptions& options,
                       bool low, std::string* broken);

}  // namespace kiln::soak
