#include "generator/front/yaml.h"

#include <algorithm>
#include <exception>
#include <sstream>
#include <unordered_map>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "generator/front/names.h"
#include "generator/front/utf8.h"

namespace kiln {
namespace {

// A file with more broken flow collections than this says the same thing often enough.
constexpr int kMaxSplitPasses = 8;

/// Ends yaml-cpp's walk: at a limit, or to start again without a broken flow collection.
struct StopWalk {};

/// What one pass over the text found.
struct Pass {
  std::optional<YamlNode> root;
  bool again = false;  // a flow collection was blanked out: read the text once more
};

Span Point(size_t at) { return {static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)}; }

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

/// Builds our tree from yaml-cpp's events. One instance lives for one pass; the errors it
/// records are kept by ParseYaml, which drops those that a later pass finds again.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& text, uint32_t shift, const std::vector<uint32_t>& blanked,
              Diagnostics& diagnostics)
      : text_(text), shift_(shift), blanked_(blanked), diagnostics_(diagnostics) {}

  const std::optional<FlowCheck>& broken() const { return broken_; }
  uint32_t broken_begin() const { return broken_begin_; }
  uint32_t last() const { return last_; }
  bool missing_colon() const { return missing_colon_; }
  std::optional<YamlNode> TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    Stop("key", Point(Offset(mark)), "a spec is one YAML document; a second one starts here",
         "keep each kernel in a file of its own");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    const uint32_t at = Start(mark);
    YamlNode node;
    node.kind = YamlNode::Kind::kNull;
    node.span = {at, at};
    node.text.offsets = {at};
    if (IsBlanked(at)) {
      node.kind = YamlNode::Kind::kBad;
    } else if (const uint32_t length = WrittenNull(at, AwaitsKey()); length > 0) {
      node.span = {at, at + length};
      node.text.value = "null";
      // `~` is shorter than the text that stands for it.
      node.text.offsets.clear();
      for (uint32_t i = 0; i <= 4; ++i) node.text.offsets.push_back(at + std::min(i, length));
    }
    Place(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    const uint32_t at = Start(mark);
    Error("key", TokenAt(at), "aliases are not part of the spec language",
          "write the value out where it is used; `params` and `let` name what is shared");
    Place(Bad(at));
  }

  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    Error("key", TokenAt(Offset(mark)), "anchors are not part of the spec language",
          "remove it; `params` and `let` name what is shared");
  }

  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    const uint32_t mark_at = Start(mark);
    const uint32_t at = SkipProperties(mark_at);
    // Text behind a blanked collection makes it a scalar.
    if (IsBlanked(at)) return Place(Bad(at));
    if (value.size() > kMaxYamlScalar) {
      Stop("syntax", Point(at),
           "this text has " + std::to_string(value.size()) + " bytes; the limit is " +
               std::to_string(kMaxYamlScalar));
    }
    LocatedScalar scalar = LocateScalar(text_, at, value);
    CheckScalar(at, scalar);
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.style = scalar.style;
    node.span = {at, std::max(at, scalar.end)};
    node.text = std::move(scalar.text);
    last_ = scalar.end;
    Place(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Open(mark, YamlNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { CloseCollection(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Open(mark, YamlNode::Kind::kMapping);
  }
  void OnMapEnd() override { CloseCollection(); }

 private:
  struct Frame {
    YamlNode node;
    bool in_flow = false;
    bool has_key = false;
    bool key_is_bad = false;
    YamlEntry entry;  // whose value is awaited
    std::unordered_map<std::string, Span> seen;
  };

  uint32_t Offset(const YAML::Mark& mark) const {
    const auto pos = static_cast<uint32_t>(std::max(mark.pos, 0));
    return std::min(pos + shift_, static_cast<uint32_t>(text_.size()));
  }

  void Error(std::string rule, Span span, std::string message, std::string hint = "",
             std::vector<Note> notes = {}) {
    diagnostics_.Error(std::move(rule), span, std::move(message), std::move(hint),
                       std::move(notes));
  }
  [[noreturn]] void Stop(std::string rule, Span span, std::string message, std::string hint = "") {
    Error(std::move(rule), span, std::move(message), std::move(hint));
    throw StopWalk{};
  }

  /// What every node begins with: its offset, the count of nodes, explicit tags.
  uint32_t Start(const YAML::Mark& mark) {
    const uint32_t at = Offset(mark);
    if (++nodes_ > kMaxYamlNodes) {
      Stop("syntax", Point(at), "the file has more than " + std::to_string(kMaxYamlNodes) +
                                    " YAML values, which is the limit");
    }
    for (uint32_t p = at; p < text_.size() && (text_[p] == '!' || text_[p] == '&');) {
      const Span token = TokenAt(p);
      // A collection and its first key may share their mark: report the tag once.
      if (text_[p] == '!' && tagged_ != p) {
        tagged_ = p;
        Error("key", token, "tags are not part of the spec language",
              "remove it: every value is read as text");
      }
      p = token.end;
      while (p < text_.size() && IsBlank(text_[p])) ++p;
    }
    last_ = at;
    return at;
  }

  /// The offset of a scalar after its (already reported) tag and anchor.
  uint32_t SkipProperties(uint32_t at) const {
    while (at < text_.size() && (text_[at] == '!' || text_[at] == '&')) {
      at = TokenAt(at).end;
      while (at < text_.size() && (IsBlank(text_[at]) || text_[at] == '\n')) ++at;
    }
    return at;
  }

  Span TokenAt(uint32_t at) const {
    const size_t end = text_.find_first_of(" \t\r\n,]}", at);
    return {at, static_cast<uint32_t>(end == std::string::npos ? text_.size() : end)};
  }

  bool IsBlanked(uint32_t at) const {
    return std::binary_search(blanked_.begin(), blanked_.end(), at);
  }

  bool AwaitsKey() const {
    return !stack_.empty() && stack_.back().node.kind == YamlNode::Kind::kMapping &&
           !stack_.back().has_key;
  }

  /// The length of a null that is written out at `at`, or 0: yaml-cpp marks a value that is not
  /// there at the token that follows, which may be a key called `null`.
  uint32_t WrittenNull(uint32_t at, bool as_key) const {
    for (const std::string_view word : {"null", "Null", "NULL", "~"}) {
      if (text_.compare(at, word.size(), word) != 0) continue;
      size_t next = at + word.size();
      while (next < text_.size() && IsBlank(text_[next])) ++next;
      const char after = next < text_.size() ? text_[next] : '\n';
      if (after == '\n' || after == '\r' || after == ',' || after == ']' || after == '}' ||
          after == '#' || (after == ':' && as_key)) {
        return static_cast<uint32_t>(word.size());
      }
    }
    return 0;
  }

  void CheckScalar(uint32_t at, const LocatedScalar& scalar) {
    if (!scalar.closed) {
      Stop("syntax", Point(at), "this quoted text is never closed",
           std::string("add the closing ") + text_[at]);
    }
    const std::string& value = scalar.text.value;
    for (size_t i = 0; i < value.size(); ++i) {
      const auto c = static_cast<unsigned char>(value[i]);
      if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
        Stop("syntax", scalar.text.At(i, i + 1),
             "a control character (" + Printable(value.substr(i, 1)) + ") cannot be in a spec");
      }
    }
    if (const size_t i = FindInvalidUtf8(value); i != std::string::npos) {
      Stop("syntax", scalar.text.At(i, i + 1), "this escape is not a character of Unicode");
    }
  }

  static YamlNode Bad(uint32_t at) {
    YamlNode node;
    node.kind = YamlNode::Kind::kBad;
    node.span = {at, at};
    return node;
  }

  void Open(const YAML::Mark& mark, YamlNode::Kind kind) {
    const uint32_t at = Start(mark);
    if (static_cast<int>(stack_.size()) >= kMaxYamlDepth) {
      Stop("syntax", Point(at),
           "values are nested more than " + std::to_string(kMaxYamlDepth) +
               " deep, which is the limit");
    }
    Frame frame;
    frame.in_flow = !stack_.empty() && stack_.back().in_flow;
    const bool bracket = at < text_.size() && (text_[at] == '[' || text_[at] == '{');
    // A block mapping may open at the bracket of its first key; that one is complex, an error.
    if (bracket && !frame.in_flow) {
      const FlowCheck check = CheckFlow(text_, at);
      if (!check.splits.empty() || check.unclosed || check.mismatched) {
        broken_ = check;
        broken_begin_ = at;
        throw StopWalk{};
      }
      frame.in_flow = true;
    }
    frame.node.kind = kind;
    frame.node.span = {at, at + 1};
    stack_.push_back(std::move(frame));
  }

  void CloseCollection() {
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    Place(std::move(node));
  }

  /// Puts a finished node where it belongs: the root, an item, a key or a key's value.
  void Place(YamlNode node) {
    if (stack_.empty()) {
      if (!root_) root_ = std::move(node);
      return;
    }
    Frame& top = stack_.back();
    top.node.span.end = std::max(top.node.span.end, node.span.end);
    if (top.node.kind == YamlNode::Kind::kSequence) {
      top.node.items.push_back(std::move(node));
    } else if (!top.has_key) {
      TakeKey(top, std::move(node));
    } else {
      top.has_key = false;
      if (top.key_is_bad) return;
      top.entry.value = std::move(node);
      top.node.entries.push_back(std::move(top.entry));
    }
  }

  void TakeKey(Frame& top, YamlNode node) {
    top.has_key = true;
    top.key_is_bad = !GoodKey(top, node);
    top.entry = YamlEntry{};
    top.entry.key = std::move(node.text);
  }

  bool GoodKey(Frame& top, const YamlNode& node) {
    if (node.kind == YamlNode::Kind::kBad) return false;
    if (node.kind == YamlNode::Kind::kNull) {
      const bool written = !node.text.value.empty();
      Error("key", written ? node.span : Point(node.span.begin),
            written ? "`null` cannot be a key" : "a key is missing here",
            written ? "quote it, or choose another name" : "");
      return false;
    }
    if (node.kind != YamlNode::Kind::kScalar) {
      Error("key", Point(node.span.begin), "a key must be text, not a list or a mapping");
      return false;
    }
    const std::string& name = node.text.value;
    if (name.empty()) {
      Error("key", node.span, "a key cannot be empty");
      return false;
    }
    if (name == "<<") {
      Error("key", node.span, "merges (`<<`) are not part of the spec language",
            "write the keys out; `params` and `let` name what is shared");
      return false;
    }
    return HasColon(node) && IsFirst(top, node);
  }

  /// yaml-cpp takes a lone word for a key with an empty value; the writer forgot something.
  bool HasColon(const YamlNode& node) {
    size_t at = node.span.end;
    while (at < text_.size() && IsBlank(text_[at])) ++at;
    if (at < text_.size() && text_[at] == ':') return true;
    missing_colon_ = true;
    Error("syntax", node.span, "expected a `:` after " + Quote(node.text.value));
    return false;
  }

  bool IsFirst(Frame& top, const YamlNode& node) {
    const auto [first, inserted] = top.seen.emplace(node.text.value, node.span);
    if (inserted) return true;
    Error("key", node.span, "the key " + Quote(node.text.value) + " is given twice",
          "remove one of the two", {{first->second, "it is first given here"}});
    return false;
  }

  const std::string& text_;
  const uint32_t shift_;  // of yaml-cpp's positions, which leave a byte order mark out
  const std::vector<uint32_t>& blanked_;
  Diagnostics& diagnostics_;
  std::vector<Frame> stack_;
  std::optional<YamlNode> root_;
  std::optional<FlowCheck> broken_;
  uint32_t broken_begin_ = 0;
  uint32_t last_ = 0;  // offset that the walk has reached
  uint32_t tagged_ = UINT32_MAX;
  int nodes_ = 0;
  int documents_ = 0;
  bool missing_colon_ = false;
};

/// yaml-cpp's words for what people get wrong most often, in ours.
struct Wording {
  std::string_view theirs, ours, hint;
  std::string_view rule = "syntax";
};
constexpr Wording kWordings[] = {
    {"end of map not found", "this line does not continue the mapping it stands in",
     "check its indentation and the line before it; text with `: ` or ` #` must be quoted"},
    {"end of sequence not found", "this line does not continue the list it stands in",
     "check its indentation and the line before it"},
    {"illegal map value", "YAML cannot place this `:`",
     "check the indentation of this line and the one before; a value with `: ` in it must be "
     "quoted"},
    {"illegal block entry", "a list cannot start here", "put each `- ` on a line of its own"},
    {"illegal map key", "a `?` cannot start here", "quote the value"},
    {"unknown token", "a plain value cannot start with this character", "quote the value"},
    {"the referenced anchor is not defined", "aliases are not part of the spec language",
     "quote the value if the `*` belongs to it", "key"},
    {"end of map flow not found", "YAML cannot read this `{ }`",
     "quote the values in it, or use block style"},
    {"end of sequence flow not found", "YAML cannot read this `[ ]`",
     "quote the values in it, or use block style"},
};

/// The tab in the indentation of the line of `at`, if there is one.
std::optional<size_t> IndentTab(const std::string& text, size_t at) {
  size_t begin = at;
  while (begin > 0 && text[begin - 1] != '\n') --begin;
  const size_t end = text.find_first_not_of(" \t", begin);
  const size_t tab = text.find('\t', begin);
  if (tab == std::string::npos || tab >= end) return std::nullopt;
  return tab;
}

/// `at` is yaml-cpp's place, `last` where the walk of its events got to before.
void ReportException(const std::string& what, const std::string& text, uint32_t at, uint32_t last,
                     Diagnostics& diagnostics) {
  if (what == "illegal EOF in scalar") {
    const size_t quote = std::min(text.find_first_of("\"'", last), size_t{at});
    diagnostics.Error("syntax", Point(quote), "this quoted text is never closed");
    return;
  }
  if (const std::optional<size_t> tab = IndentTab(text, at)) {
    diagnostics.Error("syntax", Point(*tab), "YAML does not indent with tabs", "use spaces");
    return;
  }
  if (what.starts_with("unknown escape character")) {
    // yaml-cpp has read past the backslash and the letter.
    const Span escape = {at < 2 ? 0 : at - 2, at};
    diagnostics.Error("syntax", escape, "this is no escape of quoted text",
                      "write `\\\\` for a backslash, or use single quotes");
    return;
  }
  for (const Wording& wording : kWordings) {
    if (what == wording.theirs) {
      diagnostics.Error(std::string(wording.rule), Point(at), std::string(wording.ours),
                        std::string(wording.hint));
      return;
    }
  }
  diagnostics.Error("syntax", Point(at), "YAML: " + what);
}

void ReportFlow(const FlowCheck& check, const std::string& text, Diagnostics& diagnostics) {
  for (const Span& split : check.splits) {
    const std::string value = text.substr(split.begin, split.end - split.begin);
    const bool simple = value.size() <= 60 && value.find_first_of("\"\\\n") == std::string::npos;
    diagnostics.Error("yaml-split", split,
                      "YAML ended this value at the comma; quote it, or use block style",
                      simple ? "write \"" + value + "\"" : "");
  }
  if (!check.splits.empty()) return;  // which may be why the brackets do not match
  if (check.mismatched) {
    diagnostics.Error("syntax", *check.mismatched, "this bracket closes none that is open");
  } else if (check.unclosed) {
    diagnostics.Error("syntax", *check.unclosed, "this bracket is never closed");
  }
}

/// The first flow collection between the last event and the place of an exception: yaml-cpp may
/// give up on one before it tells of it.
std::optional<uint32_t> FlowBefore(const std::string& text, uint32_t from, uint32_t to) {
  for (uint32_t at = from; at < to && at < text.size(); ++at) {
    const bool starts = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n';
    if (starts && (text[at] == '[' || text[at] == '{')) return at;
  }
  return std::nullopt;
}

/// Replaces a broken collection by a null that the next pass passes by.
void Blank(std::string& text, uint32_t begin, uint32_t end) {
  for (uint32_t at = begin; at < end && at < text.size(); ++at) {
    if (text[at] != '\n' && text[at] != '\r') text[at] = ' ';
  }
  text[begin] = '~';
}

/// Files that are no text at all, or too much of it.
bool ReadableText(const std::string& text, Diagnostics& diagnostics) {
  if (text.size() > kMaxYamlBytes) {
    diagnostics.Error("syntax", Span{}, "the file has " + std::to_string(text.size()) +
                                            " bytes; the limit is " +
                                            std::to_string(kMaxYamlBytes));
    return false;
  }
  if (const size_t at = FindInvalidUtf8(text); at != std::string::npos) {
    diagnostics.Error("syntax", Point(at), "the file is not UTF-8 text", "save it as UTF-8");
    return false;
  }
  for (size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    const bool line_end = c == '\n' || (c == '\r' && at + 1 < text.size() && text[at + 1] == '\n');
    if (line_end || c == '\t' || (c >= 0x20 && c != 0x7F)) continue;
    diagnostics.Error("syntax", Point(at),
                      c == 0 ? "the file holds binary data (a NUL byte)"
                             : "a control character (" + Printable(text.substr(at, 1)) +
                                   ") cannot be in a spec");
    return false;
  }
  return true;
}

Pass ReadOnce(std::string& text, std::vector<uint32_t>& blanked, Diagnostics& diagnostics) {
  const uint32_t shift = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  TreeBuilder builder(text, shift, blanked, diagnostics);
  std::optional<FlowCheck> broken;
  uint32_t broken_begin = 0;
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return {builder.TakeRoot(), false};
  } catch (const StopWalk&) {
    broken = builder.broken();
    broken_begin = builder.broken_begin();
  } catch (const YAML::ParserException& e) {
    const auto mark = static_cast<uint32_t>(std::max(e.mark.pos, 0));
    const uint32_t at = std::min(mark + shift, static_cast<uint32_t>(text.size()));
    if (const auto flow = FlowBefore(text, builder.last(), at)) {
      broken = CheckFlow(text, *flow);
      broken_begin = *flow;
      if (broken->splits.empty()) broken.reset();
    }
    // A word without its `:` makes yaml-cpp stumble further on; once is enough.
    if (!broken && !builder.missing_colon()) {
      ReportException(e.msg, text, at, builder.last(), diagnostics);
    }
  } catch (const std::exception& e) {
    diagnostics.Error("syntax", Point(builder.last()), std::string("YAML: ") + e.what());
  }
  if (!broken) return {};
  ReportFlow(*broken, text, diagnostics);
  const bool readable = !broken->unclosed && !broken->mismatched;
  if (!readable || blanked.size() >= kMaxSplitPasses) return {};
  Blank(text, broken_begin, broken->end);
  blanked.insert(std::upper_bound(blanked.begin(), blanked.end(), broken_begin), broken_begin);
  return {std::nullopt, true};
}

}  // namespace

std::optional<YamlNode> ParseYaml(const Source& source, Diagnostics& diagnostics) {
  if (!ReadableText(source.text(), diagnostics)) return std::nullopt;
  std::string text = source.text();
  std::vector<uint32_t> blanked;  // offsets of collections already reported, ascending
  Pass pass;
  do {
    // Passes repeat each other's findings; Diagnostics shows equal ones once.
    pass = ReadOnce(text, blanked, diagnostics);
  } while (pass.again);
  if (diagnostics.HasErrors() && !pass.root) return std::nullopt;
  if (!pass.root || (pass.root->kind == YamlNode::Kind::kNull && pass.root->text.value.empty())) {
    diagnostics.Error("syntax", Span{}, "the file is empty",
                      "a spec is a mapping that begins with `kernel: name`");
    return std::nullopt;
  }
  if (pass.root->kind == YamlNode::Kind::kBad) return std::nullopt;
  if (pass.root->kind != YamlNode::Kind::kMapping) {
    diagnostics.Error("syntax", pass.root->span, "a spec is a mapping of keys to values",
                      "begin with `kernel: name`");
    return std::nullopt;
  }
  return std::move(pass.root);
}

}  // namespace kiln
