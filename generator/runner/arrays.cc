#include <variant>

#include "generator/data/literal.h"
#include "generator/data/npy.h"
#include "generator/runner/program.h"

namespace kiln::inline KILN_ABI::runner {
namespace {

/// Sizes, and who said them.
struct KnownSizes {
  std::vector<int64_t> values;
  std::vector<std::string> from;
};

void SetSize(const Kernel& kernel, size_t dim, int64_t value, const std::string& from,
             KnownSizes& sizes) {
  if (sizes.values[dim] >= 0 && sizes.values[dim] != value) {
    throw Mistake(std::string(kernel.dims[dim].name) + " is " + std::to_string(sizes.values[dim]) +
                  " by " + sizes.from[dim] + ", and " + std::to_string(value) + " by " + from);
  }
  sizes.values[dim] = value;
  sizes.from[dim] = from;
}

KnownSizes SizesOf(const Kernel& kernel, const Command& command) {
  const auto count = static_cast<size_t>(kernel.dim_count);
  KnownSizes sizes{std::vector<int64_t>(count, -1), std::vector<std::string>(count)};
  for (size_t d = 0; d < count; ++d) {
    const Dim& dim = kernel.dims[d];
    if (dim.fixed >= 0) SetSize(kernel, d, dim.fixed, "the spec", sizes);
    const auto given = command.values.find(dim.name);
    if (given == command.values.end()) continue;
    int64_t value = 0;
    if (!ParseInt(given->second, value) || value < 0)
      throw Mistake("`" + given->first + "=" + given->second +
                    "`: a size is an integer, at least 0");
    SetSize(kernel, d, value, "the command", sizes);
  }
  return sizes;
}

DType TypeOf(const char* name) { return ParseDType(name).value(); }

/// From a file or as it is spelt; nothing: its shape has to be known first.
std::optional<Array> GivenArray(const Argument& argument, const std::string& value) {
  const std::string word = "`" + std::string(argument.name) + "=" + value + "`";
  if (value.empty() || value == "@") throw Mistake(word + " has no value");
  if (IsMadeFromShape(value)) return std::nullopt;
  const DType dtype = TypeOf(argument.dtype);
  if (value[0] == '@') {
    auto read = ReadNpy(value.substr(1), dtype);
    if (const auto* error = std::get_if<NpyError>(&read))
      throw Mistake(word + ": " + error->message);
    return std::move(std::get<Array>(read));
  }
  Array array;
  const std::string why = ParseLiteral(value, dtype, static_cast<size_t>(argument.rank), array);
  if (!why.empty()) throw Mistake(word + ": " + why);
  return array;
}

/// The sizes that a given array shows. Whether it fits otherwise is for the kernel to say.
void SizesFrom(const Kernel& kernel, const Argument& argument, const Array& array,
               KnownSizes& sizes) {
  if (array.shape.size() != static_cast<size_t>(argument.rank)) return;
  for (size_t d = 0; d < array.shape.size(); ++d) {
    if (argument.dims[d] >= 0)
      SetSize(kernel, static_cast<size_t>(argument.dims[d]), array.shape[d], argument.name, sizes);
  }
}

std::vector<int64_t> ShapeOf(const Kernel& kernel, const Argument& argument,
                             const KnownSizes& known) {
  std::vector<int64_t> shape(static_cast<size_t>(argument.rank));
  if (argument.rank == 0) return shape;
  const Sizes sizes(known.values.data(), kernel.dim_count);
  argument.extents(sizes, shape.data());
  if (sizes.missing() >= 0) {
    const std::string dim = kernel.dims[sizes.missing()].name;
    throw Mistake(
        "the shape of `" + std::string(argument.name) + "`, " + argument.shape + ", is not known",
        "say " + dim + "=…");
  }
  if (!ByteSize(TypeOf(argument.dtype), shape))
    throw Mistake("`" + std::string(argument.name) + "` of shape " +
                  ToString(TypeOf(argument.dtype), shape) + " has 2^63 bytes or more");
  return shape;
}

/// NaN, or the greatest integer, where the kernel writes nothing.
Array Unwritten(DType dtype, const std::vector<int64_t>& shape) {
  Array array = Array::Zeros(dtype, shape);
  for (int64_t i = 0; i < array.size(); ++i)
    IsFloat(dtype) ? array.SetFloat(i, __builtin_nan("")) : array.SetInt(i, MaxOf(dtype));
  return array;
}

Array Passed(const Argument& argument, const Array& scalar) {
  Array passed = Array::Zeros(TypeOf(argument.passed_as), {});
  if (IsFloat(passed.dtype))
    passed.SetFloat(0, scalar.GetFloat(0));
  else
    passed.SetInt(0, scalar.GetInt(0));
  return passed;
}

}  // namespace

std::vector<Array> MakeArrays(const Kernel& kernel, const Command& command) {
  KnownSizes sizes = SizesOf(kernel, command);
  const auto count = static_cast<size_t>(kernel.argument_count);
  std::vector<std::optional<Array>> given(count);
  for (size_t a = 0; a < count; ++a) {
    const Argument& argument = kernel.arguments[a];
    if (argument.role == Role::kOutput) continue;
    const auto value = command.values.find(argument.name);
    if (value == command.values.end()) {
      const std::string name = argument.name;
      throw Mistake(
          "`" + name + "` is not given",
          argument.rank == 0 ? name + "=1" : name + "=@" + name + ".npy or " + name + "=random");
    }
    given[a] = GivenArray(argument, value->second);
    if (given[a]) SizesFrom(kernel, argument, *given[a], sizes);
  }
  std::vector<Array> arrays;
  for (size_t a = 0; a < count; ++a) {
    const Argument& argument = kernel.arguments[a];
    const DType dtype = TypeOf(argument.dtype);
    if (!given[a]) {
      const std::vector<int64_t> shape = ShapeOf(kernel, argument, sizes);
      given[a] = argument.role == Role::kOutput
                     ? Unwritten(dtype, shape)
                     : MakeFromShape(command.values.at(argument.name), dtype, shape);
    }
    arrays.push_back(argument.role == Role::kScalar ? Passed(argument, *given[a])
                                                    : std::move(*given[a]));
  }
  return arrays;
}

}  // namespace kiln::inline KILN_ABI::runner
