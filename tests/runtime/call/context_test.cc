#include "kiln/call/context.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>
#include <stdexcept>
#include <thread>

#include "kiln/call/threads.h"
#include "kiln/direct/direct.h"
#include "kiln/emulate/emulated.h"
#include "kiln/grid/grid.h"
#include "tests/runtime/runtime_testing.h"

namespace {
std::atomic<int64_t> g_allocations{0};
std::atomic<int64_t> g_cores{0};  // allocations of a Core's size
}  // namespace

// Counts, to see that the second call of a kernel needs none.
void* operator new(size_t bytes) {
  ++g_allocations;
  g_cores += bytes == sizeof(kiln::Core);
  if (void* const data = std::malloc(bytes)) return data;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++g_allocations;
  return std::malloc(bytes);
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }

namespace kiln {
namespace {

/// z = x + 1, blocks of 16 x 32 that are copied in both tiers.
struct Call {
  Tensor<const float> x;
  Tensor<float> z;
};

template <class Tiers>
void RunGrid(const Call& call, Core& core) {
  const Grid<2> grid({DivUp(call.x.shape[0], 16), DivUp(call.x.shape[1], 32)}, 2, {1, 0}, core);
  typename Tiers::template In<CopiedRows<float, 2>, 2> x(core, {"x", 0, 3}, call.x,
                                                         {Blocked(16), Blocked(32)}, NoPad(), 2, 1);
  typename Tiers::template Out<Rows<float, 2>, 2> z(core, {"z", 1, 4}, call.z,
                                                    {Blocked(16), Blocked(32)}, NoInit(), 2);
  auto at = grid.First();
  if (at.more) x.CopyIn({at[0], at[1]});
  while (at.more && core.ok()) {
    const auto next = grid.Next(at);
    if (next.more) x.CopyIn({next[0], next[1]});
    const auto from = x.WaitIn({at[0], at[1]});
    const auto to = z.Open({at[0], at[1]}, at.run);
    if (!core.ok()) return;
    for (size_t r = 0; r < to.high[0]; ++r) {
      for (size_t c = 0; c < to.high[1]; ++c) *to.At(r, c) = *from.At(r, c) + 1;
    }
    if (!next.more || z.Leaves({next[0], next[1]}, next.run)) z.CopyOut();
    at = next;
  }
  z.WaitOut();
}

void Run(const Call& call, Core& core) {
  if (core.emulated()) {
    RunGrid<Emulated>(call, core);
  } else {
    RunGrid<Direct>(call, core);
  }
}

struct Arrays {
  Sample<float, 2> x, z;
  explicit Arrays(int64_t m = 50, int64_t n = 70) : x({m, n}), z({m, n}) {}
  Call call() const { return {x.tensor, z.tensor}; }
  bool IsDone() const {
    for (int64_t r = 0; r < z.tensor.shape[0]; ++r) {
      for (int64_t c = 0; c < z.tensor.shape[1]; ++c) {
        if (*z.tensor.At<2>({r, c}) != *x.tensor.At<2>({r, c}) + 1) return false;
      }
    }
    return true;
  }
};

Options WithCores(int cores, Mode mode = Mode::kDirect) {
  Options options;
  options.cores = cores;
  options.mode = mode;
  return options;
}

TEST_CASE("Both modes, by any number of cores") {
  for (const Mode mode : {Mode::kDirect, Mode::kEmulated}) {
    for (const int cores : {1, 2, 3, 8}) {
      Context context(WithCores(cores, mode));
      Arrays arrays;
      const Status status = context.Run(&Run, arrays.call());
      CHECK(std::string(status.message) == "");
      CHECK(arrays.IsDone());
      CHECK(context.record().vmem_high.size() == static_cast<size_t>(cores));
    }
  }
}

TEST_CASE("The record has the sums over the cores") {
  Context context(WithCores(2, Mode::kEmulated));
  Arrays arrays;
  REQUIRE(context.Run(&Run, arrays.call()).ok());
  const Record record = context.record();
  REQUIRE(record.operands.size() == 2);
  CHECK(std::string(record.operands[0].name) == "x");
  CHECK(record.operands[0].copies == 4 * 3);
  CHECK(record.operands[0].bytes == 50 * 70 * 4);
  CHECK(record.operands[1].bytes == 50 * 70 * 4);
  CHECK(record.operands[1].is_output);
  CHECK((record.vmem_high == std::vector<int64_t>(2, 4 * 2 * 4096)));
}

TEST_CASE("The diagnostic of the first core is the call's") {
  Context context(WithCores(4));
  const auto fail = [](const Call&, Core& core) {
    if (core.index() > 0) core.Fail(kAssert, "core %d", core.index());
  };
  const Status status = context.Run<Call>(fail, {}, {.kernel = "kernel"});
  CHECK(status.code == kAssert);
  CHECK(std::string(status.message) == "kernel: [assert] core 1");
  CHECK(context.Run<Call>([](const Call&, Core&) {}, {}).ok());
}

TEST_CASE("No exception leaves a call") {
  Context context(WithCores(3));
  const auto fail = [](const Call&, Core&) { throw std::runtime_error("oh"); };
  CHECK(std::string(context.Run<Call>(fail, {}).message) == "[memory] oh on core 0");
}

TEST_CASE("A call too small to share has one core, unless it is given more or emulates") {
  const auto cores = [](const Options& options, int64_t bytes) {
    Context context(options);
    Arrays arrays;
    REQUIRE(context.Run(&Run, arrays.call(), {.kernel = "add", .bytes = bytes}).ok());
    return static_cast<int>(context.record().vmem_high.size());
  };
  const int all = HardwareCores();
  CHECK(cores(WithCores(0), 1000) == 1);
  CHECK(cores(WithCores(0), 1000000) == all);
  CHECK(cores(WithCores(3), 1000) == 3);
  CHECK(cores(WithCores(0, Mode::kEmulated), 1000) == all);
}

TEST_CASE("A call may have fewer cores") {
  Context context(WithCores(4));
  std::atomic<int> cores{0};
  const auto count = [](std::atomic<int>* const& n, Core&) { ++*n; };
  context.Run<std::atomic<int>*>(count, &cores, {.kernel = nullptr, .cores = 2});
  CHECK(cores == 2);
}

TEST_CASE("More cores than there are give what they give, without a thread each") {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  Context context(WithCores(400));
  Arrays arrays;
  const auto before = threads();
  CHECK(context.Run(&Run, arrays.call()).ok());
  CHECK(arrays.IsDone());
  CHECK(context.record().vmem_high.size() == 400);
  CHECK(threads() <= before + HardwareCores() - 1);
}

TEST_CASE("Cores for which a grid has no steps are not made") {
  const auto cores_made = [](int cores) {
    Arrays arrays(16, 64);  // two blocks
    Context context(WithCores(cores));
    const int64_t before = g_cores;
    CHECK(context.Run(&Run, arrays.call()).ok());
    CHECK(arrays.IsDone());
    CHECK(context.record().vmem_high.size() == static_cast<size_t>(cores));
    return static_cast<int>(g_cores - before);
  };
  CHECK(cores_made(2) == 2);
  CHECK(cores_made(400) == std::max(2, HardwareCores()));

  // Nor do they run, in whatever order threads of the caller's come to them.
  for (const bool backwards : {false, true}) {
    struct Counted {
      Call call;
      std::atomic<int>* ran;
    };
    Options options = WithCores(400);
    options.parallel_for = backwards
        ? [](void*, int32_t count, void (*task)(void*, int32_t), void* argument) {
            while (count-- > 0) task(argument, count);
          }
        : [](void*, int32_t count, void (*task)(void*, int32_t), void* argument) {
            for (int32_t i = 0; i < count; ++i) task(argument, i);
          };
    Arrays arrays(16, 64);
    std::atomic<int> ran{0};
    Context context(options);
    const auto count = [](const Counted& counted, Core& core) {
      ++*counted.ran;
      Run(counted.call, core);
    };
    CHECK(context.Run<Counted>(count, {arrays.call(), &ran}).ok());
    CHECK(arrays.IsDone());
    CHECK(ran == (backwards ? 3 : 2));  // the last one, which knows, and both
  }
}

TEST_CASE("Nobody has a hundred thousand cores") {
  Arrays arrays;
  Context direct(WithCores(100000));
  CHECK(direct.Run(&Run, arrays.call()).ok());
  CHECK(arrays.IsDone());
  Context emulated(WithCores(100000, Mode::kEmulated));
  CHECK(std::string(emulated.Run(&Run, arrays.call()).message) ==
        "[call] 100000 cores are asked for, and 1024 can be emulated");
}

/// An output of 3 x 5 of which a grid without steps visits nothing.
template <class Tiers>
void WalkNothing(const Tensor<float>& z, Core& core, const Init<float>& init) {
  const Grid<2> grid({2, 0}, 1, core);
  const typename Tiers::template Out<Rows<float, 2>, 2> out(core, {"z", 0, 7}, z,
                                                            {Blocked(8), Blocked(8)}, init);
}

TEST_CASE("An output that no step visits is a diagnostic of both modes") {
  for (const Mode mode : {Mode::kDirect, Mode::kEmulated}) {
    for (const int cores : {1, 3}) {
      for (const auto& [init, message] : std::initializer_list<std::pair<Init<float>, std::string>>{
               {NoInit(),
                "[coverage] no step visits the blocks of 15 of the 15 elements of z (line 7)"},
               {NoInit{.is_alias = true}, ""},
               {UndefinedInit(), ""},
               {Init<float>(0), ""}}) {
        struct Bound {
          Tensor<float> z;
          Init<float> init;
        };
        Sample<float, 2> z({3, 5});
        Context context(WithCores(cores, mode));
        const Status status = context.Run<Bound>(
            [](const Bound& call, Core& core) {
              core.emulated() ? WalkNothing<Emulated>(call.z, core, call.init)
                              : WalkNothing<Direct>(call.z, core, call.init);
            },
            {z.tensor, init});
        CHECK(std::string(status.message).substr(0, message.size()) == message);
        CHECK(status.ok() == message.empty());
      }
    }
  }
}

TEST_CASE("The second call with the same shapes allocates nothing") {
  for (const Mode mode : {Mode::kDirect, Mode::kEmulated}) {
    Context context(WithCores(3, mode));
    Arrays arrays;
    const Call call = arrays.call();
    REQUIRE(context.Run(&Run, call).ok());
    const int64_t before = g_allocations;
    REQUIRE(context.Run(&Run, call).ok());
    CHECK(g_allocations == before);
  }
}

TEST_CASE("Several threads call at once") {
  for (const Mode mode : {Mode::kDirect, Mode::kEmulated}) {
    Context context(WithCores(2, mode));
    std::atomic<int> wrong{0};
    const auto work = [&] {
      for (int i = 0; i < 50; ++i) {
        Arrays arrays;
        wrong += !context.Run(&Run, arrays.call()).ok() || !arrays.IsDone();
      }
    };
    std::thread other(work), another(work);
    work();
    other.join();
    another.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("A kernel may call a kernel") {
  Context context(WithCores(2));
  Arrays arrays;
  struct Nested {
    Context* context;
    const Arrays* arrays;
  };
  const auto nest = [](const Nested& nested, Core& core) {
    if (core.index() == 0) nested.context->Run(&Run, nested.arrays->call());
  };
  CHECK(context.Run<Nested>(nest, {&context, &arrays}).ok());
  CHECK(arrays.IsDone());
}

TEST_CASE("The caller's own threads") {
  int calls = 0;
  Options options = WithCores(3);
  options.parallel_for_data = &calls;
  options.parallel_for = [](void* data, int32_t count, void (*task)(void*, int32_t),
                            void* argument) {
    ++*static_cast<int*>(data);
    for (int32_t i = count; i-- > 0;) task(argument, i);
  };
  Context context(options);
  Arrays arrays;
  CHECK(context.Run(&Run, arrays.call()).ok());
  CHECK(arrays.IsDone());
  CHECK(calls == 1);
}

TEST_CASE("Memory and threads are given back and taken again") {
  Context context(WithCores(2));
  for (int i = 0; i < 3; ++i) {
    Arrays arrays;
    CHECK(context.Run(&Run, arrays.call()).ok());
    CHECK(arrays.IsDone());
    context.Trim();
  }
}

}  // namespace
}  // namespace kiln
