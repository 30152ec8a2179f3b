#include "kiln/core/core.h"

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "kiln/core/shared.h"
#include "kiln/core/types.h"

namespace kiln::inline KILN_ABI {

void* CallersMemory::Take(size_t asked) {
  const size_t bytes = Lines(asked);
  const size_t begin = reinterpret_cast<uintptr_t>(data_) % kLineBytes;
  const size_t gap = begin == 0 ? 0 : kLineBytes - begin;  // whatever it was aligned to
  const size_t at = gap + taken_.fetch_add(bytes, std::memory_order_relaxed);
  return at <= bytes_ && bytes <= bytes_ - at ? data_ + at : nullptr;
}

Core::~Core() = default;

void Core::Reset(int index, int count, const Options& options, const KernelNames& names,
                 const Common& common) {
  index_ = index;
  count_ = count;
  options_ = options;
  options_.cpu = CompletedCpu(options.cpu);
  names_ = names;
  at_ = point_ = nullptr;
  run_ = step_ = -1;
  target_ = 0;
  walks_nothing_ = false;
  visits_ = common.visits;
  touches_ = common.touches;
  turns_ = common.turns;
  shared_memory_ = common.shared;
  callers_memory_ = common.memory;
  useful_ = common.useful;
  call_bytes_ = common.bytes;
  cancel_ = options.cancel;
  asked_bytes_ = 0;
  copies_ = nullptr;
  const bool records = emulated() && options.events;
  if (records && recorder_ == nullptr) recorder_ = std::make_unique<Recorder>();
  if (!records) recorder_.reset();
  if (recorder_ != nullptr) recorder_->Clear();
  status_.code = late_.code = kOk;
  about_ = -1;
  next_buffer_ = next_shared_ = 0;
  for (const auto& record : records_) *record = OperandRecord();
  for (int64_t& used : used_) used = 0;
}

void* Core::Allocate(size_t bytes) {
  asked_bytes_ += CallersMemory::Lines(bytes);
  if (callers_memory_ != nullptr) {
    void* const data = callers_memory_->Take(bytes);
    if (data == nullptr)
      Fail(kMemory, "the memory of the options, %zu bytes, is not enough", options_.memory_bytes);
    return data;
  }
  if (next_buffer_ == buffers_.size()) buffers_.push_back(Buffer());
  void* const data = buffers_[next_buffer_++].AtLeast(bytes);
  if (data == nullptr) Fail(kMemory, "no memory for a buffer of %zu bytes", bytes);
  return data;
}

SharedBlocks* Core::Share(int64_t blocks, int64_t bytes) {
  SharedBlocks* const shared = shared_memory_->Take(next_shared_++, blocks, bytes);
  if (shared == nullptr && callers_memory_ != nullptr)
    Fail(kMemory, "the memory of the options, %zu bytes, is not enough", options_.memory_bytes);
  else if (shared == nullptr)
    Fail(kMemory, "no memory for %lld blocks of %lld bytes", static_cast<long long>(blocks),
         static_cast<long long>(bytes));
  return shared;
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

void Core::CheckWalked(const Operand& output, int64_t due) {
  if (!walks_nothing_ || due <= 0 || index_ != 0) return;
  Fail(kCoverage, "no step visits the blocks of %lld of the %lld elements of %s (line %d)",
       static_cast<long long>(due), static_cast<long long>(due), output.name, output.line);
}

void Core::FailCancelled() { Fail(kCancelled, "the caller has ended the call"); }

void Core::FailEndless(int line, int64_t turns) {
  Fail(kAssert, "the loop does not end after %lld turns (line %d) on core %d",
       static_cast<long long>(turns), line, index_);
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
  while (ordinal >= records_.size()) records_.push_back(std::make_unique<OperandRecord>());
  OperandRecord& record = *records_[ordinal];
  record.name = operand.name;
  record.line = operand.line;
  record.memory = operand.memory;
  return record;
}

}  // namespace kiln::inline KILN_ABI
