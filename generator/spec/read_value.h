#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/spec/fields.h"
#include "generator/syntax/names.h"

/// How the fields' readers turn YAML values into parts of a Spec. Values marked kBad were
/// reported before: readers give null or nothing for them and stay silent.
namespace kiln {

/// The bytes [begin, end) of a text, with their places.
Text Slice(const Text& text, size_t begin, size_t end);
Text Trim(const Text& text);
/// The pieces between commas that stand outside all brackets, trimmed. Empty text: none.
std::vector<Text> SplitAtCommas(const Text& text);

/// Reports error[key] for what has not the field's form and marks it kBad; false when that is
/// the whole value.
bool CheckForm(Reader& reader, YamlEntry& entry, const FieldInfo& field);

ExprPtr ReadExpr(Reader& reader, const YamlNode& node);
/// A list, or text with commas.
std::vector<ExprPtr> ReadExprs(Reader& reader, const YamlNode& node);
/// The pieces of a list, or of text with commas.
std::vector<Text> ReadPieces(const YamlNode& node);

/// A name that the spec gives to something of its own; empty and reported when it may not.
Ident ReadNewName(Reader& reader, const Text& text);
/// A name of something declared elsewhere.
Ident ReadReference(Reader& reader, const Text& text);

/// `name: expression` pairs: params, lets, the `set` of a variant.
std::vector<ParamSpec> ReadNamedExprs(Reader& reader, const YamlNode& node, bool new_names);

std::vector<BlockEntry> ReadBlock(Reader& reader, const YamlNode& node);
std::vector<OperandEntry> ReadOperands(Reader& reader, YamlEntry& entry, bool outputs);
std::vector<AxisSpec> ReadGrid(Reader& reader, const YamlNode& node);
std::vector<PipelineSpec::Over> ReadPipelineOver(Reader& reader, YamlNode& node);
std::vector<ScratchSpec> ReadScratch(Reader& reader, YamlNode& node);
void ReadDims(Reader& reader, YamlNode& node, Spec& spec);
void ReadPrepare(Reader& reader, const YamlNode& node, PrepareSpec& out);
std::vector<PrepareSpec> ReadPrepares(Reader& reader, YamlNode& node);
std::vector<ArraySpec> ReadArrays(Reader& reader, const YamlNode& node);
std::vector<Ident> ReadSemantics(Reader& reader, const YamlNode& node);
std::vector<InstanceSpec> ReadInstances(Reader& reader, const YamlNode& node);
std::vector<GoldenSpec> ReadGolden(Reader& reader, const YamlNode& node);
std::vector<ReferenceSpec> ReadReferences(Reader& reader, const YamlNode& node);
std::vector<VariantSpec> ReadVariants(Reader& reader, YamlNode& node);
std::vector<LockEntry> ReadLockEntries(Reader& reader, YamlNode& node);
std::vector<VmapSpec::Over> ReadOver(Reader& reader, const YamlNode& node);
std::vector<Stmt> ReadStatements(Reader& reader, const YamlEntry& entry);
std::string ReadHeader(Reader& reader, const YamlNode& node);

/// Reports a key that is not in `fields`, with the nearest that is.
void ReportUnknownKey(Reader& reader, const YamlEntry& entry, const std::string& section,
                      const std::vector<std::string>& known);

bool IsGiven(const YamlNode& mapping, const std::string& key);

/// Walks a mapping by a table. `where` is the place for what is missing.
template <typename T>
void ReadKeys(Reader& reader, const Section<T>& section, YamlNode& mapping, Span where, T& out) {
  std::vector<std::string> known;
  for (const Field<T>& field : section.fields) known.push_back(field.info.name);
  std::vector<bool> given(section.fields.size());
  for (YamlEntry& entry : mapping.entries) {
    size_t i = 0;
    while (i < known.size() && known[i] != entry.key.value) ++i;
    if (i == known.size()) {
      ReportUnknownKey(reader, entry, section.id, known);
      continue;
    }
    given[i] = true;
    if (entry.value.kind == YamlNode::Kind::kBad) continue;
    if (!CheckForm(reader, entry, section.fields[i].info)) continue;
    section.fields[i].read(reader, entry, out);
  }
  for (size_t i = 0; i < known.size(); ++i) {
    const FieldInfo& info = section.fields[i].info;
    if (given[i] || !info.required || IsGiven(mapping, info.unless)) continue;
    reader.diagnostics.Error("key", where, "the key " + Quote(info.name) + " is missing",
                             "for example `" + info.name + ": " + info.example + "`");
  }
}

}  // namespace kiln
