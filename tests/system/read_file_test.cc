// What is read: files, pipes and descriptors, up to a limit; nothing that blocks for ever.
#include "generator/system/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln {
namespace {

/// The text, or why there is none.
std::string Read(const std::string& path, size_t most = 100) {
  std::string why;
  return ReadFile(path, most, &why).value_or(why);
}

TEST_CASE("a file is read to its end, or to a byte beyond the limit") {
  const test::Folder folder;
  test::WriteText(folder / "x", "0123456789");
  CHECK(Read(folder / "x") == "0123456789");
  CHECK(Read(folder / "x", 10) == "0123456789");
  CHECK(Read(folder / "x", 4) == "01234");
  test::WriteText(folder / "x", "");
  CHECK(Read(folder / "x").empty());
}

TEST_CASE("what is no file says so") {
  const test::Folder folder;
  CHECK(Read(folder / "none") == "No such file or directory");
  CHECK(Read(folder.path().string()) == "it is a folder");
  CHECK(Read("/dev/zero") == "it is a device");
  CHECK(Read("/dev/fd/977") == "Bad file descriptor");
}

TEST_CASE("a pipe is read to its end, also through its descriptor") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::thread writer([&] {
    for (const char* part : {"some ", "parts"}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      [[maybe_unused]] const ssize_t count = write(ends[1], part, 5);
    }
    close(ends[1]);
  });
  CHECK(Read("/dev/fd/" + std::to_string(ends[0])) == "some parts");
  writer.join();
  close(ends[0]);
}

TEST_CASE("a named pipe waits a little for its writer, and not for ever") {
  const test::Folder folder;
  const std::string path = folder / "pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(Read(path) == "it is a pipe that nobody writes into");
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    test::WriteText(path, "late");
  });
  CHECK(Read(path) == "late");
  writer.join();
}

}  // namespace
}  // namespace kiln
