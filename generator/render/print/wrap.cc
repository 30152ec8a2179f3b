#include "generator/render/print/wrap.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <vector>

namespace kiln::render {
namespace {

constexpr const char* kHanging = "    ";

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Where a line of code may end: before the character at `at`. `bracket` is behind the innermost
/// one that is open there; npos if none is.
struct Break {
  size_t at;
  int cost;
  size_t bracket;
};

/// Goes through a line of code and knows what is a literal, and which brackets are open.
class CodeLine {
 public:
  explicit CodeLine(const std::string& text) : text_(text) {
    for (size_t i = 0; i < text.size(); ++i) i = Step(i);
  }

  const std::vector<Break>& breaks() const { return breaks_; }
  /// Where a comment begins; npos if there is none.
  size_t comment() const { return comment_; }

 private:
  size_t Step(size_t i) {
    const char c = text_[i];
    if (comment_ != std::string::npos) return text_.size();
    if (c == '"' || (c == '\'' && (i == 0 || !IsWord(text_[i - 1])))) return EndOfLiteral(i);
    if (text_.compare(i, 2, "//") == 0) comment_ = i;
    if (text_.compare(i, 2, "/*") == 0) return std::min(text_.find("*/", i) + 1, text_.size());
    const bool opens = c == '(' || c == '{' || c == '[' || OpensAngle(i);
    const bool closes = c == ')' || c == '}' || c == ']' || ClosesAngle(i);
    if (c == '<' && opens) ++angles_;
    if (c == '>' && closes) --angles_;
    if (opens) {
      open_.push_back(i + 1);
      // The last resort among those of its depth: the bracket's first element on the next line.
      if (c != '[' && c != '<') Add(i + 1, 5);
    }
    if (closes && !open_.empty()) open_.pop_back();
    if (c == ',') Add(i + 1, 0);
    const bool before = i > 0 && text_[i - 1] == ' ';
    if (before && (text_.compare(i, 3, "&& ") == 0 || text_.compare(i, 3, "|| ") == 0))
      Add(i + 2, 2);
    if (before && (text_.compare(i, 2, "? ") == 0 || text_.compare(i, 2, ": ") == 0)) Add(i, 1);
    if (before && (text_.compare(i, 2, "+ ") == 0 || text_.compare(i, 2, "- ") == 0)) Add(i + 1, 4);
    if (before && text_.compare(i, 2, "= ") == 0) Add(i + 1, 3);
    return i;
  }

  size_t EndOfLiteral(size_t i) const {
    const char quote = text_[i];
    for (++i; i < text_.size() && text_[i] != quote; ++i) i += text_[i] == '\\';
    return i;
  }
  bool OpensAngle(size_t i) const {
    return text_[i] == '<' && i > 0 && IsWord(text_[i - 1]) && i + 1 < text_.size() &&
           text_[i + 1] != ' ' && text_[i + 1] != '=';
  }
  bool ClosesAngle(size_t i) const { return text_[i] == '>' && angles_ > 0 && text_[i - 1] != '-'; }

  void Add(size_t at, int more) {
    const size_t next = text_.find_first_not_of(' ', at);
    if (next != std::string::npos) {
      breaks_.push_back({next, 10 * static_cast<int>(open_.size()) + more,
                         open_.empty() ? std::string::npos : open_.back()});
    }
  }

  const std::string& text_;
  int angles_ = 0;
  std::vector<size_t> open_;
  size_t comment_ = std::string::npos;
  std::vector<Break> breaks_;
};

void WrapCode(const std::string& line, const std::string& indent, size_t columns,
              std::string* out) {
  const CodeLine code(line);
  if (code.comment() != std::string::npos && code.comment() > indent.size()) {
    std::string comment = line.substr(code.comment());
    std::string rest = line.substr(0, code.comment());
    rest.erase(rest.find_last_not_of(' ') + 1);
    *out += indent + comment + "\n";
    return rest.size() <= columns ? void(*out += rest + "\n")
                                  : WrapCode(rest, indent, columns, out);
  }
  std::string lead = indent;
  for (size_t begin = indent.size(); begin < line.size();) {
    const size_t room = columns - lead.size();
    size_t end = line.size(), bracket = std::string::npos;
    if (line.size() - begin > room) {
      int cost = INT_MAX;
      for (const Break& b : code.breaks()) {
        if (b.at <= begin) continue;
        const size_t last = line.find_last_not_of(' ', b.at - 1);
        const bool fits = last + 1 - begin <= room;
        // What is too long all the same ends at its first chance.
        if (fits ? b.cost > cost : cost != INT_MAX) continue;
        cost = b.cost;
        end = b.at;
        bracket = b.bracket;
        if (!fits) break;
      }
    }
    std::string part = line.substr(begin, end - begin);
    part.erase(part.find_last_not_of(' ') + 1);
    *out += lead + part + "\n";
    // In line with the bracket's first element, if that is on this line and leaves room.
    const bool aligned = bracket != std::string::npos && bracket >= begin && bracket < end;
    const size_t column = aligned ? lead.size() + bracket - begin : columns;
    begin = end;
    lead = column <= columns / 2 ? std::string(column, ' ') : indent + kHanging;
  }
}

/// A comment is broken between words; what follows hangs.
void WrapComment(const std::string& line, const std::string& indent, size_t columns,
                 std::string* out) {
  const size_t text = line.find_first_not_of("/ ", indent.size());
  const std::string marks = line.substr(0, line.find_first_not_of('/', indent.size()));
  std::string lead = line.substr(0, text);
  const std::string hanging = marks + std::string(text - marks.size(), ' ') + kHanging;
  for (size_t begin = text; begin < line.size();) {
    size_t end = line.size();
    if (end - begin > columns - lead.size()) {
      end = line.rfind(' ', begin + columns - lead.size());
      if (end == std::string::npos || end <= begin) end = line.find(' ', begin);
      end = std::min(end, line.size());
    }
    std::string part = line.substr(begin, end - begin);
    part.erase(part.find_last_not_of(' ') + 1);
    *out += lead + part + "\n";
    begin = std::min(line.find_first_not_of(' ', end), line.size());
    lead = hanging;
  }
}

}  // namespace

std::string WrapLines(const std::string& text, size_t columns) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t first = line.find_first_not_of(' ');
    if (line.size() <= columns || first == std::string::npos || line[0] == '#') {
      out += line + "\n";
    } else if (line.compare(first, 2, "//") == 0) {
      WrapComment(line, line.substr(0, first), columns, &out);
    } else {
      WrapCode(line, line.substr(0, first), columns, &out);
    }
  }
  return out;
}

}  // namespace kiln::render
