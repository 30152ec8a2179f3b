#include "generator/native/guarded.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "tests/catch.h"

namespace kiln::guarded_test {
namespace {

using Place = GuardedMemory::Place;

/// What a child process says on its standard error while it does that, and how it ends.
struct Ended {
  std::string said;
  int status = -1;  // of exit; -1: by a signal
};

Ended InChild(const std::function<void()>& act) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    act();
    _exit(0);
  }
  close(ends[1]);
  Ended ended;
  char piece[512];
  for (ssize_t n; (n = read(ends[0], piece, sizeof piece)) > 0;)
    ended.said.append(piece, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  return ended;
}

constexpr const char* kMessage =
    "kiln: internal error: the kernel touches memory outside of `z`, or writes to an input\n";

TEST_CASE("the bytes end where nobody may read, whatever their number") {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4}, size_t{4096}, size_t{100000}}) {
    GuardedMemory memory("z", bytes, Place::kAtEnd);
    std::memset(memory.data(), 1, bytes);
    CHECK(memory.IsIntact());
    const Ended ended = InChild([&] {
      const FaultReport faults({&memory});
      [[maybe_unused]] const volatile auto read = memory.data()[bytes];
    });
    CHECK(ended.said == kMessage);
    CHECK(ended.status == 3);
  }
}

TEST_CASE("what is written in front of the bytes, or behind aligned ones, shows") {
  for (const Place place : {Place::kAtEnd, Place::kAligned}) {
    GuardedMemory memory("z", 100, place);
    CHECK(memory.IsIntact());
    memory.data()[-1] = std::byte{0};
    CHECK(!memory.IsIntact());
  }
  for (const Place place : {Place::kAtStart, Place::kAligned}) {
    GuardedMemory memory("z", 100, place);
    CHECK(reinterpret_cast<uintptr_t>(memory.data()) % 64 == 0);
    memory.data()[99] = std::byte{0};
    CHECK(memory.IsIntact());
    memory.data()[100] = std::byte{0};
    CHECK(!memory.IsIntact());
  }
}

TEST_CASE("nobody may touch what is in front of bytes at the start of their page") {
  GuardedMemory memory("z", 100, Place::kAtStart);
  const Ended ended = InChild([&] {
    const FaultReport faults({&memory});
    memory.data()[-1] = std::byte{1};
  });
  CHECK(ended.said == kMessage);
  CHECK(ended.status == 3);
}

TEST_CASE("a write to what is read only is reported, and other faults are left to others") {
  GuardedMemory memory("z", 100, Place::kAtEnd);
  memory.MakeReadOnly();
  const Ended written = InChild([&] {
    const FaultReport faults({&memory});
    memory.data()[3] = std::byte{1};
  });
  CHECK(written.said == kMessage);
  CHECK(written.status == 3);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const Ended elsewhere = InChild([&] {
    signal(SIGSEGV, SIG_DFL);  // Catch's own handler speaks
    const FaultReport faults({&memory});
    *reinterpret_cast<volatile int*>(uintptr_t{8}) = 1;
  });
  CHECK(elsewhere.said.empty());
  CHECK(elsewhere.status == -1);
#endif
}

}  // namespace
}  // namespace kiln::guarded_test
