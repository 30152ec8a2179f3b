#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "generator/spec/yaml/builder.h"

namespace kiln {
namespace {

/// yaml-cpp's words for what people get wrong most often, in ours.
struct Wording {
  std::string_view theirs, ours, hint;
  RuleLabel rule = "syntax";
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

/// The first flow collection between the last event and the place of an exception: yaml-cpp may
/// give up on one before it reports it.
std::optional<FlowCheck> SplitFlowBefore(const std::string& text, uint32_t from, uint32_t to) {
  for (uint32_t at = from; at < to && at < text.size(); ++at) {
    const bool starts = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n';
    if (!starts || (text[at] != '[' && text[at] != '{')) continue;
    FlowCheck check = CheckFlow(text, at);
    if (check.splits.empty()) return std::nullopt;
    return check;
  }
  return std::nullopt;
}

/// The tab in the indentation of the line of `at`, if there is one.
std::optional<size_t> IndentTab(const std::string& text, size_t at) {
  size_t begin = at;
  while (begin > 0 && text[begin - 1] != '\n') --begin;
  const size_t end = text.find_first_not_of(" \t", begin);
  const size_t tab = text.find('\t', begin);
  if (tab == std::string::npos || tab >= end) return std::nullopt;
  return tab;
}

}  // namespace

void ReportYamlException(const std::string& what, uint32_t at, const std::string& text,
                         const YamlBuilder& builder, Diagnostics& diagnostics) {
  if (const auto split = SplitFlowBefore(text, builder.last(), at)) {
    ReportFlow(*split, text, diagnostics);
    return;
  }
  // A word without its `:` makes yaml-cpp stumble further on; once is enough.
  if (builder.missing_colon()) return;
  if (what == "illegal EOF in scalar") {
    const size_t quote = std::min(text.find_first_of("\"'", builder.last()), size_t{at});
    diagnostics.Error("syntax", Point(quote), "this quoted text is never closed");
    return;
  }
  if (const std::optional<size_t> tab = IndentTab(text, at)) {
    diagnostics.Error("syntax", Point(*tab), "YAML does not indent with tabs", "use spaces");
    return;
  }
  if (what.starts_with("unknown escape character")) {
    // yaml-cpp has read past the backslash and the letter.
    diagnostics.Error("syntax", {at < 2 ? 0 : at - 2, at}, "this is no escape of quoted text",
                      "write `\\\\` for a backslash, or use single quotes");
    return;
  }
  for (const Wording& wording : kWordings) {
    if (what != wording.theirs) continue;
    diagnostics.Error(wording.rule, Point(at), std::string(wording.ours),
                      std::string(wording.hint));
    return;
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

}  // namespace kiln
