#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/spec/spec.h"
#include "generator/spec/yaml/yaml.h"

/// The table of every key of the spec language. The parser walks a file by it, the JSON Schema
/// and the manual's reference are printed from it: adding a key is one entry in
/// spec_fields.cc, operand_fields.cc, pipeline_fields.cc, entry_fields.cc or variant_fields.cc.
namespace kiln {

/// The form of a key's value.
struct ValueForm {
  enum class Kind {
    kScalar,    // text that `label` describes ("an expression")
    kName,      // an identifier
    kWord,      // one of `words`
    kNull,      // `null`, or nothing
    kList,      // of[0] each; `label` may say it shorter
    kFreeKeys,  // names of the writer's own (`label` says of what) to of[0]
    kKeys,      // the keys of the section called `label`
    kOneOf,     // any of `of`, distinguished by the kind of YAML value
  };
  Kind kind = Kind::kScalar;
  std::string label;
  std::vector<std::string> words;
  std::vector<ValueForm> of;
  std::string pattern = "";  // kScalar: what the schema knows of the text
};

/// What the schema says of a name.
inline constexpr const char* kNamePattern = "^[A-Za-z_][A-Za-z0-9_]*$";

/// "a mapping of axes to expressions", for messages and the reference.
std::string Describe(const ValueForm& form);

struct FieldInfo {
  std::string name;
  ValueForm form;
  bool required = false;
  std::string description;  // for users, Markdown
  std::string example;      // a value in block style, on one line
  std::string unless = "";  // a key that may stand in place of one that is required
};

/// What readers of values work on.
struct Reader {
  const Source& source;
  Diagnostics& diagnostics;
};

template <typename T>
struct Field {
  FieldInfo info;
  /// Reads a value that has the field's form into `out`. Parts of it may be kBad.
  void (*read)(Reader& reader, YamlEntry& entry, T& out);
};

template <typename T>
struct Section {
  std::string id;     // what ValueForm::kKeys and the schema's definitions call it
  std::string title;  // of the reference: "Operands"
  std::string description;
  std::vector<Field<T>> fields;
};

const Section<Spec>& SpecSection();
const Section<OperandSpec>& OperandSection();
const Section<PipelineSpec>& PipelineSection();
/// What a pipeline says of an operand: some of its keys.
const Section<OperandSpec>& OverSection();
const Section<ScratchSpec>& ScratchSection();
const Section<DimSpec>& DimSection();
const Section<PrepareSpec>& PrepareSection();
const Section<VariantSpec>& VariantSection();
const Section<VmapSpec>& VmapSection();
const Section<LockSpec>& LockSection();
const Section<LockEntry>& LockEntrySection();

/// The forms of a block entry, which are grammar text and not YAML keys.
struct BlockForm {
  std::string name;
  BlockEntry::Kind kind;
  std::string usage;
  std::string description;
};
const std::vector<BlockForm>& BlockForms();

/// A section without its readers.
struct SectionInfo {
  std::string id, title, description;
  std::vector<FieldInfo> fields;
};
/// All sections, the file's own keys first.
std::vector<SectionInfo> Sections();
/// Those of lock files.
std::vector<SectionInfo> LockSections();

/// JSON Schema (draft 7) of a spec file, for editors.
std::string JsonSchema();
/// The same of a lock file.
std::string LockSchema();
/// The reference of keys, in Markdown.
std::string FieldReference();

}  // namespace kiln
