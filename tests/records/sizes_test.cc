// Records at other sizes: dimensions cut short, down to nothing, against the interpreter.
#include <iostream>
#include <random>

#include "generator/check/grid/check_grid.h"
#include "generator/interpret/interpret.h"
#include "generator/native/compare.h"
#include "tests/catch.h"
#include "tests/records/kernels.h"

namespace kiln::testing {
namespace {

/// The array's elements, from the start and over again, in another shape.
Array Reshaped(const Array& array, const std::vector<int64_t>& shape) {
  Array result = Array::Zeros(array.dtype, shape);
  const int64_t size = array.size();
  for (int64_t i = 0; i < result.size() && size > 0; ++i) {
    if (IsFloat(array.dtype))
      result.SetFloat(i, array.GetFloat(i % size));
    else
      result.SetInt(i, array.GetInt(i % size));
  }
  return result;
}

/// The sizes of the record, each cut with a chance of one half.
std::map<std::string, int64_t> CutSizes(const Binding& binding, std::mt19937& random) {
  std::map<std::string, int64_t> sizes;
  for (size_t d = 0; d < binding.dims.size(); ++d) {
    const Dim& dim = binding.kernel->dims[d];
    if (!binding.dims[d] || dim.fixed) continue;
    int64_t& size = sizes[dim.name];
    size = *binding.dims[d];
    if (random() % 2 == 0) continue;
    const int64_t steps = size / dim.multiple_of + 1;
    size = std::max<int64_t>(
        dim.min, static_cast<int64_t>(random() % static_cast<uint32_t>(steps)) * dim.multiple_of);
  }
  return sizes;
}

/// False: the spec does not allow these sizes.
bool CutInputs(Record& record, const Binding& binding, std::mt19937& random) {
  Inputs wanted;
  wanted.dims = CutSizes(binding, random);
  Diagnostics found;
  const auto sizes = Bind(*record.kernel, wanted, /*partial=*/true, found);
  if (!sizes || found.HasErrors()) return false;
  for (auto& [name, array] : record.inputs.arrays) {
    const auto ref = static_cast<size_t>(record.kernel->FindRef(name));
    const std::vector<int64_t>& shape = sizes->arrays[ref];
    if (std::count(shape.begin(), shape.end(), -1)) return false;
    array = Reshaped(array, shape);
  }
  for (auto& [name, value] : record.inputs.dims) {
    const auto size = wanted.dims.find(name);
    if (size != wanted.dims.end()) value = size->second;
  }
  return true;
}

std::string Sizes(const Binding& binding) {
  std::string text;
  for (size_t d = 0; d < binding.dims.size(); ++d)
    text += binding.kernel->dims[d].name + "=" + std::to_string(binding.dims[d].value_or(-1)) + " ";
  return text;
}

/// False: it cannot be called like that, or leaves something undefined.
bool CheckSizes(const RecordCase& of, Record record, const Binding& original, uint32_t seed) {
  std::mt19937 random(seed);
  if (!CutInputs(record, original, random)) return false;
  std::unique_ptr<Replay> replay;
  try {
    replay = std::make_unique<Replay>(of, std::move(record));
  } catch (const std::exception&) {
    return false;
  }
  Diagnostics found;
  CheckGrid(*replay->binding, {}, found);
  if (found.HasErrors()) return false;
  const auto& arrays = replay->record.inputs.arrays;
  const auto want = Interpret(*replay->binding, arrays, {}, found).outputs;
  if (found.HasErrors()) return false;

  INFO(of.name << ", seed " << seed << ": " << Sizes(*replay->binding));
  std::map<std::string, Array> first;
  for (const Engine& engine : Engines()) {
    INFO(engine.name);
    const CallResult got = CallKernel(*KernelOf(of.name), *replay->binding, arrays, engine.options);
    if (got.code != 0) {
      FAIL_CHECK("error[" << got.rule << "]: " << got.message);
      continue;
    }
    for (const auto& [name, array] : got.outputs) {
      INFO("output " << name);
      const Kernel& kernel = *replay->binding->kernel;
      const Ref& ref = kernel.refs[static_cast<size_t>(kernel.FindRef(name))];
      if (first.empty()) {
        const Tolerance tolerance = ToleranceOf(*replay->binding, ref);
        CHECK(Compare(array, want.at(name), tolerance).description == "");
      } else {
        CHECK(FirstDifference(array, first.at(name)) == "");
      }
    }
    if (first.empty()) first = got.outputs;
  }
  return true;
}

TEST_CASE("generated kernels compute what the interpreter computes, at other sizes") {
  constexpr uint32_t kFirstSeed = 1, kSeeds = 4;
  int ran = 0, skipped = 0;
  for (const RecordCase& of : RecordCases()) {
    if (!KernelOf(of.name)) continue;
    const Replay original(of);
    for (uint32_t seed = kFirstSeed; seed < kFirstSeed + kSeeds; ++seed)
      ++(CheckSizes(of, ReadRecord(of), *original.binding, seed) ? ran : skipped);
  }
  std::cout << "seeds " << kFirstSeed << " to " << kFirstSeed + kSeeds - 1 << ": " << ran
            << " calls at other sizes, " << skipped << " that the specs do not allow\n";
  CHECK(ran > 4 * skipped);
}

}  // namespace
}  // namespace kiln::testing
