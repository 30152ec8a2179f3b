#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What a stranger can hand to the program, a target each: bytes in, and whatever they are, no
/// crash, no hang and no heap of memory. libFuzzer makes bytes (libfuzzer/), `fuzz_test` replays
/// those that taught something.
namespace kiln::fuzz {

struct Target {
  const char* name;
  int longest;   // bytes of an input: what is longer says nothing new and takes its time
  bool is_text;  // of words and lines
  /// Whether the program takes the input for right, to the end of what there is to do with it.
  /// Throws when the program breaks a promise; may do worse, which is then found by a sanitizer.
  bool (*run)(std::string_view input);
  /// Pieces of the grammar that no mutation of bytes would hit upon.
  std::vector<std::string> (*words)();
  /// Inputs to begin with, from the repository's own files.
  std::vector<std::string> (*seeds)();
};

/// In the order of `./dev fuzz all`.
const std::vector<Target>& Targets();
/// Null when there is none of that name.
const Target* FindTarget(std::string_view name);

// A file each.
Target SpecTarget();
Target BodyTarget();
Target LockTarget();
Target MachineTarget();
Target NpyTarget();
Target GoldenTarget();
Target CommandTarget();

}  // namespace kiln::fuzz
