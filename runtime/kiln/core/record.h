// What a call copied.
#pragma once

#include <cstdint>
#include <memory>

#include "kiln/core/list.h"
#include "kiln/core/recorder.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

enum class Memory : int32_t { kVmem, kSmem };

/// An operand as the diagnostics and the record name it.
struct Operand {
  const char* name;     // outlives the record: a literal
  int32_t ordinal = 0;  // among the kernel's operands and scratch
  int32_t line = 0;     // of the spec; 0: the spec knows nothing of it, so no budget counts it
  Memory memory = Memory::kVmem;
};

struct OperandRecord {
  const char* name = nullptr;  // null: nothing was copied under this ordinal
  int32_t line = 0;
  Memory memory = Memory::kVmem;
  bool is_output = false;
  int64_t copies = 0;        // between HBM and the core's memory
  int64_t bytes = 0;         // that were inside the array
  int64_t skipped = 0;       // steps that found the block they needed in place
  int64_t buffers = 0;       // slots
  int64_t memory_bytes = 0;  // of all slots of a core: native tiles when emulated
  int64_t due = 0;           // of an emulated output: elements that its blocks have to cover, …
  int64_t visited = 0;       // … and those of the blocks that steps visited
  bool watched = false;      // blocks overlap: Touches knows which elements they cover

  /// The same operand on another core.
  void Add(const OperandRecord& core) {
    name = core.name;
    line = core.line;
    memory = core.memory;
    is_output = core.is_output;
    copies += core.copies;
    bytes += core.bytes;
    skipped += core.skipped;
    buffers = core.buffers;
    memory_bytes = core.memory_bytes > memory_bytes ? core.memory_bytes : memory_bytes;
  }
};

struct Record {
  internal::List<OperandRecord> operands;  // by ordinal; sums over the cores
  internal::List<int64_t> vmem_high;       // by core: bytes of VMEM in use
  internal::List<int64_t> smem_high;
  int64_t memory_bytes = 0;  // what Options::memory has to have for such a call
  /// By core, if the options ask for them; null: there were too many.
  internal::List<std::shared_ptr<const Events>> events;
};

}  // namespace kiln::inline KILN_ABI
