// Every input that once taught a fuzzer something new, and every one that once found a fault.
#include "tests/catch.h"
#include "tests/fuzz/archive.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

namespace kiln::fuzz {
namespace {

TEST_CASE("inputs of the fuzzers' corpora keep every promise") {
  for (const Target& target : Targets()) {
    DYNAMIC_SECTION(target.name) {
      const auto inputs = ReadInputs(CorpusFile(target.name));
      CHECK(!inputs.empty());
      for (size_t i = 0; i < inputs.size(); ++i) {
        INFO("input " << i << ":\n" << inputs[i]);
        REQUIRE_NOTHROW(target.run(inputs[i]));
      }
    }
  }
}

// A fuzzer whose seeds are refused looks at error messages alone.
TEST_CASE("half of the seeds of each target are right, or more") {
  for (const Target& target : Targets()) {
    DYNAMIC_SECTION(target.name) {
      int right = 0, all = 0;
      for (const std::string& seed : target.seeds()) {
        right += target.run(seed);
        ++all;
      }
      INFO(right << " of " << all);
      CHECK(right * 2 >= all);
    }
  }
}

TEST_CASE("what fuzzers once found stays mended") {
  for (const Target& target : Targets()) {
    if (!fs::exists(RegressionFolder(target.name))) continue;
    DYNAMIC_SECTION(target.name) {
      for (const auto& entry : fs::directory_iterator(RegressionFolder(target.name))) {
        INFO(entry.path().string());
        CHECK_NOTHROW(target.run(ReadText(entry.path())));
      }
    }
  }
}

TEST_CASE("regressions belong to targets") {
  if (!fs::exists(fs::path(RegressionFolder("")).parent_path())) return;
  for (const auto& entry : fs::directory_iterator(fs::path(RegressionFolder("")).parent_path()))
    CHECK(FindTarget(entry.path().filename().string()) != nullptr);
}

}  // namespace
}  // namespace kiln::fuzz
