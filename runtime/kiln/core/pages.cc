#include "kiln/core/pages.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace kiln::inline KILN_ABI {

void Requests::Add(const char* data, size_t bytes, int64_t tag) {
  constexpr size_t kMost = 4096;
  if (2 * first_ >= runs_.size()) {  // so that each run moves once, as it were
    std::copy(runs_.begin() + first_, runs_.end(), runs_.begin());
    runs_.resize(runs_.size() - first_);
    first_ = 0;
  }
  if (bytes == 0 || runs_.size() >= kMost) return;
  try {
    runs_.push_back({data, data + bytes, tag});
  } catch (const std::bad_alloc&) {  // it comes without having been asked for
  }
}

void Requests::AskUntil(int64_t tag) {
  size_t end = runs_.size();
  while (end > first_ && runs_[end - 1].tag != tag) --end;
  while (first_ < end) Ask(1);
}

bool Pages::AreWhole(const char* to, size_t bytes) {
  if (closed_ || bytes == 0) return false;
  if (page_ == 0) {
    try {
      away_.assign((bytes_ + bytes - 1) / bytes, nullptr);  // memory may go on behind the last page
    } catch (const std::bad_alloc&) {
      closed_ = true;
      return false;
    }
    page_ = bytes;
    shift_ = std::countr_zero(page_);
  }
  return OffsetOf(to) % page_ == 0 && bytes % page_ == 0;
}

void Pages::Leave(const char* from, const char* to, size_t bytes) {
  for (size_t i = 0; i < bytes; i += page_) away_[(OffsetOf(to) + i) / page_] = from + i;
}

void Pages::BringHome(const char* to, size_t bytes) {
  if (page_ == 0 || bytes == 0) return;
  const size_t end = (OffsetOf(to) + bytes - 1) / page_ + 1;
  for (size_t page = OffsetOf(to) / page_; page < end; ++page) {
    if (away_[page] == nullptr) continue;
    std::memcpy(home_ + page * page_, away_[page], page_);
    away_[page] = nullptr;
  }
}

void Pages::Close() {
  BringHome(home_, bytes_);
  page_ = 0;
  closed_ = true;
}

bool Pages::HasLines(const void* home, size_t bytes, int64_t apart, size_t step) const {
  if (page_ == 0) return true;
  if (apart <= 0) return false;
  const auto line = static_cast<size_t>(apart);
  const size_t in_page = OffsetOf(home) % page_;
  return page_ % (line * step) == 0 && in_page / line % step == 0 && in_page % line + bytes <= line;
}

}  // namespace kiln::inline KILN_ABI
