// KILN_VERBOSE: the command at the end of a line makes the same call again.
#include <regex>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

/// A kernel with all that a command has to say: sizes, scalars, prefetch arrays, variants, params.
constexpr const char* kPicked =
    "kernel: picked\n"
    "params: {b: 16, T: f32}\n"
    "grid: {i: \"cdiv(n, b)\"}\n"
    "scalars: {by: i32}\n"
    "prefetch: {ids: \"i32[k]\"}\n"
    "require: k >= 1\n"
    "inputs:\n  x: {array: \"T[n]\", block: b, index: i}\n"
    "outputs:\n  o: {array: \"T[n]\", block: b, index: i}\n"
    "body: |\n  o = x * T(by + ids[0])\n"
    "variants:\n  - {when: n <= 50, set: {b: 32}}\n";

/// The lines of calls on standard error, without their times.
std::vector<std::string> CallsOf(const Shown& shown) {
  static const std::regex time(",[0-9]+\\.[0-9]{4},");
  std::vector<std::string> calls;
  std::istringstream lines(shown.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("kiln_verbose,", 0) == 0 && line.rfind("kiln_verbose,kernel,", 0) != 0)
      calls.push_back(std::regex_replace(line, time, ",T,"));
  }
  return calls;
}

TEST_CASE("a line of KILN_VERBOSE ends in the command that makes the same call") {
  const std::string cache =
      "XDG_CACHE_HOME='" + (fs::path(KILN_TOOL).parent_path() / "test-cache").string() + "' ";
  const Folder folder;
  WriteText(folder / "picked.yaml", kPicked);
  const std::string run = "picked.yaml x=random:7 n=100 by=-3 ids=2,0,1 ";
  for (const std::string& how :
       {run + "--mode=direct --cores=2", run + "--mode=emulate --cores=2 --dma=eager",
        run + "--mode=direct --set b=64 T=f64",
        std::string("picked.yaml x=random:7 n=40 by=0 ids=2 --mode=direct")}) {
    const Shown first = Shell(cache + "KILN_VERBOSE=1 kiln run " + how, folder.path());
    INFO(how << "\n" << first.err);
    REQUIRE(first.status == 0);
    const auto calls = CallsOf(first);
    REQUIRE(!calls.empty());
    const std::string& call = calls.back();
    CHECK(Contains(call, Contains(how, "emulate") ? ",emulated," : ",direct,"));
    CHECK(Contains(call, ",ok,T,kiln run picked.yaml ids="));
    CHECK(Contains(call, "n=40") == Contains(call, ",variant_1,"));
    const std::string command = call.substr(call.find(",T,") + 3);
    const Shown second = Shell(cache + "KILN_VERBOSE=1 " + command, folder.path());
    INFO(command << "\n" << second.err);
    CHECK(second.status == 0);
    REQUIRE(!CallsOf(second).empty());
    CHECK(CallsOf(second).back() == call);
  }
  CHECK(CallsOf(Shell(cache + "kiln run " + run + "--mode=direct", folder.path())).empty());
}

}  // namespace
}  // namespace kiln::test
