// Replays what real Pallas kernels computed; see tests/pallas/README.md for the files.

#include "tests/catch.h"
#include "tests/interpret/testing.h"
#include "tests/records/record.h"

namespace kiln::testing {
namespace {

void Replay(const RecordCase& of, const Options& options) {
  const Record record = ReadRecord(of);
  const Outcome outcome = RunSource(record.source, record.inputs, options);
  CHECK(outcome.diagnostics == "");
  for (const auto& [name, want] : record.outputs) {
    INFO("output " << name);
    const auto got = outcome.outputs.find(name);
    if (got == outcome.outputs.end())
      FAIL_CHECK("is missing");
    else
      CHECK(CompareWithRecord(got->second, want, of.depth) == "");
  }
}

TEST_CASE("the interpreter computes what imported Pallas kernels computed") {
  static const std::vector<RecordCase> cases = ImportedCases();
  for (const RecordCase& of : cases) {
    DYNAMIC_SECTION(of.name) {
      Options options;
      options.check_grid = true;
      Replay(of, options);
    }
  }
}

TEST_CASE("the interpreter computes what Pallas computed") {
  static const std::vector<RecordCase> cases = RecordCases();
  for (const RecordCase& of : cases) {
    DYNAMIC_SECTION(of.name) {
      Options options;
      options.check = of.check;
      options.check_grid = true;
      SECTION("plain") {}
      SECTION("wide") { options.interpret.wide = true; }
      SECTION("shuffled") { options.interpret.shuffle = 7; }
      Replay(of, options);
    }
  }
}

}  // namespace
}  // namespace kiln::testing
