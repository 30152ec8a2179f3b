#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

#include "generator/cli/command/command.h"
#include "generator/data/literal.h"
#include "generator/data/npy.h"

namespace kiln::cli {
namespace {

/// Outputs too: an array given for one decides its shape.
bool IsArgument(const Ref& ref) {
  return ref.role != Role::kScratch && ref.role != Role::kSemaphore && ref.view_of < 0;
}

std::vector<std::string> ArgumentNames(const Kernel& kernel) {
  std::vector<std::string> names;
  for (const Ref& ref : kernel.refs) {
    if (IsArgument(ref) && ref.role != Role::kOutput && !ref.prepared) names.push_back(ref.name);
  }
  for (const Dim& dim : kernel.dims) names.push_back(dim.name);
  return names;
}

bool SplitWords(const std::vector<std::string>& words, std::map<std::string, std::string>& out) {
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      UsageError("`" + word + "` is not name=value",
                 "for example: m=200 x=@x.npy y=random:1 sizes=3,0,5");
      return false;
    }
    if (!out.emplace(word.substr(0, equals), word.substr(equals + 1)).second) {
      UsageError("`" + word.substr(0, equals) + "` is given twice");
      return false;
    }
  }
  return true;
}

/// Held by arrays so far, and by one more.
double BytesWith(const Inputs& inputs, double more) {
  for (const auto& [name, array] : inputs.arrays) more += static_cast<double>(array.bytes.size());
  return more;
}

bool ReadArray(const Ref& ref, const std::string& value, const LimitOptions& limit,
               Inputs& inputs) {
  if (value == "@") {
    UsageError("`" + ref.name + "=@` names no file",
               "write " + ref.name + "=@" + ref.name + ".npy");
    return false;
  }
  if (value[0] == '@') {
    std::error_code unknown;
    const auto size = std::filesystem::file_size(value.substr(1), unknown);
    if (!unknown && !limit.Allow("reading `" + ref.name + "`",
                                 {BytesWith(inputs, static_cast<double>(size)), 0}))
      return false;
    auto read = ReadNpy(value.substr(1), ref.dtype);
    if (const auto* error = std::get_if<NpyError>(&read)) {
      UsageError("`" + ref.name + "`: " + error->message);
      return false;
    }
    inputs.arrays[ref.name] = std::move(std::get<Array>(read));
    return true;
  }
  Array array;
  const std::string why = ParseLiteral(value, ref.dtype, ref.array.size(), array);
  if (!why.empty()) {
    UsageError("`" + ref.name + "=" + value + "`: " + why);
    return false;
  }
  inputs.arrays[ref.name] = std::move(array);
  return true;
}

/// Makes the arrays whose shapes follow from everything else.
int MakeArrays(const Kernel& kernel, const std::vector<std::pair<int, std::string>>& shaped,
               const LimitOptions& limit, Inputs& inputs) {
  Diagnostics found;
  const auto binding = Bind(kernel, inputs, /*partial=*/true, found);
  if (!binding || found.HasErrors()) {  // the shapes would follow from nonsense
    Complain(found, *kernel.source);
    return kDiagnosed;
  }
  for (const auto& [index, value] : shaped) {
    const Ref& ref = kernel[RefId(index)];
    std::vector<int64_t> shape;
    std::string missing;
    for (const Size& size : ref.array) {
      const auto extent = Evaluate(size, *binding);
      if (!extent || *extent < 0) missing += (missing.empty() ? "" : " ") + size.ToString() + "=…";
      shape.push_back(extent.value_or(0));
    }
    if (!missing.empty()) {
      return UsageError(
          "the shape of `" + ref.name + "`, " + ToString(ref.array) + ", is not known",
          "give its dimensions: " + missing);
    }
    const auto bytes = ByteSize(ref.dtype, shape);
    if (!bytes) {
      return UsageError("`" + ref.name + "` of shape " + ToString(ref.dtype, shape) +
                        " has 2^63 bytes or more");
    }
    const Demand demand{BytesWith(inputs, static_cast<double>(*bytes)), 0};
    if (!limit.Allow("making `" + ref.name + "` of shape " + ToString(ref.dtype, shape), demand))
      return kUsage;
    inputs.arrays[ref.name] = MakeFromShape(value, ref.dtype, shape);
  }
  return kFine;
}

}  // namespace

int ParseArguments(const Kernel& kernel, const std::vector<std::string>& words,
                   const LimitOptions& limit, Inputs& inputs) {
  std::map<std::string, std::string> given;
  if (!SplitWords(words, given)) return kUsage;
  std::vector<std::pair<int, std::string>> shaped;
  for (const auto& [name, value] : given) {
    const int ref = kernel.FindRef(name);
    if (ref >= 0 && IsArgument(kernel[RefId(ref)])) {
      if (value.empty()) return UsageError("`" + name + "=` has no value");
      if (IsMadeFromShape(value))
        shaped.emplace_back(ref, value);
      else if (!ReadArray(kernel[RefId(ref)], value, limit, inputs))
        return kUsage;
    } else if (kernel.FindDim(name) >= 0) {
      if (!ParseInt(value, inputs.dims[name])) {
        return UsageError("`" + name + "=" + value + "`: a dimension is an integer");
      }
    } else {
      std::string hint = DidYouMean(name, ArgumentNames(kernel));
      for (const Param& param : kernel.params) {
        if (param.name == name) hint = "`" + name + "` is a parameter: --set " + name + "=" + value;
      }
      return UsageError(
          "`" + name + "` is neither an argument nor a dimension of `" + kernel.name + "`", hint);
    }
  }
  return shaped.empty() ? kFine : MakeArrays(kernel, shaped, limit, inputs);
}

}  // namespace kiln::cli
