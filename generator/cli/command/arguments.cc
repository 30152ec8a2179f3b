#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

#include "generator/cli/command/command.h"
#include "generator/data/npy.h"

namespace kiln::cli {
namespace {

bool ParseInt(const std::string& text, int64_t& out) {
  if (text.empty()) return false;
  char* end = nullptr;
  errno = 0;
  out = std::strtoll(text.c_str(), &end, 0);
  return *end == '\0' && errno == 0;
}

bool ParseFloat(const std::string& text, double& out) {
  if (text.empty()) return false;
  char* end = nullptr;
  out = std::strtod(text.c_str(), &end);
  return *end == '\0';
}

/// One element of `array` from text; the reason when it does not fit.
std::string SetElement(Array& array, int64_t i, const std::string& text) {
  if (IsFloat(array.dtype)) {
    double value = 0;
    if (!ParseFloat(text, value)) return "`" + text + "` is not a number";
    array.SetFloat(i, value);
    return "";
  }
  if (array.dtype == DType::kBool && (text == "true" || text == "false")) {
    array.SetInt(i, text == "true");
    return "";
  }
  int64_t value = 0;
  if (!ParseInt(text, value)) return "`" + text + "` is not an integer";
  if (value < MinOf(array.dtype) || value > MaxOf(array.dtype)) {
    return text + " does not fit " + std::string(Name(array.dtype));
  }
  array.SetInt(i, value);
  return "";
}

/// Reads `3, 0, 5` or `[[1, 0], [1, 1]]`: extents, and the text of every element.
class ListReader {
 public:
  explicit ListReader(const std::string& text) : text_(text) {}

  /// False when this is not a list whose rows have one length.
  bool Read() { return Items(0) && at_ == text_.size(); }
  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<std::string>& elements() const { return elements_; }

 private:
  static constexpr size_t kMaxRank = 8;

  char Peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Item(size_t depth);
  bool Items(size_t depth);

  const std::string& text_;
  size_t at_ = 0;
  size_t leaf_ = kMaxRank + 1;  // the depth of the elements, once there is one
  std::vector<int64_t> shape_;  // -1: not known yet
  std::vector<std::string> elements_;
};

bool ListReader::Item(size_t depth) {
  if (Peek() == '[') {
    ++at_;
    return depth < leaf_ && Items(depth) && Peek() == ']' && ++at_ && (Peek(), true);
  }
  if (leaf_ <= kMaxRank && leaf_ != depth) return false;
  if (shape_.size() > depth) return false;
  leaf_ = depth;
  const size_t end = std::min(text_.find_first_of(",[]", at_), text_.size());
  size_t last = end;
  while (last > at_ && text_[last - 1] == ' ') --last;
  elements_.push_back(text_.substr(at_, last - at_));
  at_ = end;
  return true;
}

/// Items of dimension `depth`, up to a bracket or the end.
bool ListReader::Items(size_t depth) {
  if (depth == kMaxRank) return false;
  if (shape_.size() == depth) shape_.push_back(-1);
  int64_t count = 0;
  while (Peek() != ']' && Peek() != '\0') {
    if (!Item(depth + 1)) return false;
    ++count;
    if (Peek() != ',') break;
    ++at_;
  }
  int64_t& extent = shape_[depth];
  const bool same = extent < 0 || extent == count;
  extent = count;
  return same;
}

/// `3,0,5`, `[[1, 0], [1, 1]]`, or one number.
std::string ParseLiteral(const Ref& ref, const std::string& text, Array& out) {
  const bool bracketed = text[0] == '[';
  if (!bracketed && ref.array.size() != 1) {
    if (!ref.array.empty()) {
      return "give an array of rank " + std::to_string(ref.array.size()) +
             " as @file.npy, random:SEED or [[1, 2], [3, 4]]";
    }
    out = Array::Zeros(ref.dtype, {});
    return SetElement(out, 0, text);
  }
  const std::string inside =
      bracketed && text.back() == ']' ? text.substr(1, text.size() - 2) : text;
  ListReader list(inside);
  if (!list.Read()) return "not a list of numbers whose rows have one length";
  out = Array::Zeros(ref.dtype, list.shape());
  for (size_t i = 0; i < list.elements().size(); ++i) {
    const std::string why = SetElement(out, static_cast<int64_t>(i), list.elements()[i]);
    if (!why.empty()) return why;
  }
  return "";
}

/// The seed of `random` and `random:SEED`.
std::optional<uint64_t> SeedOf(const std::string& value) {
  if (value == "random") return 0;
  int64_t seed = 0;
  if (value.rfind("random:", 0) != 0 || !ParseInt(value.substr(7), seed)) return std::nullopt;
  return static_cast<uint64_t>(seed);
}

bool MadeFromShape(const std::string& value) {
  return SeedOf(value) || value == "zeros" || value == "ones";
}

Array MakeFromShape(const Ref& ref, const std::vector<int64_t>& shape, const std::string& value) {
  if (const auto seed = SeedOf(value)) return RandomArray(ref.dtype, shape, *seed);
  Array array = Array::Zeros(ref.dtype, shape);
  if (value == "ones") {
    for (int64_t i = 0; i < array.size(); ++i)
      IsFloat(ref.dtype) ? array.SetFloat(i, 1) : array.SetInt(i, 1);
  }
  return array;
}

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
  const std::string why = ParseLiteral(ref, value, array);
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
    inputs.arrays[ref.name] = MakeFromShape(ref, shape, value);
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
      if (MadeFromShape(value))
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
