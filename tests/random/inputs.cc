#include <algorithm>
#include <cmath>
#include <limits>

#include "generator/native/call.h"
#include "tests/random/dice.h"
#include "tests/random/draft.h"
#include "tests/random/floats.h"

namespace kiln::soak {
namespace {

uint64_t SeedOf(uint64_t seed, const std::string& name) {
  uint64_t hash = 14695981039346656037u ^ seed;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

double Special(DType dtype, Dice& dice) {
  const double infinity = std::numeric_limits<double>::infinity();
  return dice.Pick({infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), -0.0,
                    SmallestPositive(dtype), LargestFinite(dtype), -LargestFinite(dtype), 0.5, 2.5,
                    -2.5, 1e-3, 1e9});
}

int64_t SpecialInteger(DType dtype, Dice& dice) {
  const int64_t low = MinOf(dtype), high = MaxOf(dtype);
  return dice.Pick({low, high, low + 1, high - 1, high / 2, int64_t{0}, int64_t{1}});
}

double FloatOf(const Fill& fill, DType dtype, Dice& dice) {
  if (RowOf(dtype).powers && !(fill.kind == Fill::Kind::kSpecial && dice.Chance(0.4)))
    return std::ldexp(1, static_cast<int>(dice.Between(fill.low, fill.high)));
  if (fill.share < 1 && !dice.Chance(fill.share)) return 0;
  switch (fill.kind) {
    case Fill::Kind::kQuarters:
      return static_cast<double>(dice.Between(4 * fill.low, 4 * fill.high)) / 4;
    case Fill::Kind::kUniform:
      return static_cast<double>(fill.low) +
             dice.Unit() * static_cast<double>(fill.high - fill.low);
    case Fill::Kind::kSpecial:
      if (dice.Chance(0.4)) return Special(dtype, dice);
      [[fallthrough]];
    default:
      return static_cast<double>(dice.Between(fill.low, fill.high));
  }
}

int64_t IntegerOf(const Fill& fill, DType dtype, Dice& dice) {
  if (fill.share < 1 && !dice.Chance(fill.share)) return 0;
  if (fill.kind == Fill::Kind::kSpecial && dice.Chance(0.4)) return SpecialInteger(dtype, dice);
  return dice.Between(fill.low, fill.high);
}

void Permute(Array& array, Dice& dice) {
  const int64_t count = array.size();
  for (int64_t i = 0; i < count; ++i) array.SetInt(i, i);
  for (int64_t i = count - 1; i > 0; --i) {
    const int64_t other = dice.Between(0, i);
    const int64_t kept = array.GetInt(i);
    array.SetInt(i, array.GetInt(other));
    array.SetInt(other, kept);
  }
}

void FillSums(Array& array, int64_t left, Dice& dice) {
  for (int64_t i = 0; i < array.size(); ++i) {
    const int64_t size = dice.Chance(0.3) ? 0 : dice.Between(0, left);
    array.SetInt(i, size);
    left -= size;
  }
}

Array FilledArray(DType dtype, std::vector<int64_t> shape, const Fill& fill, Dice dice) {
  Array array = Array::Zeros(dtype, std::move(shape));
  if (fill.kind == Fill::Kind::kPermutation) {
    Permute(array, dice);
    return array;
  }
  if (fill.kind == Fill::Kind::kSums) {
    FillSums(array, fill.high, dice);
    return array;
  }
  if (fill.kind == Fill::Kind::kMultiples) {
    for (int64_t i = 0; i < array.size(); ++i) array.SetInt(i, i * fill.high);
    return array;
  }
  for (int64_t i = 0; i < array.size(); ++i) {
    if (IsFloat(dtype))
      array.SetFloat(i, FloatOf(fill, dtype, dice));
    else
      array.SetInt(i, dtype == DType::kBool ? dice.Between(0, 1) : IntegerOf(fill, dtype, dice));
  }
  return array;
}

}  // namespace

Inputs MakeInputs(const Draft& draft, const Kernel& kernel) {
  Inputs inputs;
  inputs.dims = draft.sizes;
  Diagnostics ignored;  // the binding with arrays reports them
  const auto sizes = Bind(kernel, inputs, /*partial=*/true, ignored);
  if (!sizes) return inputs;
  std::vector<int> given = CallArguments(kernel);
  // The interpreter takes what functions of the user's own make.
  for (const HostCall& call : kernel.prepare) {
    if (!call.header.empty()) given.insert(given.end(), call.results.begin(), call.results.end());
  }
  for (const int at : given) {
    const Ref& ref = kernel.refs[static_cast<size_t>(at)];
    const std::vector<int64_t>& shape = sizes->arrays[static_cast<size_t>(at)];
    const bool known =
        std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent >= 0; });
    if (ref.role == Role::kOutput || ref.role == Role::kScalar || !known) continue;
    const auto fill = draft.fills.find(ref.name);
    inputs.arrays.emplace(
        ref.name, FilledArray(ref.dtype, shape, fill == draft.fills.end() ? Fill() : fill->second,
                              Dice(SeedOf(draft.seed, ref.name))));
  }
  return inputs;
}

}  // namespace kiln::soak
