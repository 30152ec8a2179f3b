// Other projects embed kernels by what an installation has for CMake.
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "tests/catch.h"
#include "tests/install/installation.h"

namespace kiln::test {
namespace {

TEST_CASE("another project embeds kernels, and makes again only what changed") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  fs::copy(fs::path(KILN_SOURCE_DIR) / "examples/app", folder / "app", fs::copy_options::recursive);
  const Shown configured = Configure(folder.path(), "app", KILN_OPTIMISED_APP ? "" : kQuickly);
  INFO(End(configured));
  REQUIRE(configured.status == 0);
  const Shown built = Shell("cmake --build build", folder.path());
  INFO(End(built));
  REQUIRE(built.status == 0);
  CHECK(!Contains(built.out, "warning"));

  const Shown shown = Shell("./build/app", folder.path());
  CHECK(shown.status == 0);
  CHECK(Contains(shown.out, "a mistake: softmax_rows: p has shape [100, 9], expected [100, 10]\n"));
  const Shown timed =
      Shell("./build/app_dense x=random w=random bias=zeros rows=8 ins=30 outs=9 --benchmark=0.01",
            folder.path());
  CHECK(timed.status == 0);
  CHECK(Contains(timed.out, "dense, direct on 1 core\n"));
  const Shown tested = Shell("ctest --test-dir build", folder.path());
  INFO(End(tested));
  CHECK(tested.status == 0);

  CHECK(Contains(Shell("cmake --build build", folder.path()).out, "no work to do"));

  // A comment at the end changes no text: it is generated again, and not compiled.
  Shell("echo '# more' >>app/dense.yaml", folder.path());
  const Shown again = Shell("cmake --build build --verbose", folder.path());
  CHECK(Contains(again.out, "unchanged "));
  CHECK(!Contains(again.out, "dense.cc.o"));
  CHECK(Contains(Shell("cmake --build build", folder.path()).out, "no work to do"));

  Shell("sed -i s/gelu/relu/ app/dense.yaml", folder.path());
  CHECK(Contains(Shell("cmake --build build --verbose", folder.path()).out, "dense.cc.o"));
  CHECK(Shell("./build/app", folder.path()).status == 0);

  // A mistake in a spec is the build's error.
  Shell("sed -i 's/relu(acc/rleu(acc/' app/dense.yaml", folder.path());
  const Shown wrong = Shell("cmake --build build", folder.path());
  CHECK(wrong.status != 0);
  CHECK(Contains(wrong.out, "error[name]: "));
}

TEST_CASE("builds follow a lock file that comes, changes and goes") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  fs::copy(fs::path(KILN_SOURCE_DIR) / "examples/app", folder / "app", fs::copy_options::recursive);
  const Shown configured = Configure(folder.path());
  INFO(End(configured));
  REQUIRE(configured.status == 0);
  const auto generated = [&] {
    const Shown built = Shell("cmake --build build --target dense_text", folder.path());
    INFO(End(built));
    CHECK(built.status == 0);
    return ReadText(folder / "build/dense.kiln/dense.cc");
  };
  const auto lock = [&](const std::string& sizes) {
    WriteText(folder / "app/dense.lock.yaml",
              "lock: dense\nvariants:\n  - when: \"rows >= 4096\"\n    set: {" + sizes + "}\n");
  };
  const std::string alone = generated();
  REQUIRE(!alone.empty());
  lock("bn: 256");
  const std::string with = generated();
  CHECK(Contains(with, "rows >= 4096"));
  lock("bn: 512");
  const std::string changed = generated();
  CHECK(Contains(changed, "rows >= 4096"));
  CHECK(changed != with);
  fs::remove(folder / "app/dense.lock.yaml");
  CHECK(generated() == alone);
  lock("bn: none");  // a mistake in it is the build's error
  const Shown wrong = Shell("cmake --build build --target dense_text", folder.path());
  CHECK(wrong.status != 0);
  CHECK(Contains(wrong.out, "dense.lock.yaml:4:"));
}

TEST_CASE("a mixture of experts computes what plain sums give") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  fs::copy(fs::path(KILN_SOURCE_DIR) / "examples/moe", folder / "moe");
  const Shown configured = Configure(folder.path(), "moe");
  INFO(End(configured));
  REQUIRE(configured.status == 0);
  const Shown built = Shell("cmake --build build", folder.path());
  INFO(End(built));
  REQUIRE(built.status == 0);
  const Shown shown = Shell("./build/moe", folder.path());
  INFO(End(shown));
  CHECK(shown.status == 0);  // checks the numbers itself
  CHECK(Contains(shown.out, "600 tokens, 8 experts of which each token has 2; rows of each: "));
  CHECK(Contains(shown.out,
                 "a mistake: expert_up: group_metadata: the group sizes add up to more than the 4 "
                 "rows there are"));
}

TEST_CASE("kernels are optimised as far as sanitizers let a compiler do it in time") {
  REQUIRE(Installed().done().status == 0);
  const std::string calls = "--param=asan-instrumentation-with-call-threshold=0";
  const bool gnu = Contains(Shell(Quoted(KILN_CXX_COMPILER) + " --version").out, "Free Software");
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {"", "", "-O3"},
      {"set(CMAKE_CXX_FLAGS \"-g -fsanitize=address\")", "", gnu ? "-O1 " + calls : "-O1"},
      {"add_compile_options(-fsanitize=thread)", "", gnu ? "-O1 " + calls : "-O1"},
      {"", " -DCMAKE_CXX_FLAGS_RELEASE=-fsanitize=address,undefined", "-O0"},
      {"", " -DCMAKE_BUILD_TYPE=Debug", "-O2"},
      {"set(KILN_DEBUG_KERNELS ON)", " -DCMAKE_BUILD_TYPE=Debug", "-std=gnu++20"},
  };
  for (const auto& [line, option, optimize] : cases) {
    const Folder folder;
    fs::create_directory(folder / "app");
    WriteText(folder / "app/CMakeLists.txt",
              "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n" + line +
                  "\nfind_package(Kiln REQUIRED)\nkiln_add_kernel(softmax SPEC " + KILN_SOURCE_DIR +
                  "/examples/app/softmax.yaml)\n");
    const Shown shown = Shell("cmake -S app -B build -G Ninja -DCMAKE_BUILD_TYPE=Release" + option +
                                  " -DCMAKE_PREFIX_PATH=" + Quoted(Installed().prefix()) +
                                  " -DCMAKE_CXX_COMPILER=" + Quoted(KILN_CXX_COMPILER) +
                                  " && ninja -C build -t commands libsoftmax.a",
                              folder.path());
    INFO(line << option << "\n" << End(shown));
    CHECK(shown.status == 0);
    CHECK(Contains(shown.out, "-fwrapv " + optimize + " "));
  }
}

/// A program of two libraries, each with a kernel that multiplies by a number of its own; the
/// second is without the emulator.
Shown BuildTwo(const fs::path& folder, const std::string& function_of_second) {
  fs::create_directory(folder / "app");
  for (const auto& [name, factor] : {std::pair("one", "2"), std::pair("two", "3")}) {
    const std::string function = name == std::string("one") ? "scaled" : function_of_second;
    WriteText(folder / "app" / (name + std::string(".yaml")),
              "kernel: " + std::string(name) +
                  "\ninputs: {x: \"f32[n]\"}\noutputs: {o: \"f32[n]\"}\nbody: o = x * " +
                  std::string(factor) + "\n");
    WriteText(folder / "app" / (name + std::string("_caller.cc")),
              "#include <cstdio>\n#include \"" + function + ".h\"\nfloat " + name +
                  "(float x) {\n  float o = 0;\n  kiln::" + function +
                  "({&x, {1}}, {&o, {1}});\n  return o;\n}\nvoid emulate_" + name +
                  "() {\n  kiln::Options options;\n  options.mode = kiln::Mode::kEmulated;\n"
                  "  kiln::Context context(options);\n  float x = 1, o = 0;\n  std::puts(kiln::" +
                  function + "({&x, {1}}, {&o, {1}}, context).message);\n}\n");
  }
  WriteText(folder / "app/main.cc",
            "float one(float x), two(float x);\nvoid emulate_one(), emulate_two();\n"
            "int main() {\n  emulate_one();\n  emulate_two();\n"
            "  return one(5) == 10 && two(5) == 15 ? 0 : 1;\n}\n");
  WriteText(folder / "app/CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n"
            "find_package(Kiln REQUIRED)\n"
            "kiln_add_kernel(first SPEC one.yaml TARGETS NATIVE FUNCTION scaled)\n"
            "kiln_add_kernel(second SPEC two.yaml TARGETS NATIVE FUNCTION " +
                function_of_second +
                " DIRECT_ONLY)\n"
                "foreach(n first:one second:two)\n"
                "  string(REPLACE : \";\" n ${n})\n  list(GET n 0 kernel)\n  list(GET n 1 caller)\n"
                "  add_library(${caller} OBJECT ${caller}_caller.cc)\n"
                "  target_link_libraries(${caller} PUBLIC ${kernel})\nendforeach()\n"
                "add_executable(app main.cc)\ntarget_link_libraries(app one two)\n");
  const Shown configured = Configure(folder);
  return configured.status == 0 ? Shell("cmake --build build 2>&1", folder) : configured;
}

TEST_CASE("two kernels of one name do not pass for each other, and one may lack the emulator") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  const Shown built = BuildTwo(folder.path(), "tripled");
  INFO(End(built));
  CHECK(built.status == 0);
  const Shown ran = Shell("./build/app", folder.path());
  CHECK(ran.status == 0);
  CHECK(ran.out ==
        "\ntripled: [call] the kernel is compiled for Direct alone (KILN_DIRECT_ONLY)\n");
  const Shown clash = BuildTwo(folder.path(), "scaled");
  INFO(End(clash));
  CHECK(clash.status != 0);
  CHECK(Contains(clash.out, "multiple definition of `kiln_scaled'"));
}

TEST_CASE("a static library that has a kernel is installed with it, for other projects") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  fs::create_directory(folder / "library");
  fs::create_directory(folder / "app");
  WriteText(
      folder / "library/CMakeLists.txt",
      "cmake_minimum_required(VERSION 3.25)\nproject(sums LANGUAGES CXX)\n"
      "find_package(Kiln REQUIRED)\n"
      "kiln_add_kernel(add SPEC " KILN_SOURCE_DIR
      "/specs/add_2d.yaml TARGETS NATIVE)\n"
      "add_library(sums STATIC sums.cc)\ntarget_link_libraries(sums PRIVATE add)\n"
      "install(TARGETS sums add EXPORT sums)\n"
      "install(EXPORT sums DESTINATION lib/cmake/sums FILE sumsTargets.cmake)\n"
      "file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/sumsConfig.cmake\n"
      "\"find_package(Kiln)\ninclude(\\${CMAKE_CURRENT_LIST_DIR}/sumsTargets.cmake)\n\")\n"
      "install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sumsConfig.cmake DESTINATION lib/cmake/sums)\n");
  WriteText(folder / "library/sums.cc",
            "#include \"add.h\"\nfloat Sum(float x, float y) {\n  float z = 0;\n"
            "  kiln::add({&x, {1, 1}}, {&y, {1, 1}}, {&z, {1, 1}});\n  return z;\n}\n");
  WriteText(folder / "app/CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n"
            "find_package(sums REQUIRED)\nadd_executable(app main.cc)\n"
            "target_link_libraries(app PRIVATE sums)\n");
  WriteText(folder / "app/main.cc",
            "float Sum(float, float);\nint main() { return Sum(2, 3) == 5 ? 0 : 1; }\n");
  const Shown library = Configure(folder.path(), "library");
  INFO(End(library));
  REQUIRE(library.status == 0);
  const Shown installed =
      Shell("cmake --build build && cmake --install build --prefix sums && rm -r library build",
            folder.path());
  INFO(End(installed));
  REQUIRE(installed.status == 0);
  const Shown app = Configure(folder.path(), "app",
                              kQuickly + (" -Dsums_DIR=" + (folder / "sums/lib/cmake/sums")));
  INFO(End(app));
  REQUIRE(app.status == 0);
  const Shown built = Shell("cmake --build build && build/app", folder.path());
  INFO(End(built));
  CHECK(built.status == 0);
}

TEST_CASE("a project of C alone is told that kernels are C++") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  fs::create_directory(folder / "app");
  WriteText(folder / "app/CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES C)\n"
            "find_package(Kiln REQUIRED)\n");
  const Shown shown = Configure(folder.path());
  INFO(shown.err);
  CHECK(shown.status != 0);
  CHECK(Contains(shown.err, "kernels are C++, whatever calls them: project(app LANGUAGES C CXX)"));
}

/// The lines of a README that begin so.
std::string CommandsIn(const fs::path& readme, const std::string& begin) {
  std::istringstream lines(ReadText(readme));
  std::string commands;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("    " + begin, 0) == 0)
      commands += (commands.empty() ? "" : " && ") + line.substr(4);
  }
  return commands;
}

TEST_CASE("a project of `kiln init` builds and passes its tests by the commands of its README") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  const std::string environment =
      "command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache\n"
      "export PATH=" +
      Quoted(Installed().prefix() + "/bin") +
      ":\"$PATH\" CMAKE_PREFIX_PATH=" + Quoted(Installed().prefix()) +
      " CXX=" + Quoted(KILN_CXX_COMPILER) + " CXXFLAGS=" + Quoted(KILN_CXX_FLAGS) +
      " XDG_CACHE_HOME=" + Quoted(KILN_BUILD_DIR "/test-cache") + "\n";
  const Shown made = Shell(environment + "kiln init rows", folder.path());
  INFO(End(made));
  REQUIRE(made.status == 0);
  const std::string build = CommandsIn(folder / "rows/README.md", "cmake");
  const std::string test = CommandsIn(folder / "rows/README.md", "ctest");
  REQUIRE(!build.empty());
  REQUIRE(!test.empty());
  const Shown done = Shell(environment + build + " && " + test, folder.path() / "rows");
  INFO(End(done));
  CHECK(done.status == 0);
  CHECK(Contains(done.out, "100% tests passed, 0 tests failed out of 2"));
  const Shown kernel =
      Shell(environment + CommandsIn(folder / "rows/README.md", "kiln"), folder.path() / "rows");
  INFO(End(kernel));
  CHECK(kernel.status == 0);
  CHECK(Contains(ReadText(folder / "rows/.github/workflows/test.yml"), "          " + test + "\n"));
}

TEST_CASE("a project that has Kiln as a part of it builds and installs its own things alone") {
  const Folder folder;
  fs::create_directory(folder / "app");
  WriteText(folder / "app/CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n"
            "add_subdirectory(" KILN_SOURCE_DIR
            " kiln)\n"
            "kiln_add_kernel(softmax SPEC " KILN_SOURCE_DIR
            "/examples/app/softmax.yaml)\n"
            "if(CMAKE_BUILD_TYPE)\n  message(FATAL_ERROR \"${CMAKE_BUILD_TYPE}\")\n"
            "endif()\ninstall(FILES CMakeLists.txt DESTINATION share/app)\n");
  const Shown configured = Shell("cmake -S app -B build -G Ninja", folder.path());
  INFO(End(configured));
  REQUIRE(configured.status == 0);
  // Kernels, and what is compiled for them, are optimised without a build type, too.
  std::istringstream commands(
      Shell("ninja -C build -t commands softmax kiln_runtime", folder.path()).out);
  int tiles = 0, kernels = 0;
  for (std::string line; std::getline(commands, line);) {
    const bool tile = Contains(line, "/runtime/kiln/dot/"), kernel = Contains(line, "softmax.cc");
    if (!Contains(line, " -c ") || !(tile || kernel)) continue;
    INFO(line);
    CHECK(Contains(line, " -O3 "));
    CHECK(Contains(line, " -fno-fast-math "));
    (tile ? tiles : kernels) += 1;
  }
  CHECK(tiles > 1);
  CHECK(kernels == 1);
  const Shown all = Shell("ninja -C build -t query all", folder.path());
  CHECK(!Contains(all.out, "_test"));
  CHECK(!Contains(all.out, "kiln_generated"));
  const Shown script =
      Shell("cat build/cmake_install.cmake build/kiln/cmake_install.cmake", folder.path());
  CHECK(Contains(script.out, "share/app"));
  CHECK(!Contains(script.out, "libkiln_runtime"));
  CHECK(!Contains(script.out, "share/kiln"));
}

TEST_CASE("mistakes in CMake say what to write") {
  REQUIRE(Installed().done().status == 0);
  const std::pair<const char*, const char*> cases[] = {
      {"kiln_add_kernel(a SPEC nowhere.yaml)", "there is no spec"},
      {"kiln_add_kernel(a SPCE dense.yaml)", "kiln_add_kernel(NAME SPEC file"},
      {"kiln_add_kernel(a SPEC dense.yaml TARGETS AVX9)", "TARGETS are NATIVE, or some of"},
      {"kiln_add_kernel(a SPEC dense.yaml TARGETS NATIVE AVX2)", "TARGETS are NATIVE, or some of"},
      {"kiln_add_module(a)", "kiln_add_module(NAME kernel...) needs the name of a kernel"},
      {"kiln_add_module(a dense)",
       "kiln_add_module(a ...): there is no kernel dense; kiln_add_kernel has"},
      {"kiln_add_runner(a)", "kiln_add_runner(NAME kernel) needs the name of one kernel"},
      {"kiln_add_runner(a dense)",
       "kiln_add_runner(a ...): there is no kernel dense; kiln_add_kernel"},
      {"kiln_add_golden_test(a dense.yaml)", "kiln_add_golden_test(NAME SPEC file"},
  };
  for (const auto& [call, message] : cases) {
    const Folder folder;
    fs::create_directory(folder / "app");
    WriteText(folder / "app/dense.yaml", "");
    WriteText(folder / "app/CMakeLists.txt",
              "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n"
              "find_package(Kiln REQUIRED)\n" +
                  std::string(call) + "\n");
    const Shown shown = Configure(folder.path());
    INFO(call << "\n" << shown.err);
    CHECK(shown.status != 0);
    // CMake breaks lines where it likes.
    std::string words = shown.err;
    for (size_t at; (at = words.find("\n  ")) != std::string::npos;) words.replace(at, 3, " ");
    CHECK(Contains(words, message));
  }
}

}  // namespace
}  // namespace kiln::test
