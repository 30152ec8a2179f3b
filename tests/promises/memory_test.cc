// Every allocation of a call fails once: the call says so, nothing leaks, and the next call is
// right.
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "tests/catch.h"
#include "tests/promises/kernels.h"

namespace {

/// How many more requests are granted; negative: all are.
std::atomic<int64_t> g_granted{-1};
std::atomic<bool> g_refused{false};
/// Requests that nobody has given back, and mapped bytes.
std::atomic<int64_t> g_blocks{0}, g_mapped{0};

/// One request is refused, the one that finds none granted.
bool IsRefused() {
  if (g_granted.load() < 0) return false;
  const bool refused = g_granted.fetch_sub(1) == 0;
  if (refused) g_refused = true;
  return refused;
}

void* Allocate(size_t bytes) {
  void* const data = IsRefused() ? nullptr : std::malloc(bytes);
  if (data != nullptr) ++g_blocks;
  return data;
}

}  // namespace

void* operator new(size_t bytes) {
  if (void* const data = Allocate(bytes)) return data;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
// To `free` below, which counts.
void operator delete(void* data) noexcept { free(data); }
void operator delete(void* data, size_t) noexcept { free(data); }
void operator delete[](void* data) noexcept { free(data); }
void operator delete[](void* data, size_t) noexcept { free(data); }

// The linker sends calls here: of the runtime, the kernels and this program.
extern "C" {

void* __real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void* data);
void* __real_mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void* at, size_t bytes);
int __real_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                          void* argument);

void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
  void* const data = IsRefused() ? nullptr : __real_aligned_alloc(alignment, bytes);
  if (data != nullptr) ++g_blocks;
  return data;
}
void __wrap_free(void* data) {
  if (data != nullptr) --g_blocks;
  __real_free(data);
}
void* __wrap_mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (IsRefused()) return MAP_FAILED;
  void* const data = __real_mmap(at, bytes, protection, flags, file, offset);
  if (data != MAP_FAILED) g_mapped += static_cast<int64_t>(bytes);
  return data;
}
int __wrap_munmap(void* at, size_t bytes) {
  g_mapped -= static_cast<int64_t>(bytes);
  return __real_munmap(at, bytes);
}
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                          void* argument) {
  return IsRefused() ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

}  // extern "C"

namespace kiln::test {
namespace {

/// Refuses the request after `granted` ones, as long as it lives.
class Refusal {
 public:
  explicit Refusal(int64_t granted) {
    g_refused = false;
    g_granted = granted;
  }
  ~Refusal() { g_granted = -1; }
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;
};

struct Outcome {
  bool made_context = false;
  kiln_status first{}, second{};
  uint64_t first_hash = 0, second_hash = 0;
  bool refused = false, leaked = false;
};

/// Makes a context and calls, with one request refused; then calls again.
Outcome CallTwice(KernelCall& call, const kiln_options& options, int64_t granted) {
  Outcome outcome;
  const int64_t blocks = g_blocks, mapped = g_mapped;
  kiln_context* context = nullptr;
  call.Spoil();
  {
    const Refusal refusal(granted);
    context = kiln_context_new(&options);
    outcome.made_context = context != nullptr;
    if (outcome.made_context) {
      outcome.first = call.Run(context);
      kiln_operand_record records[8];
      kiln_context_operands(context, 8, records);
    }
  }
  outcome.refused = g_refused;
  outcome.first_hash = call.Hash();
  if (!outcome.made_context) context = kiln_context_new(&options);
  call.Spoil();
  outcome.second = call.Run(context);
  outcome.second_hash = call.Hash();
  kiln_context_free(context);
  outcome.leaked = g_blocks != blocks || g_mapped != mapped;
  return outcome;
}

/// Refuses each request of a first call in turn; how many there are.
int64_t CheckRefusals(KernelCall& call, const Setting& setting) {
  kiln_options options = setting.options();
  options.events = setting.mode == KILN_EMULATED;
  const Outcome clean = CallTwice(call, options, -1);
  REQUIRE(clean.first.code == 0);
  const std::string name = call.name() + ": ";
  for (int64_t granted = 0;; ++granted) {
    const Outcome outcome = CallTwice(call, options, granted);
    INFO(NameOf(setting) << ", request " << granted << ": " << outcome.first.message);
    CHECK(!outcome.leaked);
    CHECK(outcome.second.code == 0);
    CHECK(outcome.second_hash == clean.first_hash);
    if (!outcome.made_context) {
      CHECK(outcome.refused);
    } else if (outcome.first.code == 0) {
      // All went well in the end: without a thread, or with the record alone missing.
      CHECK(outcome.first_hash == clean.first_hash);
    } else {
      CHECK(outcome.first.code == 10);  // memory
      CHECK(std::string(outcome.first.message).starts_with(name));
      CHECK(std::string(outcome.first.message).find("no memory") != std::string::npos);
    }
    if (!outcome.refused) return granted;
  }
}

TEST_CASE("every request for memory or a thread is refused once") {
  for (KernelCall& call : KernelCalls(4)) {
    DYNAMIC_SECTION(call.name()) {
      for (const int32_t mode : {KILN_DIRECT, KILN_EMULATED}) {
        for (const int32_t cores : {1, 3}) {
          const int64_t requests = CheckRefusals(call, {mode, cores});
          CHECK(requests > (cores == 1 ? 3 : 6));
        }
      }
    }
  }
}

TEST_CASE("every request of the default context is refused once") {
  KernelCall call = std::move(KernelCalls(4)[3]);
  REQUIRE(call.name() == "gmm_f32");
  REQUIRE(call.Run(nullptr).code == 0);
  const uint64_t right = call.Hash();
  for (int64_t granted = 0;; ++granted) {
    kiln_context_trim(nullptr);
    call.Spoil();
    kiln_status status{};
    {
      const Refusal refusal(granted);
      status = call.Run(nullptr);
    }
    INFO(granted << ": " << status.message);
    CHECK((status.code == 10 || call.Hash() == right));
    if (!g_refused) break;
    call.Spoil();
    CHECK(call.Run(nullptr).code == 0);
    CHECK(call.Hash() == right);
  }
  kiln_context_trim(nullptr);
}

}  // namespace
}  // namespace kiln::test
