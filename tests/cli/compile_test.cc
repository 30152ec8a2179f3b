// `kiln compile`: what it prints for programs that load a kernel.
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
Shown WithCache(const std::string& arguments, const Folder& folder) {
  const std::string cache = fs::path(KILN_TOOL).parent_path() / "test-cache";
  return Shell("XDG_CACHE_HOME='" + cache + "' kiln " + arguments, folder.path());
}

Shown Compile(const std::string& arguments, const Folder& folder) {
  return WithCache("compile " + arguments, folder);
}

TEST_CASE("compile prints the library and its arguments in order") {
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

TEST_CASE("compile prints the operands of a vmap") {
  const Folder folder;
  WriteText(folder / "tripled.yaml",
            std::string(kTripled) + "vmap: {axis: b_axis, dim: batch, over: {x: 0, o: -1}}\n");
  const auto told = nlohmann::json::parse(Compile("tripled.yaml --signature", folder).out);
  CHECK(told["vmap"] == nlohmann::json({{"dim", "batch"}, {"over", {"x", "o"}}}));
  CHECK(told["arguments"][1]["shape"] == nlohmann::json({"batch", "n", "3"}));
  CHECK(told["arguments"][2]["shape"] == nlohmann::json({"n", "3", "batch"}));
}

TEST_CASE("the cache finds a kernel by the hash of its text") {
  const Folder folder;
  WriteText(folder / "tripled.yaml", kTripled);
  // Of its own: the same text of an older runtime would be found, too.
  const auto with_own = [&](const std::string& arguments) {
    return Shell("XDG_CACHE_HOME='" + (folder / "cache") + "' kiln " + arguments, folder.path());
  };
  const auto told = nlohmann::json::parse(with_own("compile tripled.yaml").out);
  const std::string hash = told["hash"];
  const Shown shown = with_own("cache find tripled:" + hash);
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  const auto found = nlohmann::json::parse(shown.out);
  CHECK(found["library"] == told["library"]);
  CHECK(found["packed"] == "kiln_packed_tripled");
  CHECK(found["cached"] == true);
  REQUIRE(with_own("cache find tripled:" + hash + " -o here.so").status == 0);
  CHECK(ReadText(folder / "here.so") == ReadText(told["library"].get<std::string>()));

  // A text that was changed afterwards is not what it was.
  const std::string source =
      fs::path(told["library"].get<std::string>()).parent_path() / "tripled.cc";
  const std::string text = ReadText(source);
  WriteText(source, text + "\n");
  CHECK(with_own("cache find tripled:" + hash).status == 2);
  WriteText(source, text);

  for (const char* other : {"tripled:00ff", "doubled"}) {
    const Shown none = with_own(std::string("cache find ") + other);
    CHECK(none.status == 2);
    CHECK(none.out.empty());
  }
  CHECK(Contains(WithCache("cache find tripled:00ff", folder).err,
                 "kiln: the cache has no kernel tripled with a text of the hash 00ff\n"
                 "  hint: load its spec first: `kiln compile SPEC`, or kiln.load in Python\n"));
  CHECK(Contains(WithCache("cache find doubled", folder).err,
                 "kiln: a kernel is NAME:HASH, not `doubled`\n"
                 "  hint: `kiln compile` prints the hash of its text\n"));
}

TEST_CASE("the cache keeps a library of other C++, by its text and headers") {
  const Folder folder;
  fs::create_directory(folder / "headers");
  WriteText(folder / "headers/answer.h", "#define ANSWER 42\n");
  WriteText(folder / "bridge.cc",
            "#include \"answer.h\"\nextern \"C\" int a() { return ANSWER; }\n");
  const std::string words = "cache build bridge.cc --include headers";
  const Shown shown = WithCache(words, folder);
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  const auto told = nlohmann::json::parse(shown.out);
  CHECK(told["name"] == "bridge");
  CHECK(!told.contains("packed"));
  CHECK(fs::exists(told["library"].get<std::string>()));
  CHECK(nlohmann::json::parse(WithCache(words, folder).out)["cached"] == true);

  WriteText(folder / "headers/answer.h", "#define ANSWER 43\n");
  CHECK(nlohmann::json::parse(WithCache(words, folder).out)["library"] != told["library"]);
  WriteText(folder / "bridge.cc", "#error no\n");
  CHECK(WithCache(words, folder).status == 3);
  CHECK(WithCache("cache build none.cc --include headers", folder).status == 2);
  CHECK(Contains(WithCache("cache build bridge.cc --include none", folder).err,
                 "kiln: cannot read the folder `none`: No such file or directory\n"));
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
