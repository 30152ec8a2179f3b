// Files are written when their text changes, and otherwise left alone.
#include "generator/data/write_file.h"

#include <filesystem>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln {
namespace {

TEST_CASE("a file is written once, and again when its text changes") {
  const test::Folder folder;
  const std::string path = folder / "new/folder/x.h";
  std::string why;
  CHECK(WriteIfChanged(path, "one\n", &why) == Written::kWritten);
  const auto time = std::filesystem::last_write_time(path);
  CHECK(WriteIfChanged(path, "one\n", &why) == Written::kUnchanged);
  CHECK(std::filesystem::last_write_time(path) == time);
  CHECK(WriteIfChanged(path, "two\n", &why) == Written::kWritten);
  CHECK(test::ReadText(path) == "two\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "new/folder"), {}) == 1);
}

TEST_CASE("what cannot be written says why") {
  const test::Folder folder;
  std::string why;
  CHECK(WriteIfChanged(folder.path().string(), "x", &why) == Written::kFailed);
  CHECK(why == "cannot write `" + folder.path().string() + "`: it is a folder");
  test::WriteText(folder / "file", "");
  CHECK(WriteIfChanged(folder / "file/x.h", "x", &why) == Written::kFailed);
  CHECK(why.find("cannot write `" + (folder / "file/x.h") + "`: ") == 0);
}

}  // namespace
}  // namespace kiln
