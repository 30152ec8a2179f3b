#include "generator/native/peaks.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "generator/data/sha256.h"
#include "generator/native/cache/folder.h"
#include "generator/native/caches.h"
#include "generator/native/others.h"
#include "generator/system/write_file.h"

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr int kRounds = 7;
constexpr int64_t kDotSteps = 1 << 20;
constexpr size_t kLeastFloats = size_t{16} << 20;  // of an array …
constexpr size_t kMostFloats = size_t{64} << 20;   // … of three
constexpr size_t kCacheBytes = size_t{64} << 20;   // that a round reads out of a cache

/// The functions of probe/loops.cc.
struct Probe {
  double (*f32)(int64_t steps, double* sink);
  double (*bf16)(int64_t steps, double* sink);
  double (*i8)(int64_t steps, double* sink);
  void (*add)(const float* x, const float* y, float* z, size_t count);
  void (*copy)(const float* x, float* z, size_t count);
  float (*read)(const float* x, size_t count);
};

template <class Function>
bool Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

bool FindAll(void* library, Probe& probe) {
  return Find(library, "probe_f32", probe.f32) && Find(library, "probe_bf16", probe.bf16) &&
         Find(library, "probe_i8", probe.i8) && Find(library, "probe_add", probe.add) &&
         Find(library, "probe_copy", probe.copy) && Find(library, "probe_read", probe.read);
}

/// Runs task(core) on a thread each; the time until all are done.
double Together(int cores, const std::function<void(int)>& task) {
  const auto start = Clock::now();
  std::vector<std::thread> others;
  for (int core = 1; core < cores; ++core) others.emplace_back(task, core);
  task(0);
  for (std::thread& other : others) other.join();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The fastest of several rounds: what disturbs a round is not the machine's limit.
double Fastest(int cores, const std::function<void(int)>& task) {
  double least = Together(cores, task);
  for (int round = 1; round < kRounds; ++round) least = std::min(least, Together(cores, task));
  return least;
}

double DotRate(double (*dots)(int64_t, double*), int cores) {
  double sink = 0;
  const double operations = dots(1, &sink) * static_cast<double>(kDotSteps);
  if (operations == 0) return 0;
  const double seconds = Fastest(cores, [&](int) {
    double own = 0;
    dots(kDotSteps, &own);
  });
  return operations * cores / seconds;
}

/// Three arrays, larger than the last cache, of which each core has its part.
double MemoryRate(const Probe& probe, int cores) {
  const auto cache = static_cast<size_t>(CacheBytes(3));
  const size_t wanted = std::clamp(4 * cache / sizeof(float), kLeastFloats, kMostFloats);
  const size_t part = wanted / static_cast<size_t>(cores) / 64 * 64;
  const size_t count = part * static_cast<size_t>(cores);
  // Vectors are written as a whole, from their boundaries on.
  std::vector<float> memory(3 * count + 64, 1.0f);
  float* const x = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) / 4 % 64) % 64;
  float* const y = x + count;
  float* const z = y + count;
  const auto at = [part](float* array, int core) {
    return array + static_cast<size_t>(core) * part;
  };
  const double bytes = static_cast<double>(count * sizeof(float));
  const double add = Fastest(cores, [&](int c) { probe.add(at(x, c), at(y, c), at(z, c), part); });
  const double copy = Fastest(cores, [&](int c) { probe.copy(at(x, c), at(z, c), part); });
  const double read = Fastest(cores, [&](int c) {
    // Kept, or there would be nothing to read for.
    *at(z, c) = probe.read(at(x, c), part);
  });
  return std::max({3 * bytes / add, 2 * bytes / copy, bytes / read});
}

/// Of arrays of so many bytes, one for each core, that are read again and again.
double CacheRate(const Probe& probe, int cores, size_t bytes) {
  const size_t count = bytes / sizeof(float) / 256 * 256;
  if (count == 0) return 0;
  const size_t times = std::max<size_t>(1, kCacheBytes / bytes);
  std::vector<std::vector<float>> arrays(static_cast<size_t>(cores), std::vector<float>(count));
  const double seconds = Fastest(cores, [&](int core) {
    std::vector<float>& own = arrays[static_cast<size_t>(core)];
    float sum = 0;
    for (size_t i = 0; i < times; ++i) sum += probe.read(own.data(), count);
    own[0] = sum * 0;  // kept, or there would be nothing to read for
  });
  return static_cast<double>(count * sizeof(float) * times) * cores / seconds;
}

/// Half of each cache is read, as other things are in it, too.
void MeasureCaches(const Probe& probe, int cores, Peaks* peaks) {
  const auto l2 = static_cast<size_t>(CacheBytes(2)), last = static_cast<size_t>(CacheBytes(3));
  const size_t part = last / static_cast<size_t>(cores);
  peaks->l2_bytes = static_cast<double>(l2);
  peaks->l2_bytes_per_second = CacheRate(probe, cores, l2 / 2);
  if (part / 2 <= l2) return;  // there is no telling it from the L2
  peaks->last_cache_bytes = static_cast<double>(last);
  peaks->last_cache_bytes_per_second = CacheRate(probe, cores, part / 2);
}

std::optional<Peaks> Measure(const std::string& library, int cores, std::string* why) {
  Probe probe;
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded || !FindAll(loaded, probe)) {
    const char* const error = dlerror();
    *why = error ? error : "the probe lacks a function";
    RemoveCached(library);
    return std::nullopt;
  }
  Peaks peaks;
  peaks.cpu = CpuModel();
  peaks.cores = cores;
  const Others others;
  peaks.f32 = DotRate(probe.f32, cores);
  peaks.bf16 = DotRate(probe.bf16, cores);
  peaks.i8 = DotRate(probe.i8, cores);
  peaks.bytes_per_second = MemoryRate(probe, cores);
  MeasureCaches(probe, cores, &peaks);
  peaks.others = others.Cores();
  peaks.measured = std::time(nullptr);
  dlclose(loaded);
  return peaks;
}

std::optional<Peaks> Read(const std::string& path) {
  std::ifstream in(path);
  const Json json = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  Peaks peaks;
  try {
    peaks.cpu = json.value("cpu", "");
    if (json.contains("cores") && json["cores"].is_number_integer())
      peaks.cores = json["cores"].get<int>();
    peaks.f32 = json.value("f32", 0.0);
    peaks.bf16 = json.value("bf16", 0.0);
    peaks.i8 = json.value("i8", 0.0);
    peaks.bytes_per_second = json.value("bytes_per_second", 0.0);
    peaks.l2_bytes = json.value("l2_bytes", 0.0);
    peaks.l2_bytes_per_second = json.value("l2_bytes_per_second", 0.0);
    peaks.last_cache_bytes = json.value("last_cache_bytes", 0.0);
    peaks.last_cache_bytes_per_second = json.value("last_cache_bytes_per_second", 0.0);
    peaks.measured = json.value("measured", int64_t{0});
    peaks.others = json.value("others", -1.0);
  } catch (const Json::exception&) {  // whatever it is, it is measured again
    return std::nullopt;
  }
  if (peaks.f32 <= 0 || peaks.bytes_per_second <= 0 || peaks.measured <= 0) return std::nullopt;
  return peaks;
}

std::string TextOf(const Peaks& peaks) {
  return Json({{"cpu", peaks.cpu},
               {"cores", peaks.cores},
               {"f32", peaks.f32},
               {"bf16", peaks.bf16},
               {"i8", peaks.i8},
               {"bytes_per_second", peaks.bytes_per_second},
               {"l2_bytes", peaks.l2_bytes},
               {"l2_bytes_per_second", peaks.l2_bytes_per_second},
               {"last_cache_bytes", peaks.last_cache_bytes},
               {"last_cache_bytes_per_second", peaks.last_cache_bytes_per_second},
               {"measured", peaks.measured},
               {"others", peaks.others}})
             .dump(2) +
         "\n";
}

bool WillDo(const Peaks& kept, PeakAge age) {
  constexpr int64_t kJustNow = 60;  // seconds: what beats these would beat the next ones, too
  if (age == PeakAge::kNew || IsBusy(kept.others)) return false;
  return age == PeakAge::kKept || std::time(nullptr) - kept.measured <= kJustNow;
}

Peaks BestOf(const Peaks& now, const Peaks& kept) {
  Peaks best = now;
  best.f32 = std::max(now.f32, kept.f32);
  best.bf16 = std::max(now.bf16, kept.bf16);
  best.i8 = std::max(now.i8, kept.i8);
  best.bytes_per_second = std::max(now.bytes_per_second, kept.bytes_per_second);
  best.l2_bytes_per_second = std::max(now.l2_bytes_per_second, kept.l2_bytes_per_second);
  best.last_cache_bytes_per_second =
      std::max(now.last_cache_bytes_per_second, kept.last_cache_bytes_per_second);
  return best;
}

}  // namespace

Unit ProbeUnit(const std::string& file) {
  Unit unit;
  unit.name = "probe";
  unit.main = file;
  unit.files = {{file, ProbeTexts().at(file)}};
  return unit;
}

std::string CpuModel() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line) && !line.empty();) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "this CPU";
}

std::optional<Peaks> FindPeaks(int cores, PeakAge age, const Toolchain& tools,
                               const CompileOptions& options, std::string* why) {
  const Unit unit = ProbeUnit("loops.cc");
  const std::string folder = options.folder.empty() ? TrustedCacheFolder() : options.folder;
  Sha256 hash;
  hash.AddField(tools.fingerprint).AddField(std::to_string(cores)).AddField("with caches");
  for (const auto& [name, text] : unit.files) hash.AddField(text);
  const std::string path = folder + "/peaks/" + hash.Hex().substr(0, 32) + ".json";
  const auto kept = folder.empty() ? std::nullopt : Read(path);
  if (kept && WillDo(*kept, age)) return kept;
  Toolchain optimizing = tools;  // however kernels are compiled
  optimizing.compile.push_back("-O3");
  const Compiled compiled = CompileCached(unit, optimizing, options);
  if (compiled.library.empty()) {
    *why = compiled.error + "\n" + compiled.log;
    return std::nullopt;
  }
  auto peaks = Measure(compiled.library, cores, why);
  if (!peaks) return std::nullopt;
  if (kept && age != PeakAge::kNew) peaks = BestOf(*peaks, *kept);
  if (folder.empty()) return peaks;
  // A cache that cannot be written only costs the time to measure again.
  std::string ignored;
  WriteIfChanged(path, TextOf(*peaks), &ignored);
  return peaks;
}

}  // namespace kiln
