#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "generator/cli/golden/golden.h"
#include "generator/data/npy.h"
#include "generator/data/sha256.h"
#include "generator/system/read_file.h"
#include "generator/system/write_file.h"

namespace kiln::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr size_t kMostManifest = size_t{64} << 20;
constexpr size_t kHashDigits = 12;  // of the many in a file's name

/// Named by what is in it: a record that replaces another has files of its own until it is whole.
std::string ArrayFile(const std::string& name, size_t record, const std::string& output,
                      const GoldenOutput& golden) {
  return name + "." + std::to_string(record) + "." + output + "." +
         golden.sha256.substr(0, kHashDigits) + ".npy";
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
    if (golden.array) out["file"] = ArrayFile(name, index, output, golden);
    out["sha256"] = golden.sha256;
  }
  return json;
}

/// JSON has one kind of numbers: 1e30 and -1 are no extents.
std::vector<int64_t> ShapeFrom(const Json& json) {
  if (!json.is_array()) throw std::runtime_error("`shape` is no list");
  std::vector<int64_t> shape;
  for (const Json& extent : json) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > uint64_t{INT64_MAX})
      throw std::runtime_error("`shape` has " + extent.dump() + ", which is no extent");
    shape.push_back(extent.get<int64_t>());
  }
  return shape;
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
    golden.shape = ShapeFrom(value.at("shape"));
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

namespace {

/// The arrays' files by what the record says of them.
std::set<std::string> FilesOf(const Json& record) {
  std::set<std::string> files;
  for (const Json& one : record.value("records", Json::array())) {
    for (const Json& output : one.value("outputs", Json::object())) {
      if (output.contains("file") && output["file"].is_string())
        files.insert(output["file"].get<std::string>());
    }
  }
  return files;
}

/// Those that a record has; none if there is no such record, or it is damaged.
std::set<std::string> FilesIn(const std::string& path) {
  std::string why;
  const auto text = ReadFile(path, kMostManifest, &why);
  if (!text) return {};
  try {
    return FilesOf(Json::parse(*text));
  } catch (const Json::exception&) {
    return {};
  }
}

/// Only files in the folder itself, whatever a record says.
void RemoveFiles(const std::string& folder, const std::set<std::string>& files,
                 const std::set<std::string>& but) {
  std::error_code ignored;
  for (const std::string& file : files) {
    if (but.count(file) == 0 && fs::path(file).filename() == file && file.ends_with(".npy"))
      fs::remove(fs::path(folder) / file, ignored);
  }
}

/// The arrays of records under their own names. Empty, or what is wrong.
std::string WriteArrays(const std::string& folder, const std::string& name,
                        const std::vector<GoldenRecord>& records) {
  for (size_t i = 0; i < records.size(); ++i) {
    for (const auto& [output, golden] : records[i].outputs) {
      if (!golden.array) continue;
      const std::string file = folder + "/" + ArrayFile(name, i, output, golden);
      if (const std::string why = WriteNpy(file, *golden.array); !why.empty()) return why;
    }
  }
  return "";
}

}  // namespace

/// The arrays are there before the one move that makes the record the new one, and those of the
/// earlier record go after it: at any time there is one or the other, whole.
bool WriteGolden(const std::string& folder, const std::string& name,
                 const std::vector<GoldenRecord>& records) {
  Json json;
  json["kernel"] = name;
  json["records"] = Json::array();
  for (size_t i = 0; i < records.size(); ++i)
    json["records"].push_back(ToJson(records[i], name, i));

  const std::string path = folder + "/" + name + ".json";
  const std::set<std::string> before = FilesIn(path), now = FilesOf(json);
  std::string why = WriteArrays(folder, name, records);
  if (why.empty()) WriteIfChanged(path, json.dump(2) + "\n", &why);
  if (!why.empty()) {
    RemoveFiles(folder, now, before);
    UsageError(why);
    return false;
  }
  RemoveFiles(folder, before, now);
  return true;
}

std::optional<std::vector<GoldenRecord>> ReadGolden(const std::string& folder,
                                                    const std::string& name) {
  const fs::path path = fs::path(folder) / (name + ".json");
  std::string why;
  const auto text = ReadFile(path.string(), kMostManifest, &why);
  if (!text) {
    UsageError("nothing is recorded in `" + path.string() + "`: " + why,
               "`kiln golden record` writes it");
    return std::nullopt;
  }
  try {
    std::vector<GoldenRecord> records;
    const Json whole = Json::parse(*text);
    for (const Json& json : whole.at("records")) records.push_back(FromJson(json, folder));
    return records;
  } catch (const std::exception& error) {
    UsageError("`" + path.string() + "`: " + error.what(), "`kiln golden record` writes it again");
    return std::nullopt;
  }
}

}  // namespace kiln::cli
