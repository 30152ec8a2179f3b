#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/cli/run/run.h"
#include "generator/native/compare.h"

namespace kiln::cli {

/// One entry of a spec's `golden:` list, for one of its kernels: bound, and ready for any engine.
struct GoldenEntry {
  std::string name;                // of the kernel: golden files are called by it
  std::vector<std::string> words;  // as on the command line: "m=200", "x=random:1"
  Loaded loaded;                   // with the specialisation that the sizes select
  std::unique_ptr<Kernel> whole;   // with all its variants
  Inputs inputs;
  std::optional<Binding> binding;  // none: something was found
};

/// The entry's sizes as the command line's words, and a random array for every other argument.
std::vector<std::string> GoldenWords(const GoldenSpec& golden, const Kernel& kernel);

/// All entries of the kernels that `options` names, in order. Nullopt after an error, which is
/// printed; then *status is the exit status.
std::optional<std::vector<std::unique_ptr<GoldenEntry>>> GoldenEntries(const SpecOptions& options,
                                                                       int* status);

// golden_file.cc

/// What was recorded of one output: its array, or a hash of it.
struct GoldenOutput {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  Tolerance tolerance;
  std::optional<Array> array;
  std::string sha256;
};

/// A recorded entry.
struct GoldenRecord {
  std::vector<std::string> words;
  std::map<std::string, std::string> inputs;  // hashes: what was computed from
  std::map<std::string, GoldenOutput> outputs;
};

std::string HashOf(const Array& array);

/// Writes FOLDER/NAME.json, and the arrays beside it. False after an error, which is printed.
bool WriteGolden(const std::string& folder, const std::string& name,
                 const std::vector<GoldenRecord>& records);
/// Nullopt after an error, which is printed.
std::optional<std::vector<GoldenRecord>> ReadGolden(const std::string& folder,
                                                    const std::string& name);

}  // namespace kiln::cli
