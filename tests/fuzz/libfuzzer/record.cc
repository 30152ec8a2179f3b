#include "tests/fuzz/libfuzzer/record.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/fuzz/archive.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

namespace kiln::fuzz {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRecord = "/tests/fuzz/record.json";

template <typename T>
void Raise(Json& to, T value) {
  to = std::max(to.is_null() ? value : to.get<T>(), value);
}

void AddRuns(const std::string& path, Json& record) {
  std::ifstream lines(path);
  std::string target;
  int64_t executions = 0, speed = 0, edges = 0, features = 0, memory = 0, slowest = 0;
  while (lines >> target >> executions >> speed >> edges >> features >> memory >> slowest) {
    Json& of = record[target];
    of["executions"] = of.value("executions", int64_t{0}) + executions;
    of["executions_per_second"] = speed;
    of["edges"] = edges;
    of["features"] = features;
    Raise(of["peak_mib"], memory);
    Raise(of["slowest_ms"], slowest);
  }
}

size_t FilesIn(const std::string& folder) {
  if (!fs::exists(folder)) return 0;
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

}  // namespace

void AddToRecord(const std::string& runs) {
  const std::string path = std::string(KILN_SOURCE_DIR) + kRecord;
  const Json old = fs::exists(path) ? Json::parse(ReadText(path)) : Json::object();
  Json record;
  for (const Target& target : Targets())  // in this order
    record[target.name] = old.value(target.name, Json::object());
  AddRuns(runs, record);
  for (const Target& target : Targets()) {
    Json& of = record[target.name];
    of["corpus_inputs"] = ReadInputs(CorpusFile(target.name)).size();
    of["corpus_bytes"] = fs::file_size(CorpusFile(target.name));
    of["regressions"] = FilesIn(RegressionFolder(target.name));
  }
  WriteText(path, record.dump(2) + "\n");
  WriteText(runs, "");
}

}  // namespace kiln::fuzz
