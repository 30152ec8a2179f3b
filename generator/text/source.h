#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// A half-open range of byte offsets in the spec's file.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// The one byte at `at`.
inline Span Point(size_t at) { return {static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)}; }
inline Span Cover(Span a, Span b) { return {a.begin, b.end > a.end ? b.end : a.end}; }

struct LineColumn {
  int line = 1;    // from 1
  int column = 1;  // from 1, in code points
};

/// The text of one spec file and its lines.
class Source {
 public:
  Source(std::string path, std::string text);

  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  LineColumn Locate(uint32_t offset) const;
  /// The line's text without its end. `line` counts from 1.
  std::string_view Line(int line) const;
  int line_count() const { return static_cast<int>(starts_.size()); }
  uint32_t LineStart(int line) const { return starts_[static_cast<size_t>(line) - 1]; }

 private:
  std::string path_;
  std::string text_;
  std::vector<uint32_t> starts_;  // offset of each line's first byte
};

/// A YAML scalar's value with, for every byte, the file offset it came from (one more entry
/// for the end), so that columns inside quoted and block scalars point into the file.
struct Text {
  std::string value;
  std::vector<uint32_t> offsets;

  Span span() const { return offsets.empty() ? Span{} : Span{offsets.front(), offsets.back()}; }
  Span At(size_t begin, size_t end) const { return {offsets[begin], offsets[end]}; }
};

}  // namespace kiln
