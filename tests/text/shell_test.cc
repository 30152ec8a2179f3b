// Words of commands as a shell reads them back.
#include "generator/text/shell.h"

#include "tests/catch.h"

namespace kiln {
namespace {

TEST_CASE("a plain word stays as it is; any other is quoted") {
  for (const char* plain :
       {"specs/matmul.yaml:matmul_f32", "bm=32", "x=random:1", "--set", "a,b+c"})
    CHECK(ShellWord(plain) == plain);
  CHECK(ShellWord("") == "''");
  CHECK(ShellWord("a b") == "'a b'");
  CHECK(ShellWord("$(rm)") == "'$(rm)'");
  CHECK(ShellWord("it's") == "'it'\\''s'");
}

}  // namespace
}  // namespace kiln
