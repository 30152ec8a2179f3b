// The JSON Schema, as editors use it: it takes every spec that ships, and of one that is wrong it
// says what and where.
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "generator/spec/fields.h"
#include "generator/spec/yaml/yaml.h"
#include "tests/catch.h"

namespace kiln::schema_test {
namespace {

using Json = nlohmann::json;

/// Of draft 7 what Kiln's schemas use.
class Validator {
 public:
  explicit Validator(Json schema) : root_(std::move(schema)) {}

  /// "/inputs/x/blok: not a key", one a line.
  std::string Wrong(const Json& value) const {
    std::string wrong;
    Check(value, root_, "", wrong);
    return wrong;
  }

 private:
  static bool Is(const Json& value, const std::string& type) {
    return type == "object"   ? value.is_object()
           : type == "array"  ? value.is_array()
           : type == "null"   ? value.is_null()
           : type == "string" ? value.is_string()
           : type == "number" ? value.is_number()
                              : value.is_boolean();
  }
  static bool HasType(const Json& value, const Json& types) {
    if (types.is_string()) return Is(value, types.get<std::string>());
    return std::any_of(types.begin(), types.end(),
                       [&](const Json& type) { return Is(value, type.get<std::string>()); });
  }
  static bool Matches(const std::string& text, const Json& pattern) {
    return std::regex_search(text, std::regex(pattern.get<std::string>()));
  }

  void Check(const Json& value, const Json& schema, const std::string& at,
             std::string& wrong) const {
    if (schema.contains("$ref")) {
      const std::string name = schema["$ref"].get<std::string>();
      return Check(value, root_.at(Json::json_pointer(name.substr(1))), at, wrong);
    }
    if (schema.contains("type") && !HasType(value, schema["type"])) {
      wrong += at + ": not of type " + schema["type"].dump() + "\n";
      return;
    }
    const Json words = schema.value("enum", Json::array());
    if (!words.empty() && std::find(words.begin(), words.end(), value) == words.end())
      wrong += at + ": none of " + words.dump() + "\n";
    if (value.is_string() && schema.contains("pattern") &&
        !Matches(value.get<std::string>(), schema["pattern"]))
      wrong += at + ": not " + schema["pattern"].get<std::string>() + "\n";
    if (schema.contains("not")) {
      std::string unlike;
      Check(value, schema["not"], at, unlike);
      if (unlike.empty()) wrong += at + ": of " + schema["not"].dump() + "\n";
    }
    const Json all = schema.value("allOf", Json::array());
    for (const Json& part : all) {
      std::string condition;
      if (part.contains("if")) Check(value, part["if"], at, condition);
      if (condition.empty()) Check(value, part.contains("if") ? part["then"] : part, at, wrong);
    }
    if (value.is_array() && schema.contains("items")) {
      for (size_t i = 0; i < value.size(); ++i)
        Check(value[i], schema["items"], at + "/" + std::to_string(i), wrong);
    }
    if (value.is_object()) CheckKeys(value, schema, at, wrong);
  }

  void CheckKeys(const Json& value, const Json& schema, const std::string& at,
                 std::string& wrong) const {
    const Json required = schema.value("required", Json::array());
    for (const Json& key : required) {
      if (!value.contains(key)) wrong += at + ": lacks " + key.get<std::string>() + "\n";
    }
    const Json patterns = schema.value("patternProperties", Json::object());
    for (const auto& [key, entry] : value.items()) {
      const std::string place = at + "/" + key;
      bool known = !schema.contains("additionalProperties");
      if (schema.contains("properties") && schema["properties"].contains(key)) {
        known = true;
        Check(entry, schema["properties"][key], place, wrong);
      }
      for (const auto& [pattern, of] : patterns.items()) {
        if (!Matches(key, pattern)) continue;
        known = true;
        Check(entry, of, place, wrong);
      }
      if (!known) wrong += place + ": not a key\n";
    }
  }

  const Json root_;
};

/// What a schema sees of a file.
Json JsonOf(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kScalar:
      return node.text.value;
    case YamlNode::Kind::kSequence: {
      Json list = Json::array();
      for (const YamlNode& item : node.items) list.push_back(JsonOf(item));
      return list;
    }
    case YamlNode::Kind::kMapping: {
      Json mapping = Json::object();
      for (const YamlEntry& entry : node.entries) mapping[entry.key.value] = JsonOf(entry.value);
      return mapping;
    }
    case YamlNode::Kind::kNull:
    case YamlNode::Kind::kBad:
      break;
  }
  return nullptr;
}

std::string Wrong(const std::string& text, const std::string& schema = JsonSchema()) {
  Diagnostics diagnostics;
  const Source source("-", text);
  const auto node = ParseYaml(source, diagnostics);
  REQUIRE(node);
  return Validator(Json::parse(schema)).Wrong(JsonOf(*node));
}

constexpr const char* kSpec =
    "kernel: k\n"
    "grid: {i: n}\n"
    "dimension_semantics: parallel\n"
    "inputs:\n"
    "  x:\n"
    "    array: f32[n]\n"
    "    block: 8\n"
    "    index: i\n"
    "  y: f32[n]\n"
    "outputs:\n  z: {array: \"f32[n]\", like: x, memory: vmem}\n"
    "scratch: {s: {array: \"f32[8]\", memory: smem}}\n"
    "body: |\n  z = x\n";

std::string Replaced(const std::string& from, const std::string& to) {
  std::string text = kSpec;
  return text.replace(text.find(from), from.size(), to);
}

TEST_CASE("the schema takes every spec that ships") {
  for (const char* folder : {"specs", "tests/pallas/specs", "examples"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(KILN_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      CAPTURE(entry.path());
      CHECK(Wrong(text.str()) == "");
    }
  }
}

TEST_CASE("the schema says what is wrong, where it is wrong") {
  CHECK(JsonSchema().find("\"allOf\": []") == std::string::npos);  // which the draft forbids
  CHECK(Wrong(kSpec) == "");
  CHECK(Wrong(Replaced("semantics: parallel", "semantics: paralel")) ==
        "/dimension_semantics: not "
        "^\\s*(parallel|arbitrary)(\\s*,\\s*(parallel|arbitrary))*\\s*$\n");
  CHECK(Wrong(Replaced("semantics: parallel", "semantics: [paralel]")) ==
        "/dimension_semantics/0: none of [\"parallel\",\"arbitrary\"]\n");
  CHECK(Wrong(Replaced("    block: 8", "    blok: 8")) == "/inputs/x/blok: not a key\n");
  CHECK(Wrong(Replaced("  y: f32[n]", "  y: [{array: f32, when: a}]")) ==
        "/inputs/y/0/when: not a key\n");
  CHECK(Wrong(Replaced("  y: f32[n]", "  y: f32[n")) ==
        "/inputs/y: not ^\\s*[A-Za-z_][A-Za-z0-9_]*\\s*(\\[[^{}]*\\])?\\s*$\n");
  CHECK(Wrong(Replaced("memory: vmem", "memory: vmen")) ==
        "/outputs/z/memory: none of [\"vmem\",\"smem\",\"any\"]\n");
  CHECK(Wrong(Replaced("memory: smem", "memori: smem")) == "/scratch/s/memori: not a key\n");
  CHECK(Wrong(Replaced("grid: {i: n}", "grid: n")) == "/grid: not of type [\"object\",\"null\"]\n");
  CHECK(Wrong(Replaced("body: |\n  z = x\n", "")) == ": lacks body\n");
  const std::string pipeline = "pipeline: {grid: {j: n}, over: {z: {blok: 8}}, body: z = 1}\n";
  CHECK(Wrong(Replaced("body: |\n  z = x\n", pipeline)) == "/pipeline/over/z/blok: not a key\n");
}

TEST_CASE("the schema of locks does so, too") {
  const std::string lock = "lock: k\nvariants: [{when: m == 1, set: {bm: 8}, blocks: BLOCKS}]\n";
  const auto with = [&](const std::string& word) {
    return Wrong(std::string(lock).replace(lock.find("BLOCKS"), 6, word), LockSchema());
  };
  CHECK(with("fixed") == "");
  CHECK(with("fixd") == "/variants/0/blocks: none of [\"own\",\"fixed\"]\n");
}

}  // namespace
}  // namespace kiln::schema_test
