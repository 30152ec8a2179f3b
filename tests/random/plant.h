#pragma once

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
};

const std::vector<Planter>& Planters();

/// The draft with a fault, the kind of which its number decides if it has a place for that, else
/// one after it. Without any fault if the draft is not valid.
Draft WithFault(const Draft& draft, uint64_t number);

/// Whether checker, interpreter and emulator find a fault: whoever speaks gives one of its rules,
/// and the emulator speaks if the interpreter does. `kernel` has no functions if the fault leaves
/// no kernel.
Verdict JudgeFault(const Draft& draft, const Case& of, const KernelInterface& kernel);

}  // namespace kiln::soak
