// Compiling into the cache, and finding things there again.
#include "generator/native/cache/cache.h"

#include <dlfcn.h>

#include <filesystem>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

Toolchain Tools() {
  std::string why;
  const auto tools = FindToolchain(&why);
  INFO(why);
  REQUIRE(tools);
  return *tools;
}

/// Without the runtime: these units link nothing, and compile fast.
Toolchain Bare() {
  Toolchain tools;
  tools.compile = {"c++", "-shared", "-fPIC"};
  tools.fingerprint = "bare";
  return tools;
}

Unit Answer(const std::string& value) {
  return {"answer",
          "answer.cc",
          {{"answer.h", "#define ANSWER " + value + "\n"},
           {"answer.cc", "#include \"answer.h\"\nextern \"C\" int answer() { return ANSWER; }\n"}},
          "",
          {}};
}

int Ask(const std::string& library) {
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(loaded);
  const int answer = reinterpret_cast<int (*)()>(dlsym(loaded, "answer"))();
  dlclose(loaded);
  return answer;
}

TEST_CASE("the same text is compiled once; another text, or other tools, again") {
  const test::Folder cache;
  CompileOptions options;
  options.folder = cache / "new";
  int ended = 0;
  options.progress = [&](double, bool done) { ended += done; };

  const Compiled first = CompileCached(Answer("1"), Bare(), options);
  INFO(first.error << first.log);
  REQUIRE(!first.library.empty());
  CHECK(!first.cached);
  CHECK(Ask(first.library) == 1);
  CHECK(ended == 1);

  const Compiled again = CompileCached(Answer("1"), Bare(), options);
  CHECK(again.cached);
  CHECK(again.library == first.library);
  CHECK(ended == 1);

  CHECK(Ask(CompileCached(Answer("2"), Bare(), options).library) == 2);
  Toolchain other = Bare();
  other.fingerprint = "other";
  CHECK(!CompileCached(Answer("1"), other, options).cached);
  CHECK(std::distance(fs::directory_iterator(options.folder), {}) == 3);
}

TEST_CASE("what does not compile says so, and is not kept as if it had") {
  const test::Folder cache;
  CompileOptions options;
  options.folder = cache.path().string();
  for (int round = 0; round < 2; ++round) {
    const Compiled failed = CompileCached(Answer("oops"), Bare(), options);
    CHECK(failed.library.empty());
    CHECK(failed.error.find("`c++` does not compile ") == 0);
    CHECK(failed.log.find("oops") != std::string::npos);
  }
  Toolchain missing = Bare();
  missing.compile[0] = "no-such-compiler";
  CHECK(CompileCached(Answer("1"), missing, options).library.empty());
}

TEST_CASE("a damaged entry can be removed, and nothing else") {
  const test::Folder cache;
  CompileOptions options;
  options.folder = cache.path().string();
  const Compiled first = CompileCached(Answer("1"), Bare(), options);
  test::WriteText(cache / "mine", "");
  RemoveCached(cache / "mine");
  CHECK(fs::exists(cache / "mine"));
  RemoveCached(first.library);
  CHECK(!fs::exists(first.library));
  CHECK(!CompileCached(Answer("1"), Bare(), options).cached);
}

TEST_CASE("the tools of this build are found, and do not change by themselves") {
  const Toolchain tools = Tools();
  CHECK(tools.fingerprint.size() == 64);
  CHECK(tools.fingerprint == Tools().fingerprint);
}

TEST_CASE("options of the compiler that CXX names win over those of kernels") {
  setenv("CXX", "c++ -O0 -g", 1);
  std::string why;
  const auto tools = FindToolchain(&why);
  unsetenv("CXX");
  INFO(why);
  REQUIRE(tools);
  CHECK(tools->compile[0] == "c++");
  for (const auto* words : {&tools->compile, &tools->object}) {
    const auto first = std::find_if(words->begin(), words->end(), [](const std::string& word) {
      return word.substr(0, 2) == "-O";
    });
    CHECK(*first != "-O0");
    CHECK(std::find(first, words->end(), "-O0") != words->end());
    CHECK(std::find(first, words->end(), "-g") != words->end());
  }
}

TEST_CASE("tools that are not there are missed by name") {
  std::string why;
  setenv("KILN_HOME", "/nowhere", 1);
  CHECK(!FindToolchain(&why));
  CHECK(why.find("KILN_HOME is `/nowhere`") == 0);
  unsetenv("KILN_HOME");
  setenv("CXX", "no-such-compiler -x", 1);
  CHECK(!FindToolchain(&why));
  CHECK(why == "cannot run the compiler `no-such-compiler`; set CXX to a C++20 compiler");
  unsetenv("CXX");
}

}  // namespace
}  // namespace kiln
