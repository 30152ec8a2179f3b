// Every recorded Pallas case ran without fault, so the grid check has nothing to say about it.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "generator/check/check_spec.h"
#include "generator/check/grid/check_grid.h"
#include "generator/data/npy.h"
#include "tests/catch.h"

namespace kiln::grid_records_test {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// What the record passes to the kernel; floats, which no index depends on, as they are.
Inputs InputsOf(const Kernel& kernel, const fs::path& folder, const nlohmann::json& record) {
  Inputs inputs;
  for (const auto& [name, value] : record["arguments"].items()) {
    const int ref = kernel.FindRef(name);
    if (ref < 0) {
      inputs.dims[name] = value.get<int64_t>();
      continue;
    }
    const DType dtype = kernel.refs[static_cast<size_t>(ref)].dtype;
    if (value.is_string()) {
      auto array = ReadNpy((folder / value.get<std::string>()).string(), dtype);
      REQUIRE(std::holds_alternative<Array>(array));
      inputs.arrays[name] = std::get<Array>(std::move(array));
      continue;
    }
    Array scalar = Array::Zeros(dtype, {});
    if (IsFloat(dtype))
      scalar.SetFloat(0, value.get<double>());
    else
      scalar.SetInt(0, value.is_boolean() ? value.get<bool>() : value.get<int64_t>());
    inputs.arrays[name] = scalar;
  }
  for (const auto& [name, file] : record["outputs"].items()) {
    const DType dtype = kernel.refs[static_cast<size_t>(kernel.FindRef(name))].dtype;
    auto array = ReadNpy((folder / file.get<std::string>()).string(), dtype);
    REQUIRE(std::holds_alternative<Array>(array));
    inputs.arrays[name] = std::get<Array>(std::move(array));
  }
  return inputs;
}

TEST_CASE("recorded kernels have no diagnostic") {
  const fs::path root = KILN_SOURCE_DIR;
  int checked = 0;
  for (const auto& entry : fs::directory_iterator(root / "tests/pallas/records")) {
    const fs::path file = entry.path() / "case.json";
    if (!fs::exists(file)) continue;
    INFO(entry.path().filename().string());
    const auto record = nlohmann::json::parse(ReadAll(file));
    const std::string path = record["spec"].get<std::string>();
    const auto source = std::make_shared<const Source>(path, ReadAll(root / path));
    Diagnostics diagnostics;
    const auto spec = ParseSpec(source, diagnostics);
    CheckOptions options;
    options.instance = record["instance"].get<std::string>();
    for (const auto& [name, value] : record["set"].items()) {
      options.set.emplace_back(name, value.get<std::string>());
    }
    const auto kernel = spec ? CheckSpec(*spec, options, diagnostics) : nullptr;
    INFO(Render(diagnostics, *source));
    REQUIRE(kernel);
    const Inputs inputs = InputsOf(*kernel, entry.path(), record);
    const auto binding = Bind(*kernel, inputs, /*partial=*/false, diagnostics);
    INFO(Render(diagnostics, *source));
    REQUIRE(binding);
    CheckGrid(*binding, {}, diagnostics);
    CHECK(Render(diagnostics, *source) == "");
    ++checked;
  }
  CHECK(checked > 100);
}

}  // namespace
}  // namespace kiln::grid_records_test
