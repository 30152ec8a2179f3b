#include "generator/spec/read_value.h"

#include <algorithm>
#include <utility>

namespace kiln {
namespace {

std::string KnownKeys(const std::vector<std::string>& known) {
  std::string out = "known keys:";
  for (size_t i = 0; i < known.size(); ++i) out += (i > 0 ? ", " : " ") + known[i];
  return out;
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/// Whether YAML joined several lines of the file into this value.
bool SpansLines(const Reader& reader, const YamlNode& node) {
  const std::string& text = reader.source.text();
  return text.substr(node.span.begin, node.span.end - node.span.begin).find('\n') !=
         std::string::npos;
}

std::string ValueText(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kSequence) return node.text.value;
  std::string out = "[";
  for (size_t i = 0; i < node.items.size(); ++i) {
    out += (i > 0 ? ", " : "") + ValueText(node.items[i]);
  }
  return out + "]";
}

}  // namespace

Text Slice(const Text& text, size_t begin, size_t end) {
  const auto at = [&](size_t i) { return text.offsets.begin() + static_cast<std::ptrdiff_t>(i); };
  return {text.value.substr(begin, end - begin), {at(begin), at(end + 1)}};
}

Text Trim(const Text& text) {
  size_t begin = 0, end = text.value.size();
  while (begin < end && IsSpace(text.value[begin])) ++begin;
  while (end > begin && IsSpace(text.value[end - 1])) --end;
  return text.offsets.empty() ? text : Slice(text, begin, end);
}

std::vector<Text> SplitAtCommas(const Text& text) {
  std::vector<Text> pieces;
  if (Trim(text).value.empty()) return pieces;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < text.value.size(); ++i) {
    const char c = text.value[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c != ',' || depth > 0) continue;
    pieces.push_back(Trim(Slice(text, begin, i)));
    begin = i + 1;
  }
  pieces.push_back(Trim(Slice(text, begin, text.value.size())));
  return pieces;
}

ExprPtr ReadExpr(Reader& reader, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kBad) return nullptr;
  return ParseExpr(node.text, reader.diagnostics);
}

std::vector<ExprPtr> ReadExprs(Reader& reader, const YamlNode& node) {
  std::vector<ExprPtr> out;
  if (node.kind == YamlNode::Kind::kSequence) {
    for (const YamlNode& item : node.items) out.push_back(ReadExpr(reader, item));
    return out;
  }
  // No text is no expression: the index of an operand of rank 0.
  if (node.kind == YamlNode::Kind::kBad || Trim(node.text).value.empty()) return out;
  return ParseExprList(node.text, reader.diagnostics);
}

std::vector<Text> ReadPieces(const YamlNode& node) {
  std::vector<Text> pieces;
  if (node.kind == YamlNode::Kind::kScalar) return SplitAtCommas(node.text);
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::kBad) pieces.push_back(Trim(item.text));
  }
  return pieces;
}

Ident ReadNewName(Reader& reader, const Text& text) {
  Ident name{text.value, text.span()};
  if (text.offsets.empty()) return name;
  CheckNewName(name, reader.diagnostics);
  return name;
}

Ident ReadReference(Reader& reader, const Text& text) {
  Ident name{text.value, text.span()};
  if (text.offsets.empty() || IsIdentifier(name.name)) return name;
  reader.diagnostics.Error("name", name.span, Quote(name.name) + " is not a name");
  return name;
}

std::vector<ParamSpec> ReadNamedExprs(Reader& reader, const YamlNode& node, bool new_names) {
  std::vector<ParamSpec> out;
  for (const YamlEntry& entry : node.entries) {
    Ident name = new_names ? ReadNewName(reader, entry.key) : ReadReference(reader, entry.key);
    out.push_back({std::move(name), ReadExpr(reader, entry.value)});
  }
  return out;
}

std::vector<AxisSpec> ReadGrid(Reader& reader, const YamlNode& node) {
  std::vector<AxisSpec> out;
  for (ParamSpec& axis : ReadNamedExprs(reader, node, true)) {
    out.push_back({std::move(axis.name), std::move(axis.value)});
  }
  return out;
}

std::vector<ArraySpec> ReadArrays(Reader& reader, const YamlNode& node) {
  std::vector<ArraySpec> out;
  for (const YamlEntry& entry : node.entries) {
    ArraySpec array{ReadNewName(reader, entry.key), {}};
    if (entry.value.kind == YamlNode::Kind::kBad) continue;
    if (ParseArrayType(entry.value.text, reader.diagnostics, array.type)) {
      out.push_back(std::move(array));
    }
  }
  return out;
}

std::vector<Ident> ReadSemantics(Reader& reader, const YamlNode& node) {
  const std::vector<std::string> words = {"parallel", "arbitrary"};
  std::vector<Ident> out;
  for (const Text& piece : ReadPieces(node)) {
    if (std::find(words.begin(), words.end(), piece.value) == words.end()) {
      reader.diagnostics.Error(
          "key", piece.span(),
          "`dimension_semantics` takes `parallel` or `arbitrary`, not " + Quote(piece.value),
          DidYouMean(piece.value, words));
    }
    out.push_back({piece.value, piece.span()});
  }
  return out;
}

void ReadPrepare(Reader& reader, const YamlNode& node, PrepareSpec& out) {
  out.span = node.span;
  ParsePrepare(node.text, reader.diagnostics, out.results, out.call);
}

std::vector<PrepareSpec> ReadPrepares(Reader& reader, YamlNode& node) {
  std::vector<PrepareSpec> out;
  if (node.kind == YamlNode::Kind::kSequence) {
    for (YamlNode& item : node.items) {
      for (PrepareSpec& one : ReadPrepares(reader, item)) out.push_back(std::move(one));
    }
  } else if (node.kind == YamlNode::Kind::kMapping) {
    ReadKeys(reader, PrepareSection(), node, node.span, out.emplace_back());
  } else if (node.kind == YamlNode::Kind::kScalar) {
    ReadPrepare(reader, node, out.emplace_back());
  }
  return out;
}

namespace {

/// A relative path whose parts are names.
bool StaysInside(const std::string& path) {
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace

std::string ReadHeader(Reader& reader, const YamlNode& node) {
  const std::string& header = node.text.value;
  // It becomes an #include: nothing that could end the name, and nothing that leads out of the
  // folders that headers are in.
  const bool good = StaysInside(header) && std::all_of(header.begin(), header.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ||
                             c == '/' || c == '+';
                    });
  if (good) return header;
  reader.diagnostics.Error("syntax", node.span, Quote(header) + " is not the name of a header",
                           "letters, digits and `_ - + .`, in folders below the spec's own, as in "
                           "`my/pages.h`: neither absolute nor with `..`");
  return "";
}

namespace {

template <typename V>
std::vector<V> ReadEach(Reader& reader, const Section<V>& section, YamlNode& node) {
  std::vector<V> out;
  for (YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::kMapping) continue;
    out.emplace_back().span = item.span;
    ReadKeys(reader, section, item, item.span, out.back());
  }
  return out;
}

}  // namespace

std::vector<VariantSpec> ReadVariants(Reader& reader, YamlNode& node) {
  return ReadEach(reader, VariantSection(), node);
}

std::vector<LockEntry> ReadLockEntries(Reader& reader, YamlNode& node) {
  return ReadEach(reader, LockEntrySection(), node);
}

std::vector<VmapSpec::Over> ReadOver(Reader& reader, const YamlNode& node) {
  std::vector<VmapSpec::Over> out;
  for (ParamSpec& p : ReadNamedExprs(reader, node, false)) {
    out.push_back({std::move(p.name), std::move(p.value)});
  }
  return out;
}

std::vector<InstanceSpec> ReadInstances(Reader& reader, const YamlNode& node) {
  std::vector<InstanceSpec> out;
  for (const YamlEntry& entry : node.entries) {
    Ident name = ReadNewName(reader, entry.key);
    out.push_back({std::move(name), ReadNamedExprs(reader, entry.value, false)});
  }
  return out;
}

std::vector<GoldenSpec> ReadGolden(Reader& reader, const YamlNode& node) {
  std::vector<GoldenSpec> out;
  for (const YamlNode& item : node.items) {
    if (item.kind == YamlNode::Kind::kBad) continue;
    out.emplace_back().span = item.span;
    for (const YamlEntry& entry : item.entries) {
      Ident name = ReadReference(reader, entry.key);
      out.back().sizes.emplace_back(std::move(name), ValueText(entry.value));
    }
  }
  return out;
}

namespace {

/// The file of `@z.npy`: a plain name, so that a spec can only ever read what is beside it.
std::string ReadFileBeside(Reader& reader, const Text& text) {
  const std::string file = text.value.substr(1);
  const bool plain =
      !file.empty() && file[0] != '.' && std::all_of(file.begin(), file.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
      });
  if (plain && file.ends_with(".npy")) return file;
  reader.diagnostics.Error(
      "syntax", text.span(), Quote(file) + " is not the name of a .npy file",
      "letters, digits and `_ - .`, as in `@z.npy`; it is a file beside the spec");
  return "";
}

}  // namespace

std::vector<ReferenceSpec> ReadReferences(Reader& reader, const YamlNode& node) {
  std::vector<ReferenceSpec> out;
  for (const YamlEntry& entry : node.entries) {
    if (entry.value.kind == YamlNode::Kind::kBad) continue;
    const Text text = Trim(entry.value.text);
    ReferenceSpec& reference = out.emplace_back();
    reference.output = ReadReference(reader, entry.key);
    reference.span = entry.value.span;
    if (text.value.starts_with('@'))
      reference.file = ReadFileBeside(reader, text);
    else
      reference.value = ReadExpr(reader, entry.value);
  }
  return out;
}

std::vector<Stmt> ReadStatements(Reader& reader, const YamlEntry& entry) {
  const YamlNode& node = entry.value;
  if (node.style == ScalarStyle::kFolded ||
      (node.style != ScalarStyle::kLiteral && SpansLines(reader, node))) {
    reader.diagnostics.Error("syntax",
                             node.style == ScalarStyle::kFolded ? node.span : node.text.span(),
                             "YAML joins the lines of this " + Quote(entry.key.value) + " into one",
                             "write `" + entry.key.value + ": |` and the statements below it");
    return {};
  }
  return ParseBody(node.text, reader.diagnostics);
}

bool IsGiven(const YamlNode& mapping, const std::string& key) {
  return std::any_of(mapping.entries.begin(), mapping.entries.end(),
                     [&](const YamlEntry& entry) { return entry.key.value == key; });
}

void ReportUnknownKey(Reader& reader, const YamlEntry& entry, const std::string& section,
                      const std::vector<std::string>& known) {
  const std::string nearest = DidYouMean(entry.key.value, known);
  reader.diagnostics.Error("key", entry.key.span(),
                           Quote(entry.key.value) + " is not a key of " +
                               (section == "spec" ? "a spec" : Quote(section)),
                           (nearest.empty() ? "" : nearest + " ") + KnownKeys(known));
}

}  // namespace kiln
