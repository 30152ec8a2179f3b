#include "kiln/core.h"

#include <sys/mman.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kiln/types.h"

namespace kiln {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;
/// Smaller buffers come from the heap: a page of their own each would waste memory and entries of
/// the TLB.
constexpr size_t kSmall = size_t{64} << 10;

void Release(void* data, size_t bytes) {
  if (bytes < kSmall)
    std::free(data);
  else
    munmap(data, bytes);
}

/// Memory on a huge page, as panels are long strides for a TLB.
void* MapHuge(size_t bytes) {
  // More, to be able to begin on a huge page; what is not needed is given back.
  const size_t mapped = bytes + kHugePage;
  void* const data =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(data);
  char* const aligned =
      begin + (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (aligned > begin) munmap(begin, static_cast<size_t>(aligned - begin));
  char* const end = aligned + bytes;
  if (end < begin + mapped) munmap(end, static_cast<size_t>(begin + mapped - end));
#ifdef MADV_HUGEPAGE
  madvise(aligned, bytes, MADV_HUGEPAGE);
#endif
  return aligned;
}

}  // namespace

Core::~Core() {
  for (const Buffer& buffer : buffers_) {
    if (buffer.data != nullptr) Release(buffer.data, buffer.bytes);
  }
}

void Core::Reset(int index, int count, const Options& options, const KernelNames& names,
                 Visits* visits, Touches* touches) {
  index_ = index;
  count_ = count;
  options_ = options;
  names_ = names;
  at_ = point_ = nullptr;
  run_ = step_ = -1;
  visits_ = visits;
  touches_ = touches;
  copies_ = nullptr;
  const bool records = emulated() && options.events;
  if (records && recorder_ == nullptr) recorder_ = std::make_unique<Recorder>();
  if (!records) recorder_.reset();
  if (recorder_ != nullptr) recorder_->Clear();
  status_.code = late_.code = kOk;
  blamed_ = -1;
  next_buffer_ = 0;
  for (OperandRecord& record : records_) record = OperandRecord();
  for (int64_t& used : used_) used = 0;
}

bool Core::Grow(Buffer& buffer, size_t bytes) {
  if (buffer.data != nullptr) Release(buffer.data, buffer.bytes);
  buffer = {};
  if (bytes > SIZE_MAX / 4) return false;
  const bool small = bytes < kSmall;
  bytes = RoundUp(bytes, small ? kLine : bytes < kHugePage ? size_t{4096} : kHugePage);
  void* const data = small ? std::aligned_alloc(kLine, bytes) : MapHuge(bytes);
  if (data == nullptr) return false;
  buffer = {data, bytes};
  return true;
}

void* Core::Allocate(size_t bytes) {
  if (bytes == 0) bytes = 1;
  if (next_buffer_ == buffers_.size()) buffers_.emplace_back();
  Buffer& buffer = buffers_[next_buffer_++];
  if (buffer.bytes < bytes && !Grow(buffer, bytes)) {
    Fail(kMemory, "no memory for a buffer of %zu bytes", bytes);
    return nullptr;
  }
  return buffer.data;
}

void Core::Fail(Code code, const char* format, ...) {
  if (!ok()) return;
  char text[sizeof(status_.message)];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  const bool named = names_.kernel != nullptr;
  status_.Fail(code, "%s%s[%s] %s", named ? names_.kernel : "", named ? ": " : "", NameOf(code),
               text);
  AddPoint();
}

void Core::Add(const char* format, ...) {
  if (ok()) return;
  const size_t used = std::strlen(status_.message);
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(status_.message + used, sizeof(status_.message) - used, format, arguments);
  va_end(arguments);
}

/// " at grid point (i=0, j=2)", and the core unless the text has named it.
void Core::AddPoint() {
  if (point_ == nullptr || names_.axes == nullptr || *names_.axes == '\0') return;
  if (std::strstr(status_.message, " core") == nullptr) Add(" on core %d", index_);
  const char* before = " at grid point (";
  const char* axis = names_.axes;
  for (const int64_t* index = point_;; ++index) {
    const size_t length = std::strcspn(axis, ",");
    Add("%s%.*s=%lld", before, static_cast<int>(length), axis, static_cast<long long>(*index));
    if (axis[length] == '\0') break;
    axis += length + std::strlen(", ");
    before = ", ";
  }
  Add(")");
}

void Core::AddElement(const char* array, std::initializer_list<int64_t> subscripts, int64_t value) {
  Add("; %s[", array);
  const char* before = "";
  for (const int64_t subscript : subscripts) {
    Add("%s%lld", before, static_cast<long long>(subscript));
    before = ", ";
  }
  Add("] is %lld", static_cast<long long>(value));
}

OperandRecord& Core::RecordOf(const Operand& operand) {
  const auto ordinal = static_cast<size_t>(operand.ordinal);
  while (ordinal >= records_.size()) records_.emplace_back();
  OperandRecord& record = records_[ordinal];
  record.name = operand.name;
  record.line = operand.line;
  record.memory = operand.memory;
  return record;
}

}  // namespace kiln
