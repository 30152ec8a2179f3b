#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "generator/ir/kernel.h"
#include "tests/records/record.h"

/// Mistakes that are put into kernels that work, to see who finds them.
namespace kiln::testing {

/// A kind of mistake, the rule that everyone is to give for it, and the records whose specs it is
/// put into, at least five. `found.txt` says who finds them where.
struct FaultKind {
  struct Place {
    const char* record;
    std::vector<std::pair<const char*, const char*>> edits;  // each text, what replaces its first
    const char* rule = nullptr;                              // another one than the kind's
  };
  const char* name;
  const char* rule;
  std::vector<Place> places;
};
const std::vector<FaultKind>& IndexFaults();
const std::vector<FaultKind>& ValueFaults();
const std::vector<FaultKind>& MachineFaults();

/// One mistake in one spec.
struct Fault {
  const char* kind;
  const char* record;
  std::vector<std::pair<const char*, const char*>> edits;
  const char* rule;
};
/// Of all kinds; the index is the number of the generated kernel.
const std::vector<Fault>& Faults();

/// The text of a fault's spec, and its kernel as it is when sizes are known: what the text alone
/// shows to be wrong is not asked. Null, and diagnostics, if it has no kernel. Throws when an edit
/// does not apply.
struct FaultyKernel {
  std::shared_ptr<const Source> source;
  std::unique_ptr<Kernel> kernel;
  Diagnostics found;
};
FaultyKernel ReadFault(const Fault& fault);

/// "fault_12"
std::string KernelName(size_t fault);

}  // namespace kiln::testing
