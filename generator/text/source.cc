#include "generator/text/source.h"

#include <algorithm>
#include <utility>

#include "generator/text/utf8.h"

namespace kiln {

Source::Source(std::string path, std::string text)
    : path_(std::move(path)), text_(std::move(text)) {
  // The byte order mark is part of no line, so that columns count what a reader sees.
  starts_.push_back(text_.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') starts_.push_back(static_cast<uint32_t>(i + 1));
  }
}

LineColumn Source::Locate(uint32_t offset) const {
  const auto end = static_cast<uint32_t>(text_.size());
  offset = std::clamp(offset, starts_.front(), std::max(end, starts_.front()));
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto line = static_cast<int>(next - starts_.begin());
  const uint32_t start = LineStart(line);
  const std::string_view before = std::string_view(text_).substr(start, offset - start);
  return {line, CountCodePoints(before) + 1};
}

std::string_view Source::Line(int line) const {
  if (line < 1 || line > line_count()) return {};
  const size_t start = LineStart(line);
  const size_t end = line < line_count() ? LineStart(line + 1) - 1 : text_.size();
  std::string_view text = std::string_view(text_).substr(start, end - start);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

}  // namespace kiln
