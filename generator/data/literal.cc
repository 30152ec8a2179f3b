#include "generator/data/literal.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

namespace kiln {
namespace {

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

/// The seed of `random` and `random:SEED`.
std::optional<uint64_t> SeedOf(const std::string& value) {
  if (value == "random") return 0;
  int64_t seed = 0;
  if (value.rfind("random:", 0) != 0 || !ParseInt(value.substr(7), seed)) return std::nullopt;
  return static_cast<uint64_t>(seed);
}

}  // namespace

bool ParseInt(const std::string& text, int64_t& out) {
  if (text.empty()) return false;
  char* end = nullptr;
  errno = 0;
  out = std::strtoll(text.c_str(), &end, 0);
  return *end == '\0' && errno == 0;
}

std::string ParseLiteral(const std::string& text, DType dtype, size_t rank, Array& out) {
  const bool bracketed = text[0] == '[';
  if (!bracketed && rank != 1) {
    if (rank != 0) {
      return "give an array of rank " + std::to_string(rank) +
             " as @file.npy, random:SEED or [[1, 2], [3, 4]]";
    }
    out = Array::Zeros(dtype, {});
    return SetElement(out, 0, text);
  }
  const std::string inside =
      bracketed && text.back() == ']' ? text.substr(1, text.size() - 2) : text;
  ListReader list(inside);
  if (!list.Read()) return "not a list of numbers whose rows have one length";
  out = Array::Zeros(dtype, list.shape());
  for (size_t i = 0; i < list.elements().size(); ++i) {
    const std::string why = SetElement(out, static_cast<int64_t>(i), list.elements()[i]);
    if (!why.empty()) return why;
  }
  return "";
}

bool IsMadeFromShape(const std::string& text) {
  return SeedOf(text) || text == "zeros" || text == "ones";
}

Array MakeFromShape(const std::string& text, DType dtype, const std::vector<int64_t>& shape) {
  if (const auto seed = SeedOf(text)) return RandomArray(dtype, shape, *seed);
  Array array = Array::Zeros(dtype, shape);
  if (text == "ones") {
    for (int64_t i = 0; i < array.size(); ++i)
      IsFloat(dtype) ? array.SetFloat(i, 1) : array.SetInt(i, 1);
  }
  return array;
}

}  // namespace kiln
