#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/native/interface.h"
#include "tests/records/record.h"

/// The generated kernels of all records, linked.
namespace kiln::testing {

/// Null: the generator cannot make it yet.
const KernelInterface* KernelOf(const std::string& record);

/// A way to run a kernel; all of them give the same bits.
struct Engine {
  const char* name;
  CallOptions options;
};

/// The first is Direct on one core.
std::vector<Engine> Engines();

/// A record that has a kernel, with everything to call it.
struct Replay {
  explicit Replay(const RecordCase& of) : Replay(of, ReadRecord(of)) {}
  /// With other inputs. Throws what the checker finds.
  Replay(const RecordCase& of, Record changed);

  Record record;
  std::unique_ptr<Kernel> variant;  // if one was chosen
  std::optional<Binding> binding;
};

/// Where two arrays differ first, with both values; empty: nowhere.
std::string FirstDifference(const Array& got, const Array& want);

}  // namespace kiln::testing
