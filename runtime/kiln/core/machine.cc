#include "kiln/core/machine.h"

#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace kiln::inline KILN_ABI {
namespace {

/// The first word of a file of the first CPU's cache, such as "48K".
bool ReadCacheFile(int index, const char* name, char (&text)[32]) {
  char path[96];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return false;
  const bool read = std::fscanf(file, "%31s", text) == 1;
  std::fclose(file);
  return read;
}

int64_t BytesOf(const char* text) {
  long long count = 0;
  char unit = 0;
  if (std::sscanf(text, "%lld%c", &count, &unit) < 1 || count < 0 || count > 1 << 20) return 0;
  return unit == 'M' ? count << 20 : unit == 'K' ? count << 10 : count;
}

/// Of the caches that hold data: the size of level 1, of level 2, of the last one; 0: not reported.
Cpu ReadCaches() {
  constexpr int kMostCaches = 8;
  Cpu cpu;
  int last_level = 0;
  for (int i = 0; i < kMostCaches; ++i) {
    char level[32], type[32], size[32];
    if (!ReadCacheFile(i, "level", level) || !ReadCacheFile(i, "type", type) ||
        !ReadCacheFile(i, "size", size) || std::strcmp(type, "Instruction") == 0)
      continue;
    const int64_t bytes = BytesOf(size);
    if (level[0] == '1') cpu.l1_bytes = bytes;
    if (level[0] == '2') cpu.l2_bytes = bytes;
    if (level[0] - '0' >= last_level) {
      last_level = level[0] - '0';
      cpu.last_cache_bytes = bytes;
    }
  }
  return cpu;
}

int64_t Believed(int64_t reported, int64_t least, int64_t most, int64_t otherwise) {
  return reported <= 0 ? otherwise : std::clamp(reported, least, most);
}

bool IsIntel() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned most = 0, name[3] = {};  // the name's parts are in EBX, EDX and ECX
  return __get_cpuid(0, &most, &name[0], &name[2], &name[1]) != 0 &&
         std::memcmp(name, "GenuineIntel", sizeof name) == 0;
#else
  return false;
#endif
}

}  // namespace

const bool kPrefetchesStreams = IsIntel();

Cpu DetectCpu() {
  const Cpu reported = ReadCaches();
  Cpu cpu;
  cpu.l1_bytes =
      Believed(reported.l1_bytes, int64_t{8} << 10, int64_t{256} << 10, kTypicalCpu.l1_bytes);
  cpu.l2_bytes =
      Believed(reported.l2_bytes, int64_t{128} << 10, int64_t{16} << 20, kTypicalCpu.l2_bytes);
  cpu.last_cache_bytes =
      std::max(cpu.l2_bytes, Believed(reported.last_cache_bytes, int64_t{1} << 20,
                                      kTypicalCpu.last_cache_bytes, kTypicalCpu.last_cache_bytes));
  return cpu;
}

Cpu CompletedCpu(const Cpu& given) {
  static const Cpu detected = DetectCpu();
  const auto choose = [](int64_t asked, int64_t otherwise) {
    return asked > 0 ? asked : otherwise;
  };
  return {choose(given.l1_bytes, detected.l1_bytes), choose(given.l2_bytes, detected.l2_bytes),
          choose(given.last_cache_bytes, detected.last_cache_bytes)};
}

int64_t PageBytes() {
  static const int64_t bytes = std::max<int64_t>(sysconf(_SC_PAGESIZE), 4096);
  return bytes;
}

}  // namespace kiln::inline KILN_ABI
