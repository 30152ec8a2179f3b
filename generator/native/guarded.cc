#include "generator/native/guarded.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

namespace kiln {
namespace {

constexpr size_t kCacheLine = 64;
constexpr std::byte kPattern{0xA5};

size_t PageSize() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

size_t RoundedUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/// Where the bytes begin in their own pages.
size_t OffsetOf(GuardedMemory::Place place, size_t slack) {
  switch (place) {
    case GuardedMemory::Place::kAtEnd:
      return slack;
    case GuardedMemory::Place::kAtStart:
      return 0;
    case GuardedMemory::Place::kAligned:
      return slack / kCacheLine * kCacheLine;
  }
  return 0;
}

bool HoldsPattern(const std::byte* from, const std::byte* to) {
  return std::all_of(from, to, [](std::byte b) { return b == kPattern; });
}

}  // namespace

GuardedMemory::GuardedMemory(std::string name, size_t bytes, Place place)
    : name_(std::move(name)), bytes_(bytes) {
  const size_t page = PageSize();
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  const size_t own = std::max(RoundedUp(bytes, page), page);
  mapped_ = own + 2 * page;
  void* const mapping =
      mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  if (mprotect(pages(), own, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping_, mapped_);
    throw std::bad_alloc();
  }
  data_ = pages() + OffsetOf(place, own - bytes);
  std::fill(pages(), data_, kPattern);
  std::fill(data_ + bytes_, pages() + own, kPattern);
}

GuardedMemory::~GuardedMemory() {
  if (mapping_) munmap(mapping_, mapped_);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : name_(std::move(other.name_)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(other.mapped_),
      data_(other.data_),
      bytes_(other.bytes_) {}

std::byte* GuardedMemory::pages() const { return mapping_ + PageSize(); }

void GuardedMemory::MakeReadOnly() { mprotect(pages(), mapped_ - 2 * PageSize(), PROT_READ); }

bool GuardedMemory::IsIntact() const {
  return HoldsPattern(pages(), data_) &&
         HoldsPattern(data_ + bytes_, mapping_ + mapped_ - PageSize());
}

bool GuardedMemory::Owns(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  return at >= mapping_ && at < mapping_ + mapped_;
}

namespace {

// What the handler looks at; it may not allocate, nor lock.
std::mutex one_at_a_time;
std::vector<const GuardedMemory*> watched;
struct sigaction before_segv, before_bus;

void Say(const char* text, size_t size) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, size);
}
void Say(const char* text) { Say(text, std::strlen(text)); }

void OnFault(int signal, siginfo_t* info, void*) {
  for (const GuardedMemory* memory : watched) {
    if (!memory->Owns(info->si_addr)) continue;
    Say("kiln: internal error: the kernel touches memory outside of `");
    Say(memory->name().data(), memory->name().size());
    Say("`, or writes to an input\n");
    _exit(3);
  }
  // Somebody else's: it faults again as soon as this returns.
  sigaction(signal, signal == SIGBUS ? &before_bus : &before_segv, nullptr);
}

}  // namespace

FaultReport::FaultReport(std::vector<const GuardedMemory*> memory) {
  one_at_a_time.lock();
  watched = std::move(memory);
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
}

FaultReport::~FaultReport() {
  sigaction(SIGSEGV, &before_segv, nullptr);
  sigaction(SIGBUS, &before_bus, nullptr);
  watched.clear();
  one_at_a_time.unlock();
}

}  // namespace kiln
