#include "tests/records/record.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "generator/check/check_spec.h"
#include "generator/data/npy.h"

namespace kiln::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Json ReadCase(const fs::path& folder) { return Json::parse(ReadText(folder / "case.json")); }

Array ReadArray(const fs::path& path, DType dtype) {
  auto read = ReadNpy(path.string(), dtype);
  if (const auto* error = std::get_if<NpyError>(&read)) throw std::runtime_error(error->message);
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

void ReadArguments(const Json& arguments, const fs::path& folder, Record& record) {
  for (const auto& [name, value] : arguments.items()) {
    const int ref = record.kernel->FindRef(name);
    if (ref < 0) {
      record.inputs.dims[name] = value.get<int64_t>();
      continue;
    }
    const DType dtype = record.kernel->refs[static_cast<size_t>(ref)].dtype;
    record.inputs.arrays[name] = value.is_string()
                                     ? ReadArray(folder / value.get<std::string>(), dtype)
                                     : ScalarArray(value, dtype);
  }
}

void ReadOutputs(const Json& outputs, const fs::path& folder, Record& record) {
  const Kernel& kernel = *record.kernel;
  for (const auto& [name, file] : outputs.items()) {
    const int ref = kernel.FindRef(name);
    if (ref < 0) throw std::runtime_error(folder.string() + ": there is no output " + name);
    const Ref& output = kernel.refs[static_cast<size_t>(ref)];
    record.outputs[name] = ReadArray(folder / file.get<std::string>(), output.dtype);
    for (size_t d = 0; d < output.array.size(); ++d) {  // dimensions that only outputs have
      const Node* dim = output.array[d].AsAtom();
      if (!dim || dim->op != Op::kDim) continue;
      record.inputs.dims[kernel.dims[static_cast<size_t>(dim->index)].name] =
          record.outputs[name].shape[d];
    }
  }
}

double Element(const Array& array, int64_t i) {
  return IsFloat(array.dtype) ? array.GetFloat(i) : static_cast<double>(array.GetInt(i));
}

bool SameNonFinite(double got, double want) {
  return (std::isnan(got) && std::isnan(want)) || got == want;
}

std::vector<RecordCase> CasesIn(const char* records, const char* prefix) {
  std::vector<RecordCase> cases;
  for (const auto& entry : fs::directory_iterator(fs::path(KILN_SOURCE_DIR) / records)) {
    if (!fs::exists(entry.path() / "case.json")) continue;
    const Json meta = ReadCase(entry.path());
    RecordCase& found = cases.emplace_back();
    found.folder = entry.path();
    found.name = prefix + entry.path().filename().string();
    found.spec = meta["spec"];
    found.depth = meta["depth"];
    found.check.instance = meta["instance"];
    for (const auto& [name, text] : meta["set"].items())
      found.check.set.emplace_back(name, text.get<std::string>());
  }
  std::sort(cases.begin(), cases.end(),
            [](const RecordCase& a, const RecordCase& b) { return a.name < b.name; });
  return cases;
}

}  // namespace

std::string RecordCase::Key() const {
  std::string key = spec + ":" + check.instance;
  for (const auto& [param, value] : check.set) key += " " + param + "=" + value;
  return key;
}

std::vector<RecordCase> RecordCases() { return CasesIn("tests/pallas/records", ""); }

std::vector<RecordCase> ImportedCases() { return CasesIn("tests/import/records", "imported_"); }

std::unique_ptr<Kernel> CheckRecord(const RecordCase& of, std::shared_ptr<const Source>* source) {
  *source = std::make_shared<const Source>(of.spec, ReadText(fs::path(KILN_SOURCE_DIR) / of.spec));
  Diagnostics found;
  const std::unique_ptr<Spec> spec = ParseSpec(*source, found);
  std::unique_ptr<Kernel> kernel = spec ? CheckSpec(*spec, of.check, found) : nullptr;
  if (!kernel || !found.empty()) throw std::runtime_error(Render(found, **source));
  return kernel;
}

Record ReadRecord(const RecordCase& of) {
  Record record;
  record.kernel = CheckRecord(of, &record.source);
  const Json meta = ReadCase(of.folder);
  // Their dtypes are the kernel's to say.
  ReadArguments(meta["arguments"], of.folder, record);
  ReadOutputs(meta["outputs"], of.folder, record);
  return record;
}

std::string CompareWithRecord(const Array& got, const Array& want, double depth) {
  if (got.dtype != want.dtype || got.shape != want.shape) {
    return ToString(got.dtype, got.shape) + " instead of " + ToString(want.dtype, want.shape);
  }
  double magnitude = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    const double value = std::fabs(Element(want, i));
    if (std::isfinite(value)) magnitude = std::max(magnitude, value);
  }
  const double allowed = IsFloat(want.dtype) ? 4 * EpsilonOf(want.dtype) * depth * magnitude : 0;
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

}  // namespace kiln::testing
