// A kernel's results have the same bits with any number of cores, in any order, in both modes, by
// whatever compiler, optimised or not, and in any locale.
#include <map>
#include <set>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

std::string Hashes(const std::string& program, const std::string& before = "",
                   const std::string& locale = "") {
  const Shown shown = Shell(before + "'" + KILN_HASHES + "/" + program + "' " + locale);
  INFO(program << ": " << shown.err);
  REQUIRE(shown.status == 0);
  return shown.out;
}

TEST_CASE("the same bits with 1 to 16 cores, in both modes, in any order") {
  std::map<std::string, std::set<std::string>> hashes;
  std::map<std::string, std::string> settings;
  std::istringstream lines(Hashes("promises_hashes"));
  std::string diagnostic;
  std::getline(lines, diagnostic);
  CHECK(Contains(diagnostic, "which has 9.8 KiB"));
  for (std::string name, hash, setting; lines >> name >> hash && std::getline(lines, setting);) {
    hashes[name].insert(hash);
    settings[name + hash] += setting + "; ";
  }
  CHECK(hashes.size() == 7);
  for (const auto& [name, all] : hashes) {
    std::string differ;
    for (const std::string& hash : all) differ += hash + settings[name + hash] + "\n";
    INFO(name << "\n" << differ);
    CHECK(all.size() == 1);
  }
}

TEST_CASE("the same bits by whatever compiler, optimised or not") {
  const std::string here = Hashes("promises_hashes");
  std::istringstream others(KILN_OTHERS);
  for (std::string other; others >> other;) {
    INFO(other);
    CHECK(Hashes(other) == here);
  }
}

TEST_CASE("the same bits for a caller that rounds down and has no subnormal numbers") {
  CHECK(Hashes("promises_hashes", "", "flush") == Hashes("promises_hashes"));
}

/// A locale with a decimal comma, made for this test; empty: it cannot be made here.
class CommaLocale {
 public:
  CommaLocale() {
    const Shown made =
        Shell("localedef --no-archive -i de_DE -f UTF-8 ./de_DE.UTF-8", folder_.path());
    exists_ = fs::exists(folder_.path() / "de_DE.UTF-8/LC_NUMERIC");
    if (!exists_) WARN("no locale with a decimal comma to test in: " << made.err);
  }
  bool exists() const { return exists_; }
  std::string before() const {
    return "export LOCPATH='" + folder_.path().string() + "' LC_ALL=de_DE.UTF-8\n";
  }

 private:
  Folder folder_;
  bool exists_ = false;
};

TEST_CASE("the same bits and texts in a locale with a decimal comma") {
  const CommaLocale locale;
  if (!locale.exists()) return;
  REQUIRE(Shell(locale.before() + "env printf %.1f 0,5").out == "0,5");
  CHECK(Hashes("promises_hashes", locale.before(), "de_DE.UTF-8") == Hashes("promises_hashes"));
  for (const char* command :
       {"kiln generate tests/pallas/specs/unary_smooth.yaml --stdout",
        "kiln check specs/sum_rows.yaml m=5 n=7",
        "kiln run specs/sum_rows.yaml x=random:1 m=5 n=7 | sed 's/ in .* ms//'",
        "kiln predict specs/matmul.yaml m=512 n=512 k=512"}) {
    INFO(command);
    const Shown plain = Shell(command);
    CHECK(plain.status == 0);
    CHECK(plain.out.size() > 10);
    CHECK(Shell(locale.before() + command).out == plain.out);
  }
}

}  // namespace
}  // namespace kiln::test
