// Every kernel that there are records of, as C++: all engines give the same bits, and those are as
// close to what Pallas computed as the record allows.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>

#include "generator/native/call_diagnostic.h"
#include "tests/catch.h"
#include "tests/records/kernels.h"
#include "tests/records/one_nan.h"

namespace kiln::testing {
namespace {

const std::vector<RecordCase>& Cases() {
  static const std::vector<RecordCase> cases = RecordCases();
  return cases;
}

/// Nor does a NaN among the outputs look undefined where its bits say nothing.
void CheckWithOneNan(const Replay& replay, const Engine& engine, const CallAgain& call,
                     const CallResult& result) {
  bool any = false;
  CallResult there = WithOneNan(result, &any);
  if (!any || !engine.options.emulate) return;
  const auto again = [&](const CallOptions& how) { return WithOneNan(call(how)); };
  const auto diagnostic =
      ExamineCall(*replay.binding, replay.record.inputs.arrays, engine.options, again, &there,
                  {.by_arithmetic = false, .by_bf16_dots = false});
  CHECK((diagnostic ? diagnostic->message : "") == "");
}

/// Empty, after a failure, if the call failed.
std::map<std::string, Array> Run(const RecordCase& of, const Replay& replay, const Engine& engine) {
  INFO(of.name << ", " << engine.name);
  const auto call = [&](const CallOptions& how) {
    return CallKernel(*KernelOf(of.name), *replay.binding, replay.record.inputs.arrays, how);
  };
  CallResult result = call(engine.options);
  const auto diagnostic =
      ExamineCall(*replay.binding, replay.record.inputs.arrays, engine.options, call, &result);
  CHECK((diagnostic ? diagnostic->message : "") == "");
  CheckWithOneNan(replay, engine, call, result);
  if (result.code == 0) return std::move(result.outputs);
  FAIL_CHECK("error[" << result.rule << "]: " << result.message);
  return {};
}

void CheckRecord(const RecordCase& of) {
  const Replay replay(of);
  std::map<std::string, Array> first;
  for (const Engine& engine : Engines()) {
    const auto outputs = Run(of, replay, engine);
    if (outputs.empty()) continue;
    // What the record leaves out is undefined, and may be anything.
    for (const auto& [name, want] : replay.record.outputs) {
      INFO(of.name << ", " << engine.name << ", output " << name);
      if (first.empty())
        CHECK(CompareWithRecord(outputs.at(name), want, of.depth) == "");
      else
        CHECK(FirstDifference(outputs.at(name), first.at(name)) == "");
    }
    if (first.empty()) first = outputs;
  }
}

TEST_CASE("generated kernels compute what Pallas computed") {
  for (const RecordCase& of : Cases()) {
    if (!KernelOf(of.name)) continue;
    DYNAMIC_SECTION(of.name) { CheckRecord(of); }
  }
}

TEST_CASE("kernels imported from Pallas compute what Pallas computed") {
  static const std::vector<RecordCase> cases = ImportedCases();
  for (const RecordCase& of : cases) {
    if (!KernelOf(of.name)) continue;
    DYNAMIC_SECTION(of.name) { CheckRecord(of); }
  }
}

std::set<std::string> Lines(const std::string& path) {
  std::ifstream in(path);
  REQUIRE(in.good());
  std::set<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

/// With KILN_UPDATE set, kernels that the generator has learned leave the list. Nothing enters it.
TEST_CASE("the list of kernels that cannot be generated yet is true") {
  const std::string path = KILN_SOURCE_DIR "/tests/records/not_yet.txt";
  const std::set<std::string> listed = Lines(path);
  const std::set<std::string> refused = Lines(KILN_RECORD_KERNELS "/not_yet.txt");
  for (const std::string& line : refused) {
    INFO("the generator refuses a kernel that tests/records/not_yet.txt does not list");
    CHECK((listed.count(line) ? "" : line) == "");
  }
  std::cout << Cases().size() - refused.size() << " of " << Cases().size()
            << " records have generated kernels\n";
  if (std::getenv("KILN_UPDATE")) {
    std::ofstream out(path);
    for (const std::string& line : refused) {
      if (listed.count(line)) out << line << "\n";
    }
    return;
  }
  for (const std::string& line : listed) {
    INFO("to be taken out of tests/records/not_yet.txt (KILN_UPDATE=1 does it)");
    CHECK((refused.count(line) ? "" : line) == "");
  }
}

}  // namespace
}  // namespace kiln::testing
