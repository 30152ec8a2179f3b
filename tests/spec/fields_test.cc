// The table of keys, as the schema and the reference print it.
#include "generator/spec/fields.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"

namespace kiln::fields_test {
namespace {

TEST_CASE("the schema knows every key") {
  const auto schema = nlohmann::json::parse(JsonSchema());
  CHECK(schema["$schema"] == "http://json-schema.org/draft-07/schema#");
  CHECK(schema["additionalProperties"] == false);
  CHECK(schema["required"] == nlohmann::json::parse(R"(["kernel", "outputs"])"));
  CHECK(schema["allOf"] == nlohmann::json::parse(R"([{"if": {"not": {"required": ["pipeline"]}},
                                                      "then": {"required": ["body"]}}])"));
  const std::vector<SectionInfo> sections = Sections();
  for (size_t i = 0; i < sections.size(); ++i) {
    const auto& part = i == 0 ? schema : schema["definitions"][sections[i].id];
    for (const FieldInfo& field : sections[i].fields) {
      CAPTURE(sections[i].id, field.name);
      CHECK(part["properties"][field.name]["description"] == field.description);
    }
  }
}

TEST_CASE("the reference has a row for every key, whose example is right") {
  const std::string reference = FieldReference();
  for (const SectionInfo& section : Sections()) {
    CHECK(reference.find("## " + section.title + "\n") != std::string::npos);
    for (const FieldInfo& field : section.fields) {
      CAPTURE(section.id, field.name);
      CHECK(reference.find("| `" + field.name + "` | ") != std::string::npos);
      CHECK_FALSE(field.description.empty());
    }
  }
  for (const BlockForm& form : BlockForms()) {
    CHECK(reference.find("| `" + form.usage + "` | ") != std::string::npos);
  }
  // The examples of the top level parse; each replaces the line that is there.
  const SectionInfo top = Sections().front();
  for (const FieldInfo& field : top.fields) {
    std::string text = field.name + ": " + field.example + "\n";
    for (const char* line : {"kernel: k\n", "outputs: {z: \"f32[m]\"}\n", "body: z = x\n"}) {
      const bool replaced = field.name == "pipeline" && std::string(line).starts_with("body:");
      if (!std::string(line).starts_with(field.name + ":") && !replaced) text += line;
    }
    Diagnostics diagnostics;
    const auto source = std::make_shared<const Source>("-", text);
    ParseSpec(source, diagnostics);
    CHECK(Render(diagnostics, *source) == "");
  }
}

}  // namespace
}  // namespace kiln::fields_test
