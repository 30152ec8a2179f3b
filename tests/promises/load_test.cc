// Sixteen threads call at once, each with a context of its own or in one that all share.
//
//   KILN_LOAD=100000 build-tsan/tests/promises/promises_test "sixteen threads*"
//
// makes that many calls a thread instead of a slice.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/catch.h"
#include "tests/promises/kernels.h"

namespace kiln::test {
namespace {

constexpr int kThreads = 16;

int64_t CallsAThread() {
  const char* const asked = std::getenv("KILN_LOAD");
  return asked == nullptr ? 500 : std::atoll(asked);
}

struct Load {
  kiln_context* shared;
  std::vector<uint64_t> right;  // of each kernel
  std::atomic<int64_t> calls{0}, wrong{0};
};

/// Calls one kernel after another: in its own context, in the one that all share, in the default
/// one.
void Work(Load& load, int thread, int64_t count) {
  std::vector<KernelCall> calls = KernelCalls(1);
  const Setting setting{thread % 8 == 0 ? KILN_EMULATED : KILN_DIRECT, 1 + thread % 3};
  const kiln_options options = setting.options();
  kiln_context* const own = kiln_context_new(&options);
  kiln_context* const contexts[] = {own, load.shared, load.shared, nullptr};
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i + thread) % calls.size();
    if (i % 64 < 7) calls[at].Spoil();
    const bool good =
        calls[at].Run(contexts[i % 4]).code == 0 && calls[at].Hash() == load.right[at];
    load.wrong += !good;
    ++load.calls;
  }
  kiln_context_free(own);
}

TEST_CASE("sixteen threads, contexts shared and their own") {
  const Setting setting{KILN_DIRECT, 2};
  const kiln_options options = setting.options();
  Load load{kiln_context_new(&options), {}};
  for (KernelCall& call : KernelCalls(1)) {
    REQUIRE(call.Run(load.shared).code == 0);
    load.right.push_back(call.Hash());
  }
  const int64_t count = CallsAThread();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&load, t, count] { Work(load, t, count); });
  for (std::thread& thread : threads) thread.join();
  kiln_context_free(load.shared);
  CHECK(load.calls == kThreads * count);
  CHECK(load.wrong == 0);
  if (std::getenv("KILN_LOAD") == nullptr) return;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%lld calls by %d threads in %.0f s, %lld wrong\n",
              static_cast<long long>(load.calls.load()), kThreads, seconds.count(),
              static_cast<long long>(load.wrong.load()));
}

}  // namespace
}  // namespace kiln::test
