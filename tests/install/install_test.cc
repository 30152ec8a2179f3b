// What `cmake --install` leaves is enough: the tool compiles kernels, and pkg-config finds the
// runtime.
#include <string>
#include <utility>

#include "runtime/kiln/core/version.h"
#include "tests/catch.h"
#include "tests/install/installation.h"

namespace kiln::test {
namespace {

TEST_CASE("an installation holds the tool, the runtime, and what finds them") {
  INFO(Installed().done().err);
  REQUIRE(Installed().done().status == 0);
  const fs::path prefix = Installed().prefix();
  CHECK(fs::exists(prefix / "bin/kiln"));
  CHECK(fs::exists(prefix / "include/kiln/kiln.h"));
  CHECK(fs::exists(prefix / "share/kiln/machines/v5e.yaml"));
  for (const auto& [file, command] :
       {std::pair("share/man/man1/kiln.1", "help --man"),
        std::pair("share/bash-completion/completions/kiln", "completion bash"),
        std::pair("share/zsh/site-functions/_kiln", "completion zsh"),
        std::pair("share/fish/vendor_completions.d/kiln.fish", "completion fish")}) {
    INFO(file);
    CHECK(!ReadText(prefix / file).empty());
    CHECK(ReadText(prefix / file) == Kiln(command).out);
  }
  for (const char* file : {"KilnConfig.cmake", "KilnConfigVersion.cmake", "Kiln.cmake"}) {
    CHECK(fs::exists(prefix / KILN_LIBDIR / "cmake/Kiln" / file));
  }
}

TEST_CASE("all C++ names of the runtime are in the namespace of its version") {
  REQUIRE(Installed().done().status == 0);
  const Shown names = Shell("nm -C --defined-only " + Quoted(Installed().prefix() + "/" +
                                                             KILN_LIBDIR + "/libkiln_runtime.a"));
  REQUIRE(names.status == 0);
  const std::string version = "kiln::v" + std::to_string(KILN_VERSION_MAJOR) + "_" +
                              std::to_string(KILN_VERSION_MINOR) + "::";
  CHECK(names.out.find(version + "Context::") != std::string::npos);
  std::string others;
  for (size_t at = 0; (at = names.out.find("kiln::", at)) != std::string::npos; ++at)
    if (names.out.compare(at, version.size(), version) != 0)
      others += names.out.substr(at, 60) + "\n";
  CHECK(others == "");
}

TEST_CASE("pkg-config finds the runtime in a folder with a space in its name") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  fs::create_directory_symlink(Installed().prefix(), folder / "a prefix");
  WriteText(folder / "main.cc",
            "#include \"kiln/kiln.h\"\nint main() { return "
            "kiln::Context().record().operands.size(); }\n");
  const std::string package = Quoted(folder / "a prefix" + ("/" KILN_LIBDIR "/pkgconfig"));
  const Shown built =
      Shell("export PKG_CONFIG_PATH=" + package +
                "\neval c++ -std=c++20 main.cc $(pkg-config --cflags --libs kiln-runtime) " +
                Quoted(KILN_CXX_FLAGS) + " -o main && ./main",
            folder.path());
  INFO(End(built));
  CHECK(built.status == 0);
}

TEST_CASE("pkg-config finds the runtime") {
  REQUIRE(Installed().done().status == 0);
  if (Shell("command -v pkg-config").status != 0) return;
  const Folder folder;
  WriteText(folder / "main.c",
            "#include <kiln/c.h>\n"
            "int main(void) {\n"
            "  kiln_context* context = kiln_context_new(0);\n"
            "  kiln_context_free(context);\n"
            "  return context == 0;\n"
            "}\n");
  const Shown shown = Shell(
      "export PKG_CONFIG_PATH=" + Quoted(Installed().prefix() + "/" + KILN_LIBDIR + "/pkgconfig") +
          "\nflags() { pkg-config $1 kiln-runtime; }\n"
          "cc -Wall -Wextra -Wpedantic -Werror -c main.c $(flags --cflags) &&\n"
          "c++ " KILN_CXX_FLAGS " main.o -o main $(flags --libs) && ./main",
      folder.path());
  INFO(shown.err);
  CHECK(shown.status == 0);
}

TEST_CASE(
    "machines that store the upper bytes first are refused, by headers and when configuring") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  WriteText(folder / "main.cc", "#include \"kiln/kiln.h\"\n");
  const std::string compile = Quoted(KILN_CXX_COMPILER) + " -std=c++20 -fsyntax-only -w -I" +
                              Quoted(Installed().prefix() + "/include") + " main.cc";
  CHECK(Shell(compile, folder.path()).status == 0);
  const Shown refused =
      Shell(compile + " -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__", folder.path());
  CHECK(refused.status != 0);
  CHECK(Contains(refused.err, "#error \"Kiln is for little-endian machines\""));

  for (const char* way :
       {"find_package(Kiln REQUIRED)", "add_subdirectory(" KILN_SOURCE_DIR " kiln)"}) {
    fs::remove_all(folder / "build");
    fs::create_directories(folder / "app");
    WriteText(folder / "app/CMakeLists.txt",
              "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n"
              "set(CMAKE_CXX_BYTE_ORDER BIG_ENDIAN)\n" +
                  std::string(way) + "\n");
    const Shown configured = Configure(folder.path());
    INFO(way << "\n" << configured.err);
    CHECK(configured.status != 0);
    CHECK(Contains(configured.err, "Kiln is for little-endian machines, and "));
  }
}

TEST_CASE("the installed tool compiles kernels with the installed runtime") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  const std::string run = "HOME=" + Quoted(folder.path().string()) +
                          " XDG_CACHE_HOME= " + Quoted(Installed().prefix() + "/bin/kiln") +
                          " run specs/add_2d.yaml x=random:1 y=random:2 m=100 n=50 --mode=direct";
  const Shown first = Shell(run + " --compare");
  INFO(first.err);
  CHECK(first.status == 0);
  CHECK(Contains(first.out, "equal bit for bit"));
  CHECK(Contains(first.err, "compiling add_2d …"));
  const Shown commands = Shell("cat .cache/kiln/*/command", folder.path());
  CHECK(Contains(commands.out, "-I" + Installed().prefix() + "/include\n"));

  const Shown second = Shell(run);
  CHECK(second.status == 0);
  CHECK(second.err.empty());
}

/// Compiles a file of the folder against the installation.
void Compile(const fs::path& folder, const std::string& file, const std::string& options) {
  const Shown shown =
      Shell(Quoted(KILN_CXX_COMPILER) +
                " " KILN_CXX_FLAGS " -std=c++20 -w -ffp-contract=off -fwrapv -I. -I " +
                Quoted(Installed().prefix() + "/include") + " " + options + " -c " + file,
            folder);
  INFO(End(shown));
  REQUIRE(shown.status == 0);
}

TEST_CASE("programs and kernels have a mode of the standard library of their own") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  REQUIRE(Shell("kiln generate tests/pallas/specs/double_buffer.yaml -o " + Quoted(folder.path()) +
                " && kiln generate specs/gmm.yaml:gmm_f32 -o " + Quoted(folder.path()))
              .status == 0);
  WriteText(folder / "kernels.cc", "#include \"double_buffer.cc\"\n#include \"gmm_f32.cc\"\n");
  fs::copy(fs::path(KILN_SOURCE_DIR) / "tests/install/modes/main.cc", folder.path());
  const std::string target = " -march=haswell -maes -DHWY_COMPILE_ONLY_STATIC ";
  const std::string debug = " -D_GLIBCXX_DEBUG -D_GLIBCXX_DEBUG_PEDANTIC ";
  Compile(folder.path(), "kernels.cc", target + "-o plain_kernels.o");
  Compile(folder.path(), "kernels.cc", target + debug + "-o debug_kernels.o");
  Compile(folder.path(), "main.cc", debug + "-o debug_main.o");
  Compile(folder.path(), "main.cc", "-D_GLIBCXX_USE_CXX11_ABI=0 -o old_main.o");
  for (const char* objects : {"debug_main.o debug_kernels.o", "debug_main.o plain_kernels.o",
                              "old_main.o plain_kernels.o", "old_main.o debug_kernels.o"}) {
    const Shown shown =
        Shell(Quoted(KILN_CXX_COMPILER) + " " KILN_CXX_FLAGS " " + objects + " " +
                  Quoted(Installed().prefix() + "/" + KILN_LIBDIR + "/libkiln_runtime.a") +
                  " -lhwy -lpthread -o main && ./main",
              folder.path());
    INFO(objects << "\n" << End(shown));
    CHECK(shown.status == 0);
    CHECK(shown.out == "all is right\n");
  }
}

TEST_CASE("kernels with host code compile without exceptions and without types at run time") {
  REQUIRE(Installed().done().status == 0);
  const Folder folder;
  REQUIRE(Shell("kiln generate specs/gmm.yaml:gmm_f32 -o " + Quoted(folder.path())).status == 0);
  Compile(folder.path(), "gmm_f32.cc",
          "-march=haswell -maes -DHWY_COMPILE_ONLY_STATIC -fno-exceptions -fno-rtti -fsyntax-only");
}

}  // namespace
}  // namespace kiln::test
