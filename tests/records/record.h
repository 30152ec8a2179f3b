#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "generator/bind/bind.h"

/// What real Pallas kernels computed; tests/pallas/README.md describes the files. Errors in them
/// are exceptions, as the build reads them too.
namespace kiln::testing {

/// The kernel that a record is of.
struct RecordCase {
  std::filesystem::path folder;
  std::string name;  // the folder's
  std::string spec;  // relative to the repository
  CheckOptions check;
  double depth = 1;

  /// The same for all cases of one kernel.
  std::string Key() const;
};

/// With what it was called, and what came out.
struct Record {
  std::shared_ptr<const Source> source;
  std::unique_ptr<Kernel> kernel;  // with its variants
  Inputs inputs;
  std::map<std::string, Array> outputs;  // without those that a kernel leaves undefined
};

/// By name: those of tests/pallas, whose specs are written by hand.
std::vector<RecordCase> RecordCases();

/// By name, `imported_` in front: those of tests/import, whose specs are read from Pallas kernels.
std::vector<RecordCase> ImportedCases();

/// Throws what the checker finds.
std::unique_ptr<Kernel> CheckRecord(const RecordCase& of, std::shared_ptr<const Source>* source);
Record ReadRecord(const RecordCase& of);

/// Empty, or the worst element and by how much it is off.
std::string CompareWithRecord(const Array& got, const Array& want, double depth);

}  // namespace kiln::testing
