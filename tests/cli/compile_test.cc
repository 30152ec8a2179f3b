// `kiln compile`: what it tells programs that load a kernel.
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

constexpr const char* kTripled =
    "kernel: tripled\n"
    "params: {b: 64}\n"
    "dims: {n: {multiple_of: 2}}\n"
    "grid: {i: \"cdiv(n, b)\"}\n"
    "scalars: {by: i8}\n"
    "inputs:\n  x: {array: \"i32[n, 3]\", block: \"b, all\", index: \"i, 0\"}\n"
    "outputs:\n  o: {array: \"i32[n, 3]\", block: \"b, all\", index: \"i, 0\", alias: x}\n"
    "body: |\n  o = x * 3 + i32(by)\n";

/// With a cache that lasts, beside the tool.
Shown Compile(const std::string& arguments, const Folder& folder) {
  const std::string cache = fs::path(KILN_TOOL).parent_path() / "test-cache";
  return Shell("XDG_CACHE_HOME='" + cache + "' kiln compile " + arguments, folder.path());
}

TEST_CASE("compile tells the library and its arguments in order") {
  const Folder folder;
  WriteText(folder / "tripled.yaml", kTripled);
  const Shown shown = Compile("tripled.yaml", folder);
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  const auto told = nlohmann::json::parse(shown.out);
  CHECK(fs::exists(told["library"].get<std::string>()));
  CHECK(told["function"] == "kiln_tripled");
  CHECK(told["packed"] == "kiln_packed_tripled");
  CHECK(told["params"]["b"] == "64");
  CHECK(told["dims"][0]["multiple_of"] == 2);
  const auto& arguments = told["arguments"];
  REQUIRE(arguments.size() == 3);
  CHECK(arguments[0]["name"] == "by");
  CHECK(arguments[0]["role"] == "scalar");
  CHECK(arguments[0]["passed_as"] == "i32");
  CHECK(arguments[1]["shape"] == nlohmann::json({"n", "3"}));
  CHECK(arguments[2]["role"] == "output");
  CHECK(arguments[2]["alias"] == "x");

  CHECK(nlohmann::json::parse(Compile("tripled.yaml", folder).out)["cached"] == true);
  REQUIRE(Compile("tripled.yaml -o here.so", folder).status == 0);
  CHECK(ReadText(folder / "here.so") == ReadText(told["library"].get<std::string>()));
}

TEST_CASE("a signature needs no compiler, and its hash is of the text") {
  const Folder folder;
  WriteText(folder / "tripled.yaml", kTripled);
  const auto told = [&](const std::string& words) {
    return nlohmann::json::parse(
        Shell("CXX=/none kiln compile tripled.yaml --signature " + words, folder.path()).out);
  };
  CHECK(!told("").contains("library"));
  CHECK(told("")["hash"] == told("--set b=64")["hash"]);
  CHECK(told("")["hash"] != told("--set b=128")["hash"]);
}

TEST_CASE("what compile refuses") {
  const Folder folder;
  WriteText(folder / "tripled.yaml", std::string(kTripled) + "  p = 1\n");
  const Shown wrong = Compile("tripled.yaml --format=json", folder);
  CHECK(wrong.status == 1);
  CHECK(nlohmann::json::parse(wrong.out)[0]["rule"] == "name");

  WriteText(folder / "tripled.yaml", kTripled);
  const Shown none = Shell("CXX=/none kiln compile tripled.yaml", folder.path());
  CHECK(none.status == 2);
  CHECK(none.out.empty());
  CHECK(Contains(none.err, "cannot run the compiler `/none`; set CXX to a C++20 compiler"));
  const Shown lost = Compile("tripled.yaml -o tripled.yaml/k.so", folder);
  CHECK(lost.status == 2);
  CHECK(Contains(lost.err, "tripled.yaml"));
}

}  // namespace
}  // namespace kiln::test
