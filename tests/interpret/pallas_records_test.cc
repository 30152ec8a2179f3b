// Replays what real Pallas kernels computed; see tests/pallas/README.md for the files.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "generator/data/npy.h"
#include "tests/catch.h"
#include "tests/interpret/testing.h"

namespace kiln::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Record {
  std::shared_ptr<const Source> source;
  Options options;
  Inputs inputs;
  std::map<std::string, Array> outputs;
  double depth = 1;
};

std::vector<fs::path> RecordFolders() {
  std::vector<fs::path> folders;
  for (const auto& entry :
       fs::directory_iterator(fs::path(KILN_SOURCE_DIR) / "tests/pallas/records")) {
    if (fs::exists(entry.path() / "case.json")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in.good());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Array ReadArray(const fs::path& path, DType dtype) {
  auto read = ReadNpy(path.string(), dtype);
  if (const auto* error = std::get_if<NpyError>(&read)) FAIL(error->message);
  return std::get<Array>(std::move(read));
}

Array ScalarArray(const Json& value, DType dtype) {
  Array array = Array::Zeros(dtype, {});
  if (IsFloat(dtype))
    array.SetFloat(0, value.get<double>());
  else
    array.SetInt(0, value.is_boolean() ? value.get<bool>() : value.get<int64_t>());
  return array;
}

/// The dtypes of arguments and outputs are the kernel's to say.
Record ReadRecord(const fs::path& folder) {
  Record record;
  const Json meta = Json::parse(ReadText(folder / "case.json"));
  const fs::path spec_path = meta["spec"].get<std::string>();
  record.source = std::make_shared<const Source>(spec_path.string(),
                                                 ReadText(fs::path(KILN_SOURCE_DIR) / spec_path));
  record.depth = meta["depth"];
  CheckOptions& check = record.options.check;
  check.instance = meta["instance"].get<std::string>();
  for (const auto& [name, text] : meta["set"].items()) {
    check.set.emplace_back(name, text.get<std::string>());
  }
  Diagnostics found;
  const std::unique_ptr<Spec> spec = ParseSpec(record.source, found);
  const std::unique_ptr<Kernel> kernel = spec ? CheckSpec(*spec, check, found) : nullptr;
  CHECK(Render(found, *record.source) == "");
  REQUIRE(kernel);
  for (const auto& [name, value] : meta["arguments"].items()) {
    const int ref = kernel->FindRef(name);
    if (ref < 0) {
      record.inputs.dims[name] = value.get<int64_t>();
      continue;
    }
    const DType dtype = kernel->refs[static_cast<size_t>(ref)].dtype;
    record.inputs.arrays[name] = value.is_string()
                                     ? ReadArray(folder / value.get<std::string>(), dtype)
                                     : ScalarArray(value, dtype);
  }
  for (const auto& [name, file] : meta["outputs"].items()) {
    INFO("output " << name);
    const int ref = kernel->FindRef(name);
    REQUIRE(ref >= 0);
    const Ref& output = kernel->refs[static_cast<size_t>(ref)];
    record.outputs[name] = ReadArray(folder / file.get<std::string>(), output.dtype);
    for (size_t d = 0; d < output.array.size(); ++d) {  // dimensions that only outputs have
      const Node* dim = output.array[d].AsAtom();
      if (!dim || dim->op != Op::kDim) continue;
      record.inputs.dims[kernel->dims[static_cast<size_t>(dim->index)].name] =
          record.outputs[name].shape[d];
    }
  }
  return record;
}

double Epsilon(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return 0x1p-7;
    case DType::kF16:
      return 0x1p-10;
    case DType::kF64:
      return 0x1p-52;
    default:
      return 0x1p-23;
  }
}

double Element(const Array& array, int64_t i) {
  return IsFloat(array.dtype) ? array.GetFloat(i) : static_cast<double>(array.GetInt(i));
}

bool SameNonFinite(double got, double want) {
  return (std::isnan(got) && std::isnan(want)) || got == want;
}

/// Empty, or the worst element and by how much it is off.
std::string Compare(const Array& got, const Array& want, double depth) {
  if (got.dtype != want.dtype || got.shape != want.shape) {
    return ToString(got.dtype, got.shape) + " instead of " + ToString(want.dtype, want.shape);
  }
  double magnitude = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    const double value = std::fabs(Element(want, i));
    if (std::isfinite(value)) magnitude = std::max(magnitude, value);
  }
  const double allowed = IsFloat(want.dtype) ? 4 * Epsilon(want.dtype) * depth * magnitude : 0;
  double worst = -1;
  int64_t at = -1;
  for (int64_t i = 0; i < want.size(); ++i) {
    const double a = Element(got, i), b = Element(want, i);
    if (SameNonFinite(a, b)) continue;
    const double off = std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : INFINITY;
    if (off > allowed && off > worst) {
      worst = off;
      at = i;
    }
  }
  if (at < 0) return "";
  std::ostringstream text;
  text << "element";
  int64_t rest = at, inner = want.size();
  for (const int64_t extent : want.shape) {
    inner /= extent;
    text << ' ' << rest / inner;
    rest %= inner;
  }
  text << " is " << Element(got, at) << " instead of " << Element(want, at) << ", off by " << worst
       << "; allowed is " << allowed;
  return text.str();
}

void Replay(Record& record) {
  const Outcome outcome = RunSource(record.source, record.inputs, record.options);
  CHECK(outcome.findings == "");
  for (const auto& [name, want] : record.outputs) {
    INFO("output " << name);
    const auto got = outcome.outputs.find(name);
    if (got == outcome.outputs.end())
      FAIL_CHECK("is missing");
    else
      CHECK(Compare(got->second, want, record.depth) == "");
  }
}

TEST_CASE("the interpreter computes what Pallas computed") {
  for (const fs::path& folder : RecordFolders()) {
    const std::string name = folder.filename().string();
    DYNAMIC_SECTION(name) {
      Record record = ReadRecord(folder);
      record.options.check_grid = true;
      SECTION("plain") {}
      SECTION("wide") { record.options.interpret.wide = true; }
      SECTION("shuffled") { record.options.interpret.shuffle = 7; }
      Replay(record);
    }
  }
}

}  // namespace
}  // namespace kiln::testing
