// `kiln doctor`: a line for each thing that Kiln needs, and a hint where it lacks.
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

/// The line that begins so, and the one behind it.
std::string Lines(const std::string& text, const std::string& begin) {
  const size_t at = ("\n" + text).find("\n" + begin);
  if (at == std::string::npos) return "";
  const size_t end = text.find('\n', text.find('\n', at) + 1);
  return text.substr(at, end - at);
}

std::string Cache(const std::string& folder) { return "XDG_CACHE_HOME='" + folder + "' "; }

TEST_CASE("the doctor finds what Kiln needs") {
  const Shown shown =
      Shell(Cache(fs::path(KILN_TOOL).parent_path() / "test-cache") + "kiln doctor");
  INFO(shown.out << shown.err);
  CHECK(shown.status == 0);
  CHECK(Lines(shown.out, "error").empty());
  for (const char* line : {"ok     machines     host, v4, v5e,", "ok     compiler     ",
                           "ok     runtime      /", "ok     Highway      1."}) {
    INFO(line);
    CHECK(!Lines(shown.out, line).empty());
  }
  CHECK(Contains(shown.out, " vectors of "));
  // All tests share this cache: it may be nearly full, which is a warning.
  CHECK(Contains(Lines(shown.out, "ok     cache") + Lines(shown.out, "warn   cache"),
                 ", mode 700: "));
}

TEST_CASE("what lacks is an error, what is slow or odd a warning, each with a hint") {
  const Folder folder;
  const std::string cache = Cache(folder / "cache");
  const Shown no_compiler = Shell(cache + "CXX=no-such kiln doctor");
  CHECK(no_compiler.status == 1);
  CHECK(Contains(Lines(no_compiler.out, "error  compiler"),
                 "cannot run the compiler `no-such`; set CXX to a C++20 compiler"));
  CHECK(
      Contains(Lines(no_compiler.out, "error  compiler"), "= hint: without it specs are checked"));

  WriteText(
      folder / "old",
      "#!/bin/sh\n[ \"$1\" = --version ] && echo old 1.0 && exit\necho error: C++98 >&2\nexit 1\n");
  fs::permissions(folder / "old", fs::perms::owner_all);
  const Shown old = Shell(cache + "CXX='" + (folder / "old") + "' kiln doctor");
  CHECK(old.status == 1);
  CHECK(Contains(Lines(old.out, "ok     compiler"), ": old 1.0"));
  CHECK(Contains(Lines(old.out, "error  kernels"), "cannot be compiled: "));
  CHECK(Contains(Lines(old.out, "error  kernels"), "C++98"));

  fs::create_directory(folder / "open");
  fs::create_directory(folder / "open/kiln");
  fs::permissions(folder / "open/kiln", fs::perms::all);
  const Shown open = Shell(Cache(folder / "open") + "CXX=no-such kiln doctor");
  CHECK(Contains(Lines(open.out, "warn   cache"), "others can write into "));
  CHECK(Contains(Lines(open.out, "warn   cache"),
                 "= hint: let XDG_CACHE_HOME name a folder of your own"));

  const Shown limit = Shell(cache + "KILN_CACHE_LIMIT=lots CXX=no-such kiln doctor");
  CHECK(Contains(Lines(limit.out, "error  cache"), "KILN_CACHE_LIMIT is not a number of bytes"));
}

}  // namespace
}  // namespace kiln::test
