#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/random/dice.h"
#include "tests/random/judge.h"

/// Faults that are put into specs that work.
namespace kiln::soak {

/// A kind of fault, and the rules that it may be named by.
struct Planter {
  const char* kind;
  std::vector<std::string> rules;
  /// Changes the draft so that it is wrong at the sizes of its call; `of` is what it was before.
  /// False: the draft has no place for it.
  bool (*plant)(Draft& draft, const Case& of, Dice& dice);
  /// An entry of the coverage report that a draft has to use to have a place for it.
  const char* needs = "";
};

const std::vector<Planter>& Planters();

/// The kind of fault that a number asks for: its place among the planters.
size_t FaultOf(uint64_t number);

/// The draft with a fault of that kind; with `any`, else of the next kind that it has a place for.
/// Nullopt if it has no place, or is not valid without a fault.
std::optional<Draft> WithFault(const Draft& draft, uint64_t number, bool any);

/// Whether checker, interpreter and emulator find a fault: whoever speaks gives one of its rules,
/// and the emulator speaks if the interpreter does. `kernel` has no functions if the fault leaves
/// no kernel.
Verdict JudgeFault(const Draft& draft, const Case& of, const KernelInterface& kernel);

}  // namespace kiln::soak
