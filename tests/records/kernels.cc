#include "tests/records/kernels.h"

#include <cstring>
#include <sstream>
#include <stdexcept>

#include "generator/check/check_spec.h"
#include "generator/predict/machine/machine.h"
#include "tests/records/linked.h"

namespace kiln::testing {
namespace {

CallOptions OptionsOf(bool emulate, int cores) {
  CallOptions options;
  options.emulate = emulate;
  options.cores = cores;
  MachineFault fault;
  static const Machine machine = LoadMachine("v4", &fault).value();
  options.vmem_bytes = machine.vmem;
  options.smem_bytes = machine.smem;
  return options;
}

std::string Text(const Array& array, int64_t at) {
  std::ostringstream text;
  text.precision(17);
  if (IsFloat(array.dtype))
    text << array.GetFloat(at);
  else
    text << array.GetInt(at);
  return text.str();
}

}  // namespace

const KernelInterface* KernelOf(const std::string& record) {
  return kiln_kernel_of_record(record.c_str());
}

std::vector<Engine> Engines() {
  CallOptions eager = OptionsOf(true, 2);
  eager.eager = true;
  eager.poison = CallOptions::Poison::kRandom;
  eager.seed = 20;
  CallOptions shuffled = OptionsOf(true, 1);
  shuffled.shuffle = true;
  shuffled.seed = 7;
  CallOptions zeroed = OptionsOf(true, 3);
  zeroed.shuffle = true;
  zeroed.seed = 8;
  zeroed.poison = CallOptions::Poison::kZero;
  zeroed.eager = true;
  return {{"direct, 1 core", OptionsOf(false, 1)},
          {"direct, 2 cores", OptionsOf(false, 2)},
          {"direct, 3 cores", OptionsOf(false, 3)},
          {"emulated, 1 core", OptionsOf(true, 1)},
          {"emulated, 2 cores", OptionsOf(true, 2)},
          {"emulated, 2 cores, copies at once, random poison of seed 20", eager},
          {"emulated, 1 core, shuffled with seed 7", shuffled},
          {"emulated, 3 cores, shuffled with seed 8, copies at once, zeros", zeroed}};
}

Replay::Replay(const RecordCase& of, Record changed) : record(std::move(changed)) {
  const Kernel* chosen = record.kernel.get();
  const int index = ChooseVariant(*chosen, record.inputs);
  Diagnostics found;
  if (index >= 0) {
    const auto spec = ParseSpec(record.source, found);
    const Variant& of_kernel = chosen->variants[static_cast<size_t>(index)];
    variant = CheckSpec(*spec, WithVariant(of.check, of_kernel), found);
    chosen = variant.get();
  }
  if (chosen) binding = Bind(*chosen, record.inputs, /*partial=*/false, found);
  if (!binding || !found.empty()) throw std::runtime_error(Render(found, *record.source));
}

std::string FirstDifference(const Array& got, const Array& want) {
  if (got.dtype != want.dtype || got.shape != want.shape)
    return ToString(got.dtype, got.shape) + " instead of " + ToString(want.dtype, want.shape);
  const size_t size = SizeOf(want.dtype);
  int64_t first = -1, count = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    const size_t at = static_cast<size_t>(i) * size;
    if (std::memcmp(got.bytes.data() + at, want.bytes.data() + at, size) == 0) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return "";
  std::string position;
  int64_t rest = first, inner = want.size();
  for (const int64_t extent : want.shape) {
    inner /= extent;
    position += (position.empty() ? "" : ", ") + std::to_string(rest / inner);
    rest %= inner;
  }
  return std::to_string(count) + " of " + std::to_string(want.size()) +
         " elements differ; the first is [" + position + "]: " + Text(got, first) + " instead of " +
         Text(want, first);
}

}  // namespace kiln::testing
