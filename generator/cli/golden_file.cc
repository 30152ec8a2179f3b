#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "generator/cli/golden.h"
#include "generator/data/npy.h"
#include "generator/data/sha256.h"
#include "generator/render/write.h"

namespace kiln::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string ArrayFile(const std::string& name, size_t record, const std::string& output) {
  return name + "." + std::to_string(record) + "." + output + ".npy";
}

Json ToJson(const GoldenRecord& record, const std::string& name, size_t index) {
  Json json;
  json["arguments"] = record.words;
  json["inputs"] = Json::object();
  for (const auto& [input, hash] : record.inputs) json["inputs"][input] = {{"sha256", hash}};
  json["outputs"] = Json::object();
  for (const auto& [output, golden] : record.outputs) {
    Json& out = json["outputs"][output];
    out["dtype"] = Name(golden.dtype);
    out["shape"] = golden.shape;
    out["tolerance"] = {{"relative", golden.tolerance.relative},
                        {"of_largest", golden.tolerance.magnitude},
                        {"absolute", golden.tolerance.absolute}};
    if (golden.array) out["file"] = ArrayFile(name, index, output);
    out["sha256"] = golden.sha256;
  }
  return json;
}

GoldenRecord FromJson(const Json& json, const fs::path& folder) {
  GoldenRecord record;
  record.words = json.at("arguments").get<std::vector<std::string>>();
  for (const auto& [input, value] : json.at("inputs").items())
    record.inputs[input] = value.at("sha256").get<std::string>();
  for (const auto& [output, value] : json.at("outputs").items()) {
    GoldenOutput golden;
    const auto dtype = ParseDType(value.at("dtype").get<std::string>());
    if (!dtype) throw std::runtime_error("`dtype` of " + output + " is none");
    golden.dtype = *dtype;
    golden.shape = value.at("shape").get<std::vector<int64_t>>();
    const Json& tolerance = value.at("tolerance");
    golden.tolerance = {tolerance.at("relative"), tolerance.at("of_largest"),
                        tolerance.at("absolute")};
    golden.sha256 = value.at("sha256").get<std::string>();
    if (value.contains("file")) {
      const fs::path file = folder / value.at("file").get<std::string>();
      auto read = ReadNpy(file.string(), golden.dtype);
      if (const auto* error = std::get_if<NpyError>(&read))
        throw std::runtime_error(error->message);
      golden.array = std::get<Array>(std::move(read));
      if (HashOf(*golden.array) != golden.sha256)
        throw std::runtime_error(file.string() + " is not what was recorded");
    }
    record.outputs[output] = std::move(golden);
  }
  return record;
}

}  // namespace

std::string HashOf(const Array& array) {
  Sha256 hash;
  hash.AddField(ToString(array.dtype, array.shape));
  return hash.Add(array.bytes.data(), array.bytes.size()).Hex();
}

bool WriteGolden(const std::string& folder, const std::string& name,
                 const std::vector<GoldenRecord>& records) {
  Json json;
  json["kernel"] = name;
  json["records"] = Json::array();
  for (size_t i = 0; i < records.size(); ++i)
    json["records"].push_back(ToJson(records[i], name, i));

  std::string why;
  if (WriteIfChanged(folder + "/" + name + ".json", json.dump(2) + "\n", &why) ==
      Written::kFailed) {
    UsageError(why);
    return false;
  }
  for (size_t i = 0; i < records.size(); ++i) {
    for (const auto& [output, golden] : records[i].outputs) {
      if (!golden.array) continue;
      why = WriteNpy(folder + "/" + ArrayFile(name, i, output), *golden.array);
      if (why.empty()) continue;
      UsageError(why);
      return false;
    }
  }
  return true;
}

std::optional<std::vector<GoldenRecord>> ReadGolden(const std::string& folder,
                                                    const std::string& name) {
  const fs::path path = fs::path(folder) / (name + ".json");
  std::ifstream in(path);
  if (!in) {
    UsageError("nothing is recorded in `" + path.string() + "`", "`kiln golden record` writes it");
    return std::nullopt;
  }
  try {
    std::vector<GoldenRecord> records;
    const Json whole = Json::parse(in);
    for (const Json& json : whole.at("records")) records.push_back(FromJson(json, folder));
    return records;
  } catch (const std::exception& error) {
    UsageError("`" + path.string() + "`: " + error.what(), "`kiln golden record` writes it again");
    return std::nullopt;
  }
}

}  // namespace kiln::cli
