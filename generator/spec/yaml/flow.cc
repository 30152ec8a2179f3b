#include <string>

#include "generator/spec/yaml/yaml.h"
#include "generator/text/characters.h"

/// YAML ends a plain scalar inside `{ }` or `[ ]` at any of `, [ ] { }`. Kiln's grammar is full
/// of those, so that a value such as `cdiv(m, bm)` falls apart into two entries, or breaks the
/// collection. This file reads the brackets as their author meant them.
namespace kiln {
namespace {

// Bytes looked at to match brackets, in all: a bound on the work for hostile text.
constexpr size_t kMaxLookahead = 100000;
// The value_begin of quoted and bracketed values, which no comma can end too early.
constexpr size_t kDelimited = std::string_view::npos;
// More broken values than this are not worth diagnostic; the collection is given up.
constexpr size_t kMaxSplits = 100;

char CloserOf(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

class FlowScanner {
 public:
  FlowScanner(std::string_view source, uint32_t begin) : source_(source), at_(begin) {}

  FlowCheck Run() {
    while (at_ < source_.size() && !done_) Step();
    if (!done_) check_.unclosed = Point(open_.front().at);
    check_.end = static_cast<uint32_t>(at_);
    return check_;
  }

 private:
  struct Open {
    char bracket;
    size_t at;
    size_t value_begin;  // of the last scalar
    bool has_colon;      // the entry under way has its `:`
    bool was_pair;       // the entry before had one
  };

  static Span MakeSpan(size_t begin, size_t end) {
    return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }
  static Span Point(size_t at) { return MakeSpan(at, at + 1); }

  char Peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  void Step() {
    const char c = Peek();
    if (IsSpace(c)) {
      ++at_;
    } else if (c == '#' && at_ > 0 && IsSpace(source_[at_ - 1])) {
      while (at_ < source_.size() && source_[at_] != '\n') ++at_;
    } else if (c == '[' || c == '{') {
      if (!open_.empty()) open_.back().value_begin = kDelimited;
      open_.push_back({c, at_++, kDelimited, false, false});
    } else if (c == ']' || c == '}') {
      Close(c);
    } else if (c == ',') {
      Open& open = open_.back();
      open.was_pair = open.has_colon;
      open.has_colon = false;
      ++at_;
    } else if (c == ':' && EndsKey(at_)) {
      open_.back().has_colon = true;
      ++at_;
    } else if (c == '?' && IsSpace(Peek(1))) {
      ++at_;
    } else if (c == '"' || c == '\'') {
      open_.back().value_begin = kDelimited;
      SkipQuoted(c);
    } else {
      Plain();
    }
  }

  void Close(char c) {
    if (c != CloserOf(open_.back().bracket)) {
      check_.mismatched = Point(at_);
      done_ = true;
      return;
    }
    open_.pop_back();
    ++at_;
    done_ = open_.empty();
  }

  /// Whether the `:` at `at` ends a key: in `{ }` one may follow a quoted key directly.
  bool EndsKey(size_t at) const {
    const char next = at + 1 < source_.size() ? source_[at + 1] : ' ';
    const char before = at > 0 ? source_[at - 1] : ' ';
    return IsSpace(next) || next == ',' || next == ']' || next == '}' || next == '[' ||
           next == '{' || before == '"' || before == '\'';
  }

  void SkipQuoted(char quote) {
    for (++at_; at_ < source_.size(); ++at_) {
      if (quote == '"' && source_[at_] == '\\') {
        ++at_;
      } else if (source_[at_] == quote) {
        ++at_;
        return;
      }
    }
    at_ = source_.size();
  }

  /// Reads one plain scalar as its author meant it, brackets balanced.
  void Plain() {
    const size_t begin = at_;
    bool split = false, unbalanced = false;
    size_t end = at_;
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '(' || c == '[') {
        const size_t close = unbalanced ? at_ : Balanced(at_);
        unbalanced = close == at_;
        // Inside ( ) YAML only minds its own punctuation.
        split |= c == '[' || unbalanced || MindedBy(at_, close);
        at_ = unbalanced ? at_ + 1 : close;
      } else if (c == ')') {
        split = true;
        ++at_;
      } else if (c == ',' || c == ']' || c == '}' || c == '{' || (c == ':' && EndsKey(at_)) ||
                 (c == '#' && IsSpace(source_[at_ - 1]))) {
        break;
      } else {
        ++at_;
      }
      if (!IsSpace(c)) end = at_;
    }
    Finish(begin, end, split);
  }

  void Finish(size_t begin, size_t end, bool split) {
    Open& open = open_.back();
    // `{block: bm, bk}`: after a pair, an entry that has no `:` is the rest of that pair's value.
    const bool rest = open.was_pair && open.value_begin != kDelimited;
    if (open.bracket == '{' && !open.has_colon && rest && !ColonFollows()) {
      begin = open.value_begin;
      split = true;
      open.has_colon = true;  // what follows may go on in the same way
      if (!check_.splits.empty() && check_.splits.back().begin >= begin) check_.splits.pop_back();
    } else {
      open.value_begin = begin;
    }
    if (split) check_.splits.push_back(MakeSpan(begin, end));
    if (check_.splits.size() >= kMaxSplits) {
      check_.mismatched = Point(at_);
      done_ = true;
    }
  }

  bool ColonFollows() const {
    size_t at = at_;
    while (at < source_.size() && IsSpace(source_[at])) ++at;
    return at < source_.size() && source_[at] == ':';
  }

  bool MindedBy(size_t begin, size_t end) const {
    return source_.substr(begin, end - begin).find_first_of(",[]{}") != std::string_view::npos;
  }

  /// Past the bracket that closes the one at `at`, on the same line; `at` itself if none does.
  size_t Balanced(size_t at) {
    std::string closers;
    for (size_t i = at; i < source_.size() && source_[i] != '\n' && lookahead_ > 0; ++i) {
      --lookahead_;
      const char c = source_[i];
      if (c == '(' || c == '[' || c == '{') closers += CloserOf(c);
      if (c != ')' && c != ']' && c != '}') continue;
      if (closers.back() != c) return at;
      closers.pop_back();
      if (closers.empty()) return i + 1;
    }
    return at;
  }

  std::string_view source_;
  size_t at_;
  std::vector<Open> open_;
  FlowCheck check_;
  size_t lookahead_ = kMaxLookahead;
  bool done_ = false;
};

size_t IndentOf(std::string_view source, size_t line) {
  const size_t text = source.find_first_not_of(' ', line);
  return (text == std::string_view::npos ? source.size() : text) - line;
}

/// Where the block that holds the collection at `begin` goes on: the next line with text that is
/// indented no more than the line of `begin`, unless a closing bracket begins it.
size_t EndOfValue(std::string_view source, size_t begin) {
  const size_t before = source.rfind('\n', begin);
  const size_t indent = IndentOf(source, before == std::string_view::npos ? 0 : before + 1);
  size_t line = source.find('\n', begin);
  for (; line != std::string_view::npos; line = source.find('\n', line)) {
    ++line;
    const size_t text = line + IndentOf(source, line);
    if (text >= source.size()) break;
    const bool closes = source[text] == ']' || source[text] == '}';
    if (!IsSpace(source[text]) && !closes && text - line <= indent) return line;
  }
  return source.size();
}

}  // namespace

FlowCheck CheckFlow(std::string_view source, uint32_t begin) {
  const FlowCheck check = FlowScanner(source, begin).Run();
  if (!check.unclosed && !check.mismatched) return check;
  // A bracket that was forgotten must not make splits of the keys that follow.
  return FlowScanner(source.substr(0, EndOfValue(source, begin)), begin).Run();
}

}  // namespace kiln
