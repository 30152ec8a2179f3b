// Files appear whole or not at all; what is no regular file is written into.
#include "generator/system/write_file.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "generator/system/read_file.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

size_t Count(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST_CASE("a file is written once, and again when its text changes") {
  const test::Folder folder;
  const std::string path = folder / "new/folder/x.h";
  std::string why;
  CHECK(WriteIfChanged(path, "one\n", &why) == Written::kWritten);
  const auto time = fs::last_write_time(path);
  CHECK(WriteIfChanged(path, "one\n", &why) == Written::kUnchanged);
  CHECK(fs::last_write_time(path) == time);
  CHECK(WriteIfChanged(path, "two\n", &why) == Written::kWritten);
  CHECK(test::ReadText(path) == "two\n");
  CHECK(Count(folder / "new/folder") == 1);
}

TEST_CASE("what cannot be written says why, and leaves no folder that it made") {
  const test::Folder folder;
  CHECK(WriteFile(folder.path().string(), "x") ==
        "cannot write `" + folder.path().string() + "`: it is a folder");
  test::WriteText(folder / "file", "");
  CHECK(WriteFile(folder / "file/x.h", "x") ==
        "cannot write `" + (folder / "file/x.h") + "`: Not a directory");
  {
    FileWriter unfinished(folder / "a/b/x");
    unfinished.Write("text");
  }
  CHECK(Count(folder.path()) == 1);
}

TEST_CASE("a link is followed to its file, which keeps its mode; a dangling one is filled") {
  const test::Folder folder;
  fs::create_directory(folder / "there");
  test::WriteText(folder / "there/file", "old");
  fs::permissions(folder / "there/file", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("there/file", folder / "link");
  CHECK(WriteFile(folder / "link", "new").empty());
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(test::ReadText(folder / "there/file") == "new");
  CHECK(fs::status(folder / "there/file").permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
  fs::create_symlink("there/none", folder / "dangling");
  CHECK(WriteFile(folder / "dangling", "first").empty());
  CHECK(test::ReadText(folder / "there/none") == "first");
  fs::create_symlink("round", folder / "round");
  CHECK(WriteFile(folder / "round", "x") ==
        "cannot write `" + (folder / "round") + "`: Too many levels of symbolic links");
}

TEST_CASE("devices and pipes are written into and stay what they are") {
  const test::Folder folder;
  CHECK(WriteFile("/dev/null", "x").empty());
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(WriteFile("/dev/full", "x") == "cannot write `/dev/full`: No space left on device");
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(WriteFile(pipe, "x") == "cannot write `" + pipe + "`: nobody reads from it");
  std::string why, read;
  std::thread reader([&] { read = ReadFile(pipe, 100, &why).value_or(why); });
  CHECK(WriteFile(pipe, "through").empty());
  reader.join();
  CHECK(read == "through");
  CHECK(fs::is_fifo(pipe));
}

TEST_CASE("a file that is to be new never takes another's place") {
  const test::Folder folder;
  test::WriteText(folder / "x", "mine");
  FileWriter file(folder / "x", FileWriter::Existing::kKeep);
  file.Write("theirs");
  CHECK(file.Finish() == "cannot write `" + (folder / "x") + "`: File exists");
  CHECK(file.exists());
  // Made by another program in the meantime.
  FileWriter late(folder / "y", FileWriter::Existing::kKeep);
  late.Write("theirs");
  test::WriteText(folder / "y", "mine");
  CHECK(!late.Finish().empty());
  CHECK(late.exists());
  CHECK(test::ReadText(folder / "x") + test::ReadText(folder / "y") == "minemine");
  CHECK(Count(folder.path()) == 2);
}

/// Files of this process may have so many bytes: as if the disk was full, for whoever cannot mount.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_CASE("a file that may not grow leaves the old one as it was") {
  const test::Folder folder;
  test::WriteText(folder / "x", "old");
  const std::string text(1 << 16, 'x');
  std::string why;
  {
    const SmallFiles small(1 << 12);
    why = WriteFile(folder / "x", text);
  }
  CHECK(why == "cannot write `" + (folder / "x") + "`: File too large");
  CHECK(test::ReadText(folder / "x") == "old");
  CHECK(Count(folder.path()) == 1);
}

TEST_CASE("a full disk leaves the old file as it was") {
  const test::Folder folder;
  if (mount("kiln", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    WARN("skipped: nothing can be mounted here");
    return;
  }
  test::WriteText(folder / "x", "old");
  const std::string why = WriteFile(folder / "x", std::string(1 << 20, 'x'));
  const std::string kept = test::ReadText(folder / "x");
  const size_t files = Count(folder.path());
  const std::string small = WriteFile(folder / "x", "new");
  umount2(folder.path().c_str(), MNT_DETACH);
  CHECK(why == "cannot write `" + (folder / "x") + "`: No space left on device");
  CHECK(kept == "old");
  CHECK(files == 1);
  CHECK(small.empty());
}

TEST_CASE("a stream writes what it is given, however long") {
  const test::Folder folder;
  FileWriter file(folder / "x");
  FileBuffer buffer(file);
  std::ostream out(&buffer);
  std::string want;
  for (int i = 0; i < 300000; ++i) {
    out << i << ' ';
    want += std::to_string(i) + ' ';
  }
  CHECK(file.Finish().empty());
  CHECK(test::ReadText(folder / "x") == want);
}

}  // namespace
}  // namespace kiln
