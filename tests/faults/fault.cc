#include "tests/faults/fault.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "generator/check/check_spec.h"
#include "generator/spec/spec.h"

namespace kiln::testing {
namespace {

const RecordCase& CaseOf(const std::string& name) {
  static const std::vector<RecordCase> cases = RecordCases();
  const auto found = std::find_if(cases.begin(), cases.end(),
                                  [&](const RecordCase& of) { return of.name == name; });
  if (found == cases.end()) throw std::runtime_error("there is no record " + name);
  return *found;
}

std::vector<Fault> AllFaults() {
  std::vector<Fault> faults;
  for (const auto* kinds : {&IndexFaults(), &ValueFaults(), &MachineFaults()}) {
    for (const FaultKind& kind : *kinds) {
      for (const FaultKind::Place& in : kind.places)
        faults.push_back({kind.name, in.record, in.edits, in.rule ? in.rule : kind.rule});
    }
  }
  return faults;
}

std::string Edited(const Fault& fault, std::string text) {
  for (const auto& [from, to] : fault.edits) {
    const size_t at = text.find(from);
    if (at == std::string::npos) {
      throw std::runtime_error(std::string(fault.kind) + " in " + fault.record +
                               ": the spec has no text \"" + from + "\"");
    }
    text.replace(at, std::string(from).size(), to);
  }
  return text;
}

}  // namespace

const std::vector<Fault>& Faults() {
  static const std::vector<Fault> faults = AllFaults();
  return faults;
}

FaultyKernel ReadFault(const Fault& fault) {
  const RecordCase& of = CaseOf(fault.record);
  std::ifstream in(KILN_SOURCE_DIR "/" + of.spec);
  std::stringstream text;
  text << in.rdbuf();
  FaultyKernel faulty;
  faulty.source = std::make_shared<const Source>(of.spec, Edited(fault, text.str()));
  const auto spec = ParseSpec(faulty.source, faulty.found);
  if (!spec) return faulty;
  CheckOptions check = of.check;
  check.sizes_follow = true;
  check.ignore_variants = true;
  faulty.kernel = CheckSpec(*spec, check, faulty.found);
  return faulty;
}

std::string KernelName(size_t fault) { return "fault_" + std::to_string(fault); }

}  // namespace kiln::testing
