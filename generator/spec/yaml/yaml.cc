#include "generator/spec/yaml/yaml.h"

#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <sstream>
#include <utility>

#include "generator/spec/yaml/builder.h"
#include "generator/text/utf8.h"

namespace kiln {
namespace {

// A file with more broken flow collections than this says the same thing often enough.
constexpr size_t kMaxBlanked = 8;

/// What one pass over the text found.
struct Pass {
  std::optional<YamlNode> root;
  bool again = false;  // a flow collection was blanked out: read the text once more
};

/// Files that are no text at all, or too much of it.
bool ReadableText(const std::string& text, Diagnostics& diagnostics) {
  if (text.size() > kMaxYamlBytes) {
    diagnostics.Error(
        "syntax", Span{},
        "the file has more than " + std::to_string(kMaxYamlBytes) + " bytes, which is the limit");
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
    diagnostics.Error(
        "syntax", Point(at),
        c == 0 ? "the file holds binary data (a NUL byte)"
               : "a control character (" + Printable(text.substr(at, 1)) + ") cannot be in a spec");
    return false;
  }
  return true;
}

/// Replaces a broken collection by a null that the next pass passes by.
void Blank(std::string& text, uint32_t begin, uint32_t end) {
  for (uint32_t at = begin; at < end; ++at) {
    if (text[at] != '\n' && text[at] != '\r') text[at] = ' ';
  }
  text[begin] = '~';
}

/// Reports a collection that the builder stopped at; true when it could be blanked out, so that
/// the rest of the file can be read without it.
bool PassBy(const BrokenFlow& broken, std::string& text, std::vector<uint32_t>& blanked,
            Diagnostics& diagnostics) {
  ReportFlow(broken.check, text, diagnostics);
  const bool bounded = !broken.check.unclosed && !broken.check.mismatched;
  if (!bounded || blanked.size() >= kMaxBlanked) return false;
  Blank(text, broken.begin, broken.check.end);
  blanked.insert(std::upper_bound(blanked.begin(), blanked.end(), broken.begin), broken.begin);
  return true;
}

Pass ReadOnce(std::string& text, std::vector<uint32_t>& blanked, Diagnostics& diagnostics) {
  const uint32_t shift = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  YamlBuilder builder(text, shift, blanked, diagnostics);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return {builder.TakeRoot(), false};
  } catch (const StopWalk&) {
    const std::optional<BrokenFlow> broken = builder.broken();
    if (broken && PassBy(*broken, text, blanked, diagnostics)) return {std::nullopt, true};
  } catch (const YAML::ParserException& e) {
    ReportYamlException(e.msg, builder.Offset(e.mark), text, builder, diagnostics);
  } catch (const std::exception& e) {
    diagnostics.Error("syntax", Point(builder.last()), std::string("YAML: ") + e.what());
  }
  return {};
}

}  // namespace

std::optional<YamlNode> ParseYaml(const Source& source, Diagnostics& diagnostics) {
  if (!ReadableText(source.text(), diagnostics)) return std::nullopt;
  std::string text = source.text();
  std::vector<uint32_t> blanked;  // offsets of collections already reported, ascending
  Diagnostics found;
  Pass pass;
  do {
    // Passes repeat each other's diagnostics; Diagnostics shows equal ones once.
    pass = ReadOnce(text, blanked, found);
  } while (pass.again);
  for (Diagnostic& diagnostic : found.Sorted()) diagnostics.Add(std::move(diagnostic));

  std::optional<YamlNode>& root = pass.root;
  if (!root && found.HasErrors()) return std::nullopt;
  if (!root || (root->kind == YamlNode::Kind::kNull && root->text.value.empty())) {
    diagnostics.Error("syntax", Span{}, "the file is empty",
                      "a spec is a mapping that begins with `kernel: name`");
    return std::nullopt;
  }
  if (root->kind == YamlNode::Kind::kBad) return std::nullopt;
  if (root->kind != YamlNode::Kind::kMapping) {
    diagnostics.Error("syntax", root->span, "a spec is a mapping of keys to values",
                      "begin with `kernel: name`");
    return std::nullopt;
  }
  return std::move(root);
}

}  // namespace kiln
