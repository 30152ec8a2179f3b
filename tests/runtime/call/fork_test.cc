// What fork() promises, docs/embedding.md says.
#ifndef __SANITIZE_THREAD__  // which does not know threads after a fork

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "kiln/call/context.h"
#include "kiln/call/threads.h"
#include "tests/runtime/runtime_testing.h"

namespace kiln {
namespace {

constexpr int kCores = 3;

Options ThreeCores(Mode mode = Mode::kDirect) {
  Options options;
  options.cores = kCores;
  options.mode = mode;
  return options;
}

struct Seen {
  std::mutex mutex;
  std::set<int> cores;
  std::set<std::thread::id> threads;
};

/// Whether all cores run, each on a thread of its own if nobody else has the threads and the
/// hardware has so many.
bool Calls(Context& context, bool alone = true) {
  const size_t threads = static_cast<size_t>(std::min(kCores, HardwareCores()));
  Seen seen;
  const auto note = [](Seen* const& to, Core& core) {
    const std::lock_guard lock(to->mutex);
    to->cores.insert(core.index());
    to->threads.insert(std::this_thread::get_id());
  };
  const Status status = context.Run<Seen*>(note, &seen);
  return status.ok() && (!alone || (seen.cores.size() == kCores && seen.threads.size() == threads));
}

/// Forks; what the child makes of it in at most 20 seconds.
int StatusOfChild(const std::function<bool()>& child) {
  const pid_t process = fork();
  if (process == 0) {
    alarm(20);
    _exit(child() ? 0 : 1);
  }
  int status = -1;
  waitpid(process, &status, 0);
  return status;
}

TEST_CASE("a child calls in its parent's contexts, with threads of its own", "[fork]") {
  Context emulated(ThreeCores(Mode::kEmulated)), idle(ThreeCores());
  DefaultContext().Configure(ThreeCores());
  CHECK(Calls(emulated));
  CHECK(Calls(DefaultContext()));
  const auto call_all = [&] {
    return Calls(emulated) && Calls(idle) && Calls(DefaultContext()) && Calls(emulated);
  };
  CHECK(StatusOfChild(call_all) == 0);
  CHECK(StatusOfChild([&] { return call_all() && StatusOfChild(call_all) == 0; }) == 0);
  CHECK(call_all());
  DefaultContext().Configure({});
}

TEST_CASE("a child gives its parent's contexts back, and exits with live ones", "[fork]") {
  auto context = std::make_unique<Context>(ThreeCores());
  CHECK(Calls(*context));
  CHECK(StatusOfChild([&] {
          context->Trim();
          const bool called = Calls(*context);
          context.reset();
          return called;
        }) == 0);
  CHECK(StatusOfChild([&] {
          context.reset();
          return true;
        }) == 0);
  CHECK(StatusOfChild([&] {
          static Context lives(ThreeCores());
          std::exit(Calls(lives) && Calls(*context) && Calls(DefaultContext(), false) ? 0 : 1);
          return false;
        }) == 0);
  CHECK(Calls(*context));
}

// Where one thread allocates while another forks, GCC's AddressSanitizer leaves the lock of its own
// allocator locked in the child: any program hangs so.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a fork amid the calls of other threads leaves the child free to call", "[fork]") {
  Context context(ThreeCores());
  std::atomic<bool> stop{false}, wrong{false};
  const auto work = [&] {
    while (!stop) wrong = !Calls(context, /*alone=*/false) || wrong;
  };
  std::thread one(work), another(work), third([&] {
    while (!stop) {
      context.Configure(ThreeCores());
      context.Trim();
      Context passing(ThreeCores());
      wrong = !Calls(passing) || wrong;
    }
  });
  int children = 0;
  for (int i = 0; i < 100; ++i) {
    children += StatusOfChild([&] { return Calls(context) && Calls(context); }) == 0;
  }
  stop = true;
  one.join();
  another.join();
  third.join();
  CHECK(children == 100);
  CHECK(!wrong);
}
#endif

struct Forking {
  Context& context;
  bool is_child = false, child_calls = false;
  int status = -1;  // of the child
};

TEST_CASE("a fork in a call is a status in the child, and nothing to the parent", "[fork]") {
  Context context(ThreeCores());
  Forking forking{context};
  const auto fork_on_first = [](Forking* const& f, Core& core) {
    if (core.index() > 0) return;
    const pid_t process = fork();
    f->is_child = process == 0;
    if (f->is_child) {
      alarm(20);
      f->child_calls = Calls(f->context);
    } else {
      waitpid(process, &f->status, 0);
    }
  };
  const Status result = context.Run<Forking*>(fork_on_first, &forking, {.kernel = "forks"});
  if (forking.is_child) {
    const std::string message =
        "forks: [memory] fork() in a call: its other cores are in the parent";
    const bool good = result.code == kMemory && result.message == message;
    _exit(good && forking.child_calls && Calls(context) ? 0 : 1);
  }
  CHECK(result.ok());
  CHECK(forking.status == 0);
  CHECK(Calls(context));
}

}  // namespace
}  // namespace kiln

#endif
