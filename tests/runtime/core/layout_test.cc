// What the library and its users both compile has one layout, however either of them asks for the
// standard library: nothing shows when they differ, and memory is overwritten.
#include <map>

#include "kiln/core/version.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

/// Of every class of the runtime's headers, "size=64 align=8"; as GCC prints it.
std::map<std::string, std::string> Layouts(const std::string& macros) {
  const Folder folder;
  const std::string runtime = std::string(KILN_SOURCE_DIR) + "/runtime";
  std::string all;
  for (const auto& entry : fs::recursive_directory_iterator(runtime + "/kiln")) {
    const std::string name = entry.path().lexically_relative(runtime);
    if (entry.path().extension() == ".h" && !name.ends_with("-inl.h"))
      all += "#include \"" + name + "\"\n";
  }
  WriteText(folder / "all.cc", all);
  const Shown shown = Shell("g++ -std=c++20 -fsyntax-only -fdump-lang-class=classes -I '" +
                                runtime + "' " + macros + " all.cc",
                            folder.path());
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  std::map<std::string, std::string> layouts;
  std::istringstream text(ReadText(folder / "classes"));
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("Class kiln::")) continue;
    std::string& layout = layouts[line];
    std::getline(text, layout);
  }
  return layouts;
}

/// "kiln::v0_1::Context"
std::string InVersion(const std::string& name) {
  return "kiln::v" + std::to_string(KILN_VERSION_MAJOR) + "_" + std::to_string(KILN_VERSION_MINOR) +
         "::" + name;
}

TEST_CASE("every class of the headers is in the namespace of their version") {
  if (Shell("command -v g++").status != 0) return;
  for (const auto& [name, layout] : Layouts("")) {
    INFO(name);
    CHECK(name.starts_with("Class " + InVersion("")));
  }
}

TEST_CASE("the layout of no class depends on the mode of the standard library") {
  if (Shell("command -v g++").status != 0) return;
  const auto plain = Layouts("");
  CHECK(plain.count("Class " + InVersion("Context")) == 1);
  CHECK(plain.count("Class " + InVersion("GroupSteps")) == 1);
  for (const char* macros :
       {"-D_GLIBCXX_DEBUG -D_GLIBCXX_DEBUG_PEDANTIC", "-D_GLIBCXX_USE_CXX11_ABI=0"}) {
    for (const auto& [name, layout] : Layouts(macros)) {
      INFO(macros << " " << name);
      CHECK(plain.at(name) == layout);
    }
  }
}

}  // namespace
}  // namespace kiln::test
