#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/random/batch.h"
#include "tests/random/coverage.h"
#include "tests/random/judge.h"

/// Many specs from drafts to verdicts.
namespace kiln::soak {

/// What became of one spec.
struct Result {
  uint64_t number = 0;
  Verdict verdict;
  std::set<std::string> used;
};

/// One of a batch.
struct Job {
  uint64_t number = 0;
  Draft draft;
};

/// Which of the specs are compiled and run: all; those whose text is another under the fault that
/// KILN_MUTANT plants (tests/mutants), where the others pass; none, to see what they use.
enum class Which { kAll, kChanged, kNone };

/// Generates, compiles in one unit and runs all of them, each in a process of its own. The results
/// are in the order of the jobs.
std::vector<Result> RunBatch(const std::vector<Job>& jobs, const std::string& folder,
                             const Toolchain& tools, const Flavour& flavour,
                             Which which = Which::kAll);

/// The draft of that number; `faulty`: with a fault, if it has a place for one.
Draft DraftOf(uint64_t number, bool faulty);

/// Kinds that are no failure of the program: the generator of specs has made what is not valid.
bool IsRefusal(const std::string& kind);

/// Results as text, and back: they come from another process.
std::string ToText(const std::vector<Result>& results);
std::vector<Result> ToResults(const std::string& text);

}  // namespace kiln::soak
