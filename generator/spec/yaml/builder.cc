#include "generator/spec/yaml/builder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "generator/syntax/names.h"
#include "generator/text/characters.h"
#include "generator/text/utf8.h"

namespace kiln {
namespace {

YamlNode Bad(uint32_t at) {
  YamlNode node;
  node.kind = YamlNode::Kind::kBad;
  node.span = {at, at};
  return node;
}

}  // namespace

void YamlBuilder::OnDocumentStart(const YAML::Mark& mark) {
  if (documents_++ == 0) return;
  Stop("key", Point(Offset(mark)), "a spec is one YAML document; a second one starts here",
       "keep each kernel in a file of its own");
}

void YamlBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t) {
  const uint32_t at = Start(mark);
  if (IsBlanked(at)) return Place(Bad(at));
  YamlNode node;
  node.span = {at, at};
  node.text.offsets = {at};
  if (const uint32_t length = WrittenNull(at, AwaitsKey()); length > 0) {
    node.span = {at, at + length};
    node.text.value = "null";
    // `~` is shorter than the text that stands for it.
    node.text.offsets.clear();
    for (uint32_t i = 0; i <= 4; ++i) node.text.offsets.push_back(at + std::min(i, length));
  }
  Place(std::move(node));
}

void YamlBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t) {
  const uint32_t at = Start(mark);
  Error("key", TokenAt(at), "aliases are not part of the spec language",
        "write the value out where it is used; `params` and `let` name what is shared");
  Place(Bad(at));
}

void YamlBuilder::OnAnchor(const YAML::Mark& mark, const std::string&) {
  Error("key", TokenAt(Offset(mark)), "anchors are not part of the spec language",
        "remove it; `params` and `let` name what is shared");
}

void YamlBuilder::OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                           const std::string& value) {
  const uint32_t at = SkipProperties(Start(mark));
  // Text behind a blanked collection makes it a scalar.
  if (IsBlanked(at)) return Place(Bad(at));
  if (value.size() > kMaxYamlScalar) {
    Stop("syntax", Point(at),
         "this text has " + std::to_string(value.size()) + " bytes; the limit is " +
             std::to_string(kMaxYamlScalar));
  }
  LocatedScalar scalar = LocateScalar(text_, at, value);
  CheckScalar(at, scalar);
  last_ = scalar.end;
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.style = scalar.style;
  node.span = {at, std::max(at, scalar.end)};
  node.text = std::move(scalar.text);
  Place(std::move(node));
}

void YamlBuilder::OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                                  YAML::EmitterStyle::value) {
  Open(mark, YamlNode::Kind::kSequence);
}

void YamlBuilder::OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                             YAML::EmitterStyle::value) {
  Open(mark, YamlNode::Kind::kMapping);
}

uint32_t YamlBuilder::Offset(const YAML::Mark& mark) const {
  const auto pos = static_cast<uint32_t>(std::max(mark.pos, 0));
  return std::min(pos + shift_, static_cast<uint32_t>(text_.size()));
}

void YamlBuilder::Error(RuleLabel rule, Span span, std::string message, std::string hint,
                        std::vector<Note> notes) {
  diagnostics_.Error(rule, span, std::move(message), std::move(hint), std::move(notes));
}

void YamlBuilder::Stop(RuleLabel rule, Span span, std::string message, std::string hint) {
  Error(rule, span, std::move(message), std::move(hint));
  throw StopWalk{};
}

/// What every node begins with: its offset, the count of nodes, explicit tags.
uint32_t YamlBuilder::Start(const YAML::Mark& mark) {
  const uint32_t at = Offset(mark);
  if (++nodes_ > kMaxYamlNodes) {
    Stop("syntax", Point(at),
         "the file has more than " + std::to_string(kMaxYamlNodes) +
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
uint32_t YamlBuilder::SkipProperties(uint32_t at) const {
  while (at < text_.size() && (text_[at] == '!' || text_[at] == '&')) {
    at = TokenAt(at).end;
    while (at < text_.size() && (IsBlank(text_[at]) || text_[at] == '\n')) ++at;
  }
  return at;
}

Span YamlBuilder::TokenAt(uint32_t at) const {
  const size_t end = text_.find_first_of(" \t\r\n,]}", at);
  return {at, static_cast<uint32_t>(end == std::string::npos ? text_.size() : end)};
}

bool YamlBuilder::IsBlanked(uint32_t at) const {
  return std::binary_search(blanked_.begin(), blanked_.end(), at);
}

bool YamlBuilder::AwaitsKey() const {
  return !stack_.empty() && stack_.back().node.kind == YamlNode::Kind::kMapping &&
         !stack_.back().has_key;
}

/// The length of a null that is written out at `at`, or 0: yaml-cpp marks a value that is not
/// there at the token that follows, which may be a key called `null`.
uint32_t YamlBuilder::WrittenNull(uint32_t at, bool as_key) const {
  for (const std::string_view word : {"null", "Null", "NULL", "~"}) {
    if (text_.compare(at, word.size(), word) != 0) continue;
    size_t next = at + word.size();
    while (next < text_.size() && IsBlank(text_[next])) ++next;
    const char after = next < text_.size() ? text_[next] : '\n';
    const bool ends = std::string_view("\n\r,]}#").find(after) != std::string_view::npos;
    if (ends || (after == ':' && as_key)) return static_cast<uint32_t>(word.size());
  }
  return 0;
}

void YamlBuilder::CheckScalar(uint32_t at, const LocatedScalar& scalar) {
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

void YamlBuilder::Open(const YAML::Mark& mark, YamlNode::Kind kind) {
  const uint32_t at = Start(mark);
  if (static_cast<int>(stack_.size()) >= kMaxYamlDepth) {
    Stop("syntax", Point(at),
         "values are nested more than " + std::to_string(kMaxYamlDepth) +
             " deep, which is the limit");
  }
  Frame frame;
  frame.in_flow = !stack_.empty() && stack_.back().in_flow;
  if (!frame.in_flow) CheckBrackets(at, frame);
  frame.node.kind = kind;
  frame.node.span = {at, at + 1};
  stack_.push_back(std::move(frame));
}

/// Looks at an outermost flow collection before yaml-cpp can misread it.
void YamlBuilder::CheckBrackets(uint32_t at, Frame& frame) {
  if (at >= text_.size() || (text_[at] != '[' && text_[at] != '{')) return;
  FlowCheck check = CheckFlow(text_, at);
  if (!check.splits.empty() || check.unclosed || check.mismatched) {
    broken_ = {at, std::move(check)};
    throw StopWalk{};
  }
  frame.in_flow = true;
}

void YamlBuilder::CloseCollection() {
  YamlNode node = std::move(stack_.back().node);
  stack_.pop_back();
  Place(std::move(node));
}

/// Puts a finished node where it belongs: the root, an item, a key or a key's value.
void YamlBuilder::Place(YamlNode node) {
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

void YamlBuilder::TakeKey(Frame& top, YamlNode node) {
  top.has_key = true;
  top.key_is_bad = !GoodKey(top, node);
  top.entry = YamlEntry{};
  top.entry.key = std::move(node.text);
}

bool YamlBuilder::GoodKey(Frame& top, const YamlNode& node) {
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
bool YamlBuilder::HasColon(const YamlNode& node) {
  size_t at = node.span.end;
  while (at < text_.size() && IsBlank(text_[at])) ++at;
  if (at < text_.size() && text_[at] == ':') return true;
  missing_colon_ = true;
  Error("syntax", node.span, "expected a `:` after " + Quote(node.text.value));
  return false;
}

bool YamlBuilder::IsFirst(Frame& top, const YamlNode& node) {
  const auto [first, inserted] = top.seen.emplace(node.text.value, node.span);
  if (inserted) return true;
  Error("key", node.span, "the key " + Quote(node.text.value) + " is given twice",
        "remove one of the two", {{first->second, "it is first given here"}});
  return false;
}

}  // namespace kiln
