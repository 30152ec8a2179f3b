// What is made of the tables of keys: the JSON Schema and the manual's reference.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "generator/spec/fields.h"

namespace kiln {
namespace {

using Json = nlohmann::ordered_json;

/// Kiln's grammar is text, but `512`, `0.5` and `true` reach a schema as what YAML makes of them.
Json ScalarTypes() { return Json::array({"string", "number", "boolean"}); }

Json Alternatives(const ValueForm& form);

Json SchemaOf(const ValueForm& form) {
  switch (form.kind) {
    case ValueForm::Kind::kScalar:
      if (!form.pattern.empty()) return {{"type", "string"}, {"pattern", form.pattern}};
      return {{"type", ScalarTypes()}};
    case ValueForm::Kind::kName:
      return {{"type", "string"}, {"pattern", kNamePattern}};
    case ValueForm::Kind::kWord:
      return {{"type", "string"}, {"enum", form.words}};
    case ValueForm::Kind::kNull:
      return {{"type", "null"}};
    case ValueForm::Kind::kList:
      return {{"type", Json::array({"array", "null"})}, {"items", SchemaOf(form.of[0])}};
    case ValueForm::Kind::kFreeKeys:
      return {{"type", Json::array({"object", "null"})},
              {"patternProperties", {{kNamePattern, SchemaOf(form.of[0])}}},
              {"additionalProperties", false}};
    case ValueForm::Kind::kKeys:
      return {{"$ref", "#/definitions/" + form.label}};
    case ValueForm::Kind::kOneOf:
      break;
  }
  return Alternatives(form);
}

/// Distinguished by type, so that what is wrong inside of one is reported as that: of `anyOf` an
/// editor says only that none fits.
Json Alternatives(const ValueForm& form) {
  Json types = Json::array(), all = Json::array();
  for (const ValueForm& one : form.of) {
    Json then = SchemaOf(one);
    const Json type = one.kind == ValueForm::Kind::kKeys ? Json("object") : then["type"];
    for (const Json& name : type.is_array() ? type : Json::array({type})) {
      if (std::find(types.begin(), types.end(), name) == types.end()) types.push_back(name);
    }
    then.erase("type");
    if (!then.empty()) all.push_back({{"if", {{"type", type}}}, {"then", std::move(then)}});
  }
  Json schema = {{"type", std::move(types)}};
  if (!all.empty()) schema["allOf"] = std::move(all);  // the draft requires one at least
  return schema;
}

/// Markdown's code quotes mean nothing in an editor's tooltip, but do no harm.
Json SchemaOf(const FieldInfo& field) {
  Json schema = {{"description", field.description}};
  const Json form = SchemaOf(field.form);
  // Draft 7 ignores what stands beside a $ref.
  if (form.contains("$ref")) {
    schema["allOf"] = Json::array({form});
  } else {
    schema.update(form);
  }
  return schema;
}

Json SchemaOf(const SectionInfo& section) {
  Json schema = {{"description", section.description}, {"type", "object"}};
  Json required = Json::array();
  schema["properties"] = Json::object();
  for (const FieldInfo& field : section.fields) {
    schema["properties"][field.name] = SchemaOf(field);
    if (field.required && field.unless.empty()) required.push_back(field.name);
    if (!field.required || field.unless.empty()) continue;
    schema["allOf"].push_back({{"if", {{"not", {{"required", Json::array({field.unless})}}}}},
                               {"then", {{"required", Json::array({field.name})}}}});
  }
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

std::string Cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string Row(const std::string& first, const std::string& second, const std::string& third) {
  return "| " + Cell(first) + " | " + Cell(second) + " | " + Cell(third) + " |\n";
}

std::string SectionReference(const SectionInfo& section) {
  std::string out = "## " + section.title + "\n\n" + section.description + "\n\n";
  out += "| key | value | meaning |\n|---|---|---|\n";
  for (const FieldInfo& field : section.fields) {
    const std::string required =
        field.unless.empty() ? " **Required.**" : " **Required**, or `" + field.unless + "`.";
    const std::string meaning = field.description + (field.required ? required : "") + "<br>`" +
                                field.name + ": " + field.example + "`";
    out += Row("`" + field.name + "`", Describe(field.form), meaning);
  }
  return out;
}

std::string BlockReference() {
  std::string out = "## Block entries\n\nThe forms of an entry of `block`.\n\n";
  out += "| form | meaning |\n|---|---|\n";
  for (const BlockForm& form : BlockForms()) {
    out += "| `" + form.usage + "` | " + Cell(form.description) + " |\n";
  }
  return out;
}

template <typename T>
SectionInfo InfoOf(const Section<T>& section) {
  SectionInfo info{section.id, section.title, section.description, {}};
  for (const Field<T>& field : section.fields) info.fields.push_back(field.info);
  return info;
}

std::string SchemaOf(const std::vector<SectionInfo>& sections, const char* title) {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  schema.update(SchemaOf(sections.front()));
  schema["definitions"] = Json::object();
  for (size_t i = 1; i < sections.size(); ++i) {
    schema["definitions"][sections[i].id] = SchemaOf(sections[i]);
  }
  return schema.dump(2);
}

}  // namespace

std::vector<SectionInfo> Sections() {
  return {InfoOf(SpecSection()),     InfoOf(OperandSection()), InfoOf(ScratchSection()),
          InfoOf(PipelineSection()), InfoOf(OverSection()),    InfoOf(DimSection()),
          InfoOf(PrepareSection()),  InfoOf(VariantSection()), InfoOf(VmapSection())};
}

std::vector<SectionInfo> LockSections() {
  return {InfoOf(LockSection()), InfoOf(LockEntrySection())};
}

std::string JsonSchema() { return SchemaOf(Sections(), "Kiln spec"); }
std::string LockSchema() { return SchemaOf(LockSections(), "Lock file of a Kiln spec"); }

std::string FieldReference() {
  std::string out;
  std::vector<SectionInfo> sections = Sections();
  for (SectionInfo& section : LockSections()) sections.push_back(std::move(section));
  for (const SectionInfo& section : sections) {
    out += (out.empty() ? "" : "\n") + SectionReference(section);
    if (section.id == "operand") out += "\n" + BlockReference();
  }
  out.pop_back();  // like JsonSchema, without a last line end
  return out;
}

}  // namespace kiln
