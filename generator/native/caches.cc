#include "generator/native/caches.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace kiln {
namespace {

constexpr int kMostCaches = 8;  // of a core

std::string WordOf(const std::string& path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  return word;
}

/// Of "32768K"; 0: it is none.
int64_t SizeOf(const std::string& word) {
  char* end = nullptr;
  const int64_t size = std::strtoll(word.c_str(), &end, 10);
  if (end == word.c_str()) return 0;
  return *end == 'K' ? size << 10 : *end == 'M' ? size << 20 : size;
}

}  // namespace

int64_t CacheBytes(int level) {
  for (int i = 0; i < kMostCaches; ++i) {
    const std::string cache = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    if (WordOf(cache + "level") != std::to_string(level) || WordOf(cache + "type") == "Instruction")
      continue;
    if (const int64_t size = SizeOf(WordOf(cache + "size")); size > 0) return size;
  }
  const int name = level == 2 ? _SC_LEVEL2_CACHE_SIZE : _SC_LEVEL3_CACHE_SIZE;
  return std::max<int64_t>(sysconf(name), 0);
}

}  // namespace kiln
