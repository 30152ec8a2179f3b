#include "kiln/emulate/emulated.h"

#include <charconv>
#include <cstdio>
#include <iterator>

namespace kiln::inline KILN_ABI {
namespace {

/// "4.0 MiB"
struct ByteText {
  char text[32];
  explicit ByteText(int64_t bytes) {
    constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes);
    int unit = 0;
    for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
    // Not by printf, whose decimal point is the locale's.
    char number[24];
    *std::to_chars(number, std::end(number), value, std::chars_format::fixed, unit == 0 ? 0 : 1)
         .ptr = '\0';
    std::snprintf(text, sizeof(text), "%s %s", number, kUnits[unit]);
  }
};

}  // namespace

bool Core::Reserve(const Operand& operand, int64_t bytes, int64_t buffers) {
  OperandRecord& record = RecordOf(operand);
  record.buffers = buffers;
  if (__builtin_mul_overflow(bytes, buffers, &record.memory_bytes)) record.memory_bytes = INT64_MAX;
  if (operand.line == 0) return true;
  int64_t& used = used_[static_cast<int>(operand.memory)];
  if (__builtin_add_overflow(used, record.memory_bytes, &used)) used = INT64_MAX;
  const bool vmem = operand.memory == Memory::kVmem;
  const int64_t budget = vmem ? options_.vmem_bytes : options_.smem_bytes;
  if (budget <= 0 || used <= budget) return true;

  char table[sizeof(Status::message)] = {};
  size_t size = 0;
  for (const auto& of : records_) {
    const OperandRecord& user = *of;
    if (user.name == nullptr || user.memory != operand.memory || size >= sizeof(table)) continue;
    const ByteText one(user.memory_bytes / std::max<int64_t>(user.buffers, 1));
    size += static_cast<size_t>(std::snprintf(table + size, sizeof(table) - size, "%s%s %lld x %s",
                                              size == 0 ? "" : ", ", user.name,
                                              static_cast<long long>(user.buffers), one.text));
  }
  Fail(kTier, "the kernel needs at least %s of %s with %s (line %d) on core %d, which has %s: %s",
       ByteText(used).text, vmem ? "VMEM" : "SMEM", operand.name, operand.line, index_,
       ByteText(budget).text, table);
  return false;
}

}  // namespace kiln::inline KILN_ABI
