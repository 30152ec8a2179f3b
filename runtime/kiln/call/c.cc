#include "kiln/call/c.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <exception>

#include "kiln/call/arguments.h"
#include "kiln/call/context.h"

namespace kiln::inline KILN_ABI {
namespace {

static_assert(sizeof(kiln_status) == sizeof(Status));
static_assert(offsetof(kiln_status, message) == offsetof(Status, message));

Options OptionsOf(const kiln_options* options) {
  if (options == nullptr) return {};
  Options to;
  to.cores = options->cores;
  to.mode = static_cast<Mode>(options->mode);
  to.vmem_bytes = options->vmem_bytes;
  to.smem_bytes = options->smem_bytes;
  to.dma = static_cast<Dma>(options->dma);
  to.poison = static_cast<Poison>(options->poison);
  to.shuffle = options->shuffle != 0;
  to.seed = options->seed;
  to.events = options->events != 0;
  to.cpu = {options->l1_bytes, options->l2_bytes, options->last_cache_bytes};
  to.parallel_for = options->parallel_for;
  to.parallel_for_data = options->parallel_for_data;
  return to;
}

Record RecordOf(const kiln_context* context) {
  try {
    return ContextOf(const_cast<kiln_context*>(context)).record();
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

Context& ContextOf(kiln_context* context) {
  return context == nullptr ? DefaultContext() : *reinterpret_cast<Context*>(context);
}

}  // namespace kiln::inline KILN_ABI

extern "C" {

const char* kiln_version() { return KILN_VERSION; }

const char* kiln_code_name(int32_t code) { return kiln::NameOf(static_cast<kiln::Code>(code)); }

void kiln_options_init(kiln_options* options) {
  const kiln::Options defaults;
  *options = {};
  options->vmem_bytes = defaults.vmem_bytes;
  options->smem_bytes = defaults.smem_bytes;
}

kiln_context* kiln_context_new(const kiln_options* options) {
  try {
    return reinterpret_cast<kiln_context*>(new kiln::Context(kiln::OptionsOf(options)));
  } catch (const std::exception&) {
    return nullptr;
  }
}

void kiln_context_free(kiln_context* context) { delete reinterpret_cast<kiln::Context*>(context); }

void kiln_context_configure(kiln_context* context, const kiln_options* options) {
  const kiln::Options before = kiln::ContextOf(context).options();
  kiln::Options to = kiln::OptionsOf(options);
  // Which have functions of their own.
  to.cancel = before.cancel;
  to.memory = before.memory;
  to.memory_bytes = before.memory_bytes;
  kiln::ContextOf(context).Configure(to);
}

void kiln_context_set_cancel(kiln_context* context, const int32_t* flag) {
  static_assert(sizeof(std::atomic<int32_t>) == sizeof(int32_t));
  static_assert(std::atomic<int32_t>::is_always_lock_free);
  kiln::Options options = kiln::ContextOf(context).options();
  options.cancel = reinterpret_cast<const std::atomic<int32_t>*>(flag);
  kiln::ContextOf(context).Configure(options);
}

void kiln_context_set_memory(kiln_context* context, void* memory, int64_t bytes) {
  kiln::Options options = kiln::ContextOf(context).options();
  options.memory = memory;
  options.memory_bytes = bytes > 0 ? static_cast<size_t>(bytes) : 0;
  kiln::ContextOf(context).Configure(options);
}

int64_t kiln_context_memory_bytes(const kiln_context* context) {
  return kiln::RecordOf(context).memory_bytes;
}

void kiln_context_trim(kiln_context* context) { kiln::ContextOf(context).Trim(); }

int32_t kiln_context_operands(const kiln_context* context, int32_t capacity,
                              kiln_operand_record* records) {
  const kiln::Record record = kiln::RecordOf(context);
  int32_t count = 0;
  for (const kiln::OperandRecord& operand : record.operands) {
    if (operand.name == nullptr) continue;
    if (count < capacity) {
      kiln_operand_record& to = records[count];
      std::snprintf(to.name, sizeof(to.name), "%s", operand.name);
      to.in_smem = operand.memory == kiln::Memory::kSmem;
      to.is_output = operand.is_output;
      to.copies = operand.copies;
      to.bytes = operand.bytes;
      to.skipped = operand.skipped;
      to.buffers = operand.buffers;
      to.memory_bytes = operand.memory_bytes;
    }
    ++count;
  }
  return count;
}

int32_t kiln_context_vmem_high(const kiln_context* context, int32_t capacity, int64_t* bytes) {
  const kiln::Record record = kiln::RecordOf(context);
  const auto count = static_cast<int32_t>(record.vmem_high.size());
  std::copy_n(record.vmem_high.begin(), std::clamp(capacity, 0, count), bytes);
  return count;
}

int64_t kiln_context_events(const kiln_context* context, int32_t core, int64_t capacity,
                            kiln_event* events) {
  const kiln::Record record = kiln::RecordOf(context);
  if (core < 0 || static_cast<size_t>(core) >= record.events.size()) return -1;
  const auto& from = record.events[static_cast<size_t>(core)];
  if (from == nullptr) return -1;
  const auto count = static_cast<int64_t>(from->size());
  for (int64_t i = 0; i < std::min(count, capacity); ++i) {
    const kiln::Event& event = (*from)[static_cast<size_t>(i)];
    events[i] = {static_cast<int32_t>(event.kind),
                 event.operand,
                 event.place,
                 event.bytes,
                 event.semaphore,
                 event.out};
  }
  return count;
}

}  // extern "C"
