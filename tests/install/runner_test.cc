// A runner is what `kiln_add_runner` makes of a kernel in another project.
#include <string>
#include <utility>

#include "tests/catch.h"
#include "tests/install/installation.h"

namespace kiln::test {
namespace {

/// A kernel with a scalar, an array that decides what is read, and a shape of more than names.
constexpr const char* kPairs = R"(kernel: pairs
doc: Sums pairs of the rows that are picked.
dims: {n: {multiple_of: 2}}
grid: {i: k}
dimension_semantics: parallel
prefetch: {rows: "i32[k]"}
scalars: {scale: bf16}
inputs:
  x: {array: "f32[m, n]", block: "1, all", index: "rows[i], 0"}
outputs:
  o: {array: "f32[k, n // 2]", block: "1, all", index: "i, 0"}
body: |
  o = sum(reshape(x, [1, n // 2, 2]), axis=2) * f32(scale)
)";

/// One whose arrays have two elements in a byte.
constexpr const char* kHalves = R"(kernel: pairs
grid: {i: m}
dimension_semantics: parallel
inputs:
  x: {array: "i4[m, n]", block: "1, all", index: "i, 0"}
outputs:
  o: {array: "u4[m, n]", block: "1, all", index: "i, 0"}
body: |
  o = u4(x + 9)
)";

/// Builds build/added_run, which calls a kernel of the function `added`.
Shown BuildRunner(const fs::path& folder, const char* spec) {
  fs::create_directory(folder / "app");
  WriteText(folder / "app/pairs.yaml", spec);
  WriteText(folder / "app/CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n"
            "find_package(Kiln REQUIRED)\n"
            "kiln_add_kernel(first SPEC pairs.yaml TARGETS NATIVE FUNCTION added)\n"
            "kiln_add_runner(added_run first)\n");
  const Shown configured = Configure(folder);
  return configured.status == 0 ? Shell("cmake --build build 2>&1", folder) : configured;
}

TEST_CASE("a runner packs elements of 4 bits, as a kernel has them") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  REQUIRE(BuildRunner(folder.path(), kHalves).status == 0);
  const Shown ran = Shell(
      "build/added_run x=random:4 m=3 n=15 -o run && "
      "build/added_run x=random:4 m=3 n=15 --mode=emulate -o emulated && "
      "kiln run app/pairs.yaml x=random:4 m=3 n=15 -o oracle && "
      "build/added_run 'x=[[-8, 7, 1]]' --benchmark=0.001 -o timed",
      folder.path());
  INFO(End(ran));
  REQUIRE(ran.status == 0);
  const std::string computed = ReadText(folder / "run/o.npy");
  CHECK(computed.size() == 128 + 3 * 15);  // one a byte
  CHECK(computed == ReadText(folder / "emulated/o.npy"));
  CHECK(computed == ReadText(folder / "oracle/o.npy"));
  CHECK(ReadText(folder / "timed/o.npy").substr(128) == std::string("\1\0\12", 3));
  CHECK(Contains(ran.out, "  arguments 4 bytes, "));
}

TEST_CASE("a runner calls its kernel as `kiln run` does") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  const Shown built = BuildRunner(folder.path(), kPairs);
  INFO(End(built));
  REQUIRE(built.status == 0);
  CHECK(!Contains(built.out, "warning"));
  const std::string words = " x=random:3 rows=2,0,2 scale=0.5 m=5 n=14 -o ";
  const Shown ran = Shell("build/added_run" + words + "run && build/added_run --mode=emulate" +
                              words + "emulated && kiln run app/pairs.yaml" + words + "oracle",
                          folder.path());
  INFO(End(ran));
  CHECK(ran.status == 0);
  CHECK(Contains(ran.out, "added, direct on 1 core in "));
  CHECK(Contains(ran.out, "  output    o             f32[3, 7]               "));
  const std::string computed = ReadText(folder / "run/o.npy");
  CHECK(computed.size() > 3 * 7 * 4);
  CHECK(computed == ReadText(folder / "emulated/o.npy"));
  CHECK(computed == ReadText(folder / "oracle/o.npy"));

  // From a file, which says sizes, too; and timed.
  const Shown again =
      Shell("build/added_run x=@run/o.npy rows=1 scale=1 --benchmark=0.01 2>&1", folder.path());
  CHECK(again.status == 1);  // n is 7
  CHECK(Contains(again.out, "added_run: [call] added: n is 7, expected a multiple of 2\n"));
  const Shown timed = Shell(
      "build/added_run x=ones m=2 n=8 rows=1 scale=1 --cores=1 --benchmark=0.01", folder.path());
  CHECK(timed.status == 0);
  CHECK(Contains(timed.out, "added, direct on 1 core\n"));
  CHECK(Contains(timed.out, "  median    "));
}

TEST_CASE("a runner says what it takes, and what is wrong with a command") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  REQUIRE(BuildRunner(folder.path(), kPairs).status == 0);
  const Shown help = Shell("build/added_run --help", folder.path());
  CHECK(help.status == 0);
  CHECK(Contains(help.out, "\nSums pairs of the rows that are picked.\n"));
  CHECK(Contains(help.out,
                 "  input     rows          i32[k]\n  scalar    scale         bf16\n"
                 "  input     x             f32[m, n]\n"));
  CHECK(Contains(help.out, "  size      n             a multiple of 2\n"));
  const std::pair<const char*, const char*> cases[] = {
      {"x=ones rows=0 scale=1 m=2", "the shape of `x`, [m, n], is not known\n  hint: say n=…\n"},
      {"x=ones rows=0 m=2 n=2", "`scale` is not given\n  hint: scale=1\n"},
      {"x=ones y=0",
       "`y` is neither an input nor a size of `added`\n  hint: these are: rows, "
       "scale, x, "},
      {"o=ones", "`o` is neither an input nor a size of `added`\n"},
      {"x=ones x=ones", "`x` is given twice\n"},
      {"x=@none.npy rows=0 scale=1", "`x=@none.npy`: none.npy: there is no such file\n"},
      {"x=[[1,2]] rows=0,0 scale=1 k=3", "k is 3 by the command, and 2 by rows\n"},
      {"rows=0,x", "`rows=0,x`: `x` is not an integer\n"},
      {"n=x", "`n=x`: a size is an integer, at least 0\n"},
      {"n", "`n` is not name=value\n"},
      {"--frob", "there is no option --frob\n"},
      {"--cores=none", "`none` is no number for --cores\n"},
      {"--mode=interpret", "there is no mode `interpret`\n"},
      {"-o", "-o needs a folder\n"},
      {"x=ones rows=1 scale=1 m=2 n=2 -o /proc/none", "/proc/none/o.npy"},
  };
  for (const auto& [words, message] : cases) {
    const Shown wrong =
        Shell("build/added_run " + std::string(words) + " 2>&1 >out", folder.path());
    INFO(words << "\n" << wrong.out);
    CHECK(wrong.status == 2);
    CHECK(Contains(wrong.out, "added_run: "));
    CHECK(Contains(wrong.out, message));
  }
  // What the grid check of `kiln run` finds, the kernel finds as well.
  const Shown far =
      Shell("build/added_run x=ones rows=9 scale=1 m=2 n=2 --mode=emulate 2>&1", folder.path());
  CHECK(far.status == 1);
  CHECK(Contains(far.out, "added_run: added: [index-range] "));
}

}  // namespace
}  // namespace kiln::test
