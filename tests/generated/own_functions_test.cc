// Two kernels of one name and different meaning may come into one program, in two shared libraries.
// What a text defines for itself is its object's alone, or a linker takes one's for the other's.
#include <cctype>
#include <regex>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

TEST_CASE("a linker sees no function that a text defines for itself") {
  const Shown names = Shell("nm --defined-only " KILN_GENERATED_ARCHIVE);
  REQUIRE(names.status == 0);
  // A kind, lower case where the object alone has it, and a name, which begins with its namespaces.
  const std::regex own(" ([A-Za-z]) (_Z[A-Z]*N4kiln[0-9]+[a-z][a-z0-9_]*_text[A-Z0-9_]*[a-zA-Z]*)");
  int local = 0;
  std::string shared;
  for (std::sregex_iterator at(names.out.begin(), names.out.end(), own), end; at != end; ++at) {
    const char kind = (*at)[1].str()[0];
    if (std::islower(static_cast<unsigned char>(kind)) && kind != 'u')
      ++local;
    else
      shared += (*at)[2].str() + "\n";
  }
  CHECK(shared == "");
  CHECK(local > 100);  // each kernel has its step and its grids
}

}  // namespace
}  // namespace kiln::test
