#include <algorithm>
#include <utility>

#include "generator/spec/yaml/yaml.h"
#include "generator/text/characters.h"

namespace kiln {
namespace {

ScalarStyle StyleAt(std::string_view source, size_t at) {
  switch (at < source.size() ? source[at] : '\0') {
    case '\'':
      return ScalarStyle::kSingleQuoted;
    case '"':
      return ScalarStyle::kDoubleQuoted;
    case '|':
      return ScalarStyle::kLiteral;
    case '>':
      return ScalarStyle::kFolded;
    default:
      return ScalarStyle::kPlain;
  }
}

size_t LineEnd(std::string_view source, size_t at) {
  const size_t end = source.find('\n', at);
  return end == std::string_view::npos ? source.size() : end;
}

size_t NextLine(std::string_view source, size_t at) {
  const size_t end = LineEnd(source, at);
  return end < source.size() ? end + 1 : end;
}

/// Source bytes of a double-quoted escape, its backslash included.
size_t EscapeLength(std::string_view source, size_t at) {
  switch (at + 1 < source.size() ? source[at + 1] : '\0') {
    case 'x':
      return 4;
    case 'u':
      return 6;
    case 'U':
      return 10;
    default:
      return 2;
  }
}

/// Bytes of the value that an escape stands for: those of one code point.
size_t EscapedBytes(unsigned char lead) {
  return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/// Walks the source beside a value that folding, quotes and escapes may have changed. Every
/// byte of the value that is not white space stands in the source, in order; white space may
/// have been folded, so it is where the walk is, and what is left of it is skipped after.
class FoldedWalk {
 public:
  FoldedWalk(std::string_view source, size_t at, ScalarStyle style)
      : source_(source), at_(at), style_(style) {}

  /// Fills `offsets` for `value`; false when source and value do not match.
  bool Run(std::string_view value, std::vector<uint32_t>& offsets) {
    for (size_t i = 0; i < value.size();) {
      const bool escape = Prepare(IsSpace(value[i]));
      if (at_ >= source_.size()) {
        // yaml-cpp folds the end of the file into a space of a string that is never closed.
        if (!IsSpace(value[i])) return false;
        Put(offsets);
        ++i;
      } else if (escape) {
        const size_t bytes = EscapedBytes(static_cast<unsigned char>(value[i]));
        for (size_t k = 0; k < bytes && i < value.size(); ++k, ++i) Put(offsets);
        at_ += EscapeLength(source_, at_);
      } else if (source_[at_] == value[i]) {
        Put(offsets);
        at_ += style_ == ScalarStyle::kSingleQuoted && value[i] == '\'' ? 2 : 1;
        ++i;
      } else if (IsSpace(value[i])) {
        Put(offsets);
        ++i;
      } else {
        return false;
      }
    }
    return at_ <= source_.size();
  }

  size_t at() const { return at_; }

  /// Whether the closing quote follows; moves past it.
  bool Close(char quote) {
    Prepare(false);
    if (at_ >= source_.size() || source_[at_] != quote) return false;
    ++at_;
    return true;
  }

 private:
  void Put(std::vector<uint32_t>& offsets) { offsets.push_back(static_cast<uint32_t>(at_)); }

  /// Moves to where the next byte of the value comes from; true when that is an escape.
  bool Prepare(bool value_is_space) {
    while (at_ < source_.size()) {
      if (style_ == ScalarStyle::kDoubleQuoted && source_[at_] == '\\') {
        const size_t next = at_ + 1;
        if (next >= source_.size() || (source_[next] != '\n' && source_[next] != '\r')) return true;
        at_ = NextLine(source_, next);  // an escaped line end joins the lines
        while (at_ < source_.size() && IsBlank(source_[at_])) ++at_;
      } else if (!value_is_space && IsSpace(source_[at_])) {
        ++at_;
      } else {
        return false;
      }
    }
    return false;
  }

  std::string_view source_;
  size_t at_;
  ScalarStyle style_;
};

/// Every line of a literal block is the end of its line in the source: only the indentation
/// before it was taken away. `at` is moved past the last line.
bool WalkLiteral(std::string_view source, size_t& at, std::string_view value,
                 std::vector<uint32_t>& offsets) {
  for (size_t begin = 0; begin < value.size();) {
    const size_t end = LineEnd(value, begin);
    const std::string_view line = value.substr(begin, end - begin);
    size_t line_end = LineEnd(source, at);
    const size_t next = NextLine(source, at);
    if (line_end > at && source[line_end - 1] == '\r') --line_end;
    if (line.size() > line_end - at || source.substr(line_end - line.size(), line.size()) != line) {
      return false;
    }
    for (size_t i = line_end - line.size(); i < line_end; ++i) {
      offsets.push_back(static_cast<uint32_t>(i));
    }
    at = line_end;
    if (end < value.size()) {
      offsets.push_back(static_cast<uint32_t>(line_end));
      at = next;
    }
    begin = end + 1;
  }
  return true;
}

}  // namespace

LocatedScalar LocateScalar(std::string_view source, uint32_t begin, std::string value) {
  LocatedScalar out;
  out.style = StyleAt(source, begin);
  std::vector<uint32_t>& offsets = out.text.offsets;
  offsets.reserve(value.size() + 1);
  const bool quoted =
      out.style == ScalarStyle::kSingleQuoted || out.style == ScalarStyle::kDoubleQuoted;
  const bool block = out.style == ScalarStyle::kLiteral || out.style == ScalarStyle::kFolded;

  size_t at = block ? NextLine(source, begin) : begin + (quoted ? 1 : 0);
  bool matched = false;
  if (out.style == ScalarStyle::kLiteral) {
    matched = WalkLiteral(source, at, value, offsets);
    offsets.push_back(static_cast<uint32_t>(at));
  } else {
    FoldedWalk walk(source, at, out.style);
    matched = walk.Run(value, offsets);
    offsets.push_back(static_cast<uint32_t>(walk.at()));
    if (matched && quoted) out.closed = walk.Close(source[begin]);
    at = walk.at();
  }
  if (!matched) {  // nothing better than the place where it starts
    offsets.assign(value.size() + 1, begin);
    at = begin + 1;
  }
  out.end = static_cast<uint32_t>(std::min(at, source.size()));
  out.text.value = std::move(value);
  return out;
}

}  // namespace kiln
