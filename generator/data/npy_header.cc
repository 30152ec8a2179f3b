#include "generator/data/npy_header.h"

#include <utility>

namespace kiln {
namespace {

constexpr size_t kMaxRank = 8;  // the spec language's limit

/// A parser of the three-entry dictionary that NumPy writes, and of nothing else of Python.
/// Every step returns false at the first thing that does not fit and leaves the reason.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  bool Parse(NpyHeader& header);
  const std::string& reason() const { return reason_; }

 private:
  bool Fail(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
    return false;
  }
  void SkipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Accept(char c) {
    SkipSpaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool Expect(char c) {
    return Accept(c) ||
           Fail(std::string("its header lacks a `") + c + "` at byte " + std::to_string(at_));
  }
  bool ParseString(std::string& out);
  bool ParseBool(bool& out);
  bool ParseExtent(int64_t& out);
  bool ParseShape(std::vector<int64_t>& out);
  bool ParseEntry(NpyHeader& header);
  bool ParseEnd();

  std::string_view text_;
  size_t at_ = 0;
  bool seen_descr_ = false, seen_order_ = false, seen_shape_ = false;
  std::string reason_;
};

bool HeaderParser::ParseString(std::string& out) {
  SkipSpaces();
  const char quote = at_ < text_.size() ? text_[at_] : '\0';
  if (quote != '\'' && quote != '"') {
    return Fail("its header lacks a string at byte " + std::to_string(at_));
  }
  const size_t end = text_.find(quote, at_ + 1);
  if (end == std::string_view::npos) return Fail("its header has a string without an end");
  out = std::string(text_.substr(at_ + 1, end - at_ - 1));
  at_ = end + 1;
  // These strings get into messages; nothing NumPy writes here needs more than plain letters.
  for (const char c : out) {
    if (c < ' ' || c > '~' || c == '\\') return Fail("its header has an odd byte in a string");
  }
  return true;
}

bool HeaderParser::ParseBool(bool& out) {
  SkipSpaces();
  for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)}) {
    const std::string_view w(word);
    if (text_.substr(at_, w.size()) == w) {
      at_ += w.size();
      out = value;
      return true;
    }
  }
  return Fail("its header's fortran_order is neither True nor False");
}

bool HeaderParser::ParseExtent(int64_t& out) {
  SkipSpaces();
  const size_t begin = at_;
  out = 0;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
    if (__builtin_mul_overflow(out, 10, &out) ||
        __builtin_add_overflow(out, text_[at_] - '0', &out)) {
      return Fail("its header's shape has an extent beyond 64 bits");
    }
    ++at_;
  }
  if (at_ == begin || (text_[begin] == '0' && at_ > begin + 1)) {
    return Fail("its header's shape is not a tuple of whole numbers");
  }
  return true;
}

bool HeaderParser::ParseShape(std::vector<int64_t>& out) {
  if (!Expect('(')) return false;
  bool comma = false;
  while (!Accept(')')) {
    if (!out.empty() && !comma) return Fail("its header's shape lacks a comma");
    int64_t extent = 0;
    if (!ParseExtent(extent)) return false;
    out.push_back(extent);
    if (out.size() > kMaxRank) {
      return Fail("it has more than " + std::to_string(kMaxRank) + " dimensions");
    }
    comma = Accept(',');
  }
  // Python reads (3) as a number, so NumPy never means it as a shape.
  return out.size() != 1 || comma || Fail("its header's shape is not a tuple");
}

bool HeaderParser::ParseEntry(NpyHeader& header) {
  std::string key;
  if (!ParseString(key) || !Expect(':')) return false;
  bool* seen = key == "descr"           ? &seen_descr_
               : key == "fortran_order" ? &seen_order_
               : key == "shape"         ? &seen_shape_
                                        : nullptr;
  if (seen == nullptr) return Fail("its header has an unknown key '" + key.substr(0, 40) + "'");
  if (*seen) return Fail("its header has the key '" + key + "' twice");
  *seen = true;
  if (seen == &seen_order_) return ParseBool(header.fortran_order);
  if (seen == &seen_shape_) return ParseShape(header.shape);
  if (Accept('[')) return Fail("it holds records, not plain elements");
  return ParseString(header.descr);
}

bool HeaderParser::ParseEnd() {
  SkipSpaces();
  if (at_ + 1 != text_.size() || text_[at_] != '\n') {
    return Fail("its header does not end in spaces and one newline");
  }
  return true;
}

bool HeaderParser::Parse(NpyHeader& header) {
  if (!Expect('{')) return false;
  bool comma = true;
  while (!Accept('}')) {
    if (!comma) return Fail("its header lacks a comma at byte " + std::to_string(at_));
    if (!ParseEntry(header)) return false;
    comma = Accept(',');
  }
  if (!seen_descr_) return Fail("its header has no 'descr'");
  if (!seen_order_) return Fail("its header has no 'fortran_order'");
  if (!seen_shape_) return Fail("its header has no 'shape'");
  return ParseEnd();
}

}  // namespace

std::string ParseNpyHeader(std::string_view text, NpyHeader& header) {
  HeaderParser parser(text);
  return parser.Parse(header) ? "" : parser.reason();
}

}  // namespace kiln
