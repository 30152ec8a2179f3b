#include "kiln/errors/visits.h"

#include <utility>

namespace kiln::inline KILN_ABI {
namespace {

constexpr size_t kFirstSize = 256;

uint64_t Hash(int32_t operand, int64_t block) {
  uint64_t hash =
      static_cast<uint64_t>(block) * 0x9E3779B97F4A7C15u + static_cast<uint32_t>(operand);
  hash = (hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93u;
  return hash ^ (hash >> 32);
}

}  // namespace

void Visits::Clear() {
  ++call_;
  used_ = 0;
}

Visits::Entry& Visits::Find(int32_t operand, int64_t block) {
  const size_t mask = entries_.size() - 1;
  size_t at = Hash(operand, block) & mask;
  for (;; at = (at + 1) & mask) {
    Entry& entry = entries_[at];
    if (entry.call != call_) return entry;
    if (entry.visit.operand == operand && entry.visit.block == block) return entry;
  }
}

void Visits::Grow() {
  const size_t size = entries_.empty() ? kFirstSize : 2 * entries_.size();
  internal::List<Entry> larger;
  larger.resize(size);
  const internal::List<Entry> old = std::exchange(entries_, std::move(larger));
  for (const Entry& entry : old) {
    if (entry.call == call_) Find(entry.visit.operand, entry.visit.block) = entry;
  }
}

Code Visits::Begin(const Visit& visit, int* other) {
  const std::lock_guard lock(mutex_);
  if (2 * (used_ + 1) > entries_.size()) Grow();
  Entry& entry = Find(visit.operand, visit.block);
  if (entry.call != call_) {
    entry = {visit, call_};
    ++used_;
    return kOk;
  }
  *other = entry.visit.core;
  return entry.visit.run == visit.run ? kRevisit : kRace;
}

}  // namespace kiln::inline KILN_ABI
