// Elements of VMEM that Direct leaves in the arrays from which a body copies them by hand.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kiln/core/list.h"
#include "kiln/core/machine.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// What copies of a body will read, in the order in which they started. Whoever computes meanwhile
/// asks memory for it, a few lines at a time: all at once would be waited for.
class Requests {
 public:
  /// `tag`: of the wait that needs it. What there is no room for is not asked for.
  void Add(const char* data, size_t bytes, int64_t tag);
  /// Asks for the next lines.
  void Ask(size_t lines) {
    while (lines > 0 && first_ < runs_.size()) {
      Run& run = runs_[first_];
      const char* next = run.next;
      for (; lines > 0 && next < run.end; --lines, next += kLineBytes)
        __builtin_prefetch(next, /*write=*/0, /*locality=*/2);
      run.next = next;
      if (next >= run.end) ++first_;
    }
  }
  /// Asks for what is left of all up to the last with this tag.
  void AskUntil(int64_t tag);
  bool HasAskedForAll() const { return first_ == runs_.size(); }

 private:
  struct Run {
    const char *next, *end;
    int64_t tag;
  };
  internal::List<Run> runs_;
  size_t first_ = 0;  // that has not been asked for
};

/// A buffer of VMEM in pages, each of which is at home, in the buffer, or where a copy to it would
/// have found it. Nobody but few rows of dots reads it.
class Pages {
 public:
  Pages() = default;
  Pages(void* home, size_t bytes, Requests* requests)
      : home_(static_cast<char*>(home)), bytes_(bytes), requests_(requests) {}

  bool IsOf(const void* home) const { return home_ == home; }
  Requests& requests() const { return *requests_; }

  /// Whether bytes that a copy brings to `to`, in the buffer, are whole pages. The first that come
  /// say how large pages are.
  bool AreWhole(const char* to, size_t bytes);
  /// Leaves them at `from`.
  void Leave(const char* from, const char* to, size_t bytes);
  /// Moves the pages that have some of these bytes to the buffer.
  void BringHome(const char* to, size_t bytes);
  /// From now on all is at home.
  void Close();

  /// Where a byte of the buffer is, and those behind it in its page.
  const char* At(const void* home) const {
    const size_t offset = OffsetOf(home);
    if (page_ == 0) return home_ + offset;
    const bool shifts = (page_ & (page_ - 1)) == 0;  // a division would take longer than the rest
    const size_t page = shifts ? offset >> shift_ : offset / page_;
    const char* const away = away_[page];
    return away != nullptr ? away + (offset - page * page_) : home_ + offset;
  }
  /// Whether lines of so many bytes, `apart` bytes from each other, are whole in a page each, and
  /// each `step` of them from the first on in one.
  bool HasLines(const void* home, size_t bytes, int64_t apart, size_t step) const;

 private:
  size_t OffsetOf(const void* home) const {
    return static_cast<size_t>(static_cast<const char*>(home) - home_);
  }

  char* home_ = nullptr;
  size_t bytes_ = 0, page_ = 0;       // 0: nothing is away
  int shift_ = 0;                     // of a page that is a power of two
  internal::List<const char*> away_;  // by page; null: at home
  Requests* requests_ = nullptr;
  bool closed_ = false;
};

}  // namespace kiln::inline KILN_ABI
